#!/usr/bin/env bash
# Checks over every source of the repository that a room includes only rooms that it may, that a folder includes only
# folders of its room that it may, and that neither modules nor folders include each other in a circle. A room is a
# folder at the top of the repository; a module is a header with the sources that are named after it.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
fail() { # TEXT...
  printf '%s\n' "$@"
  status=1
}

# may[ROOM] lists the rooms whose headers ROOM may include. A quoted include is a path from the root; it has to begin
# with an allowed room.
declare -A may=([graph]="graph" [optim]="optim graph" [compiler]="compiler graph" [data]="data"
                [runtime]="runtime compiler graph" [recipes]="recipes runtime compiler graph optim data")
for room in "${!may[@]}"; do
  allowed=${may[$room]// /|}
  if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.cpp' --include='*.inc' "$room" |
    grep -vE "include[[:space:]]*\"($allowed)/"; then
    fail "^ $room/ may include only: ${may[$room]}"
  fi
done

# The compiler writes text for devices: it includes none of their headers. Environment variables have one reader.
if grep -rnE '#[[:space:]]*include[[:space:]]*<(cuda|nvrtc|cudnn|cublas|nccl|mpi|oneapi|dnnl)' \
  --include='*.h' --include='*.cpp' graph compiler optim data recipes; then
  fail "^ only runtime/ may include a device's or a library's header"
fi
if grep -rnE '\bgetenv\(' --include='*.h' --include='*.cpp' graph compiler optim data recipes runtime |
  grep -v '^runtime/options.cpp:'; then
  fail "^ environment variables are read in runtime/options.cpp alone"
fi

# One module reads JSON and one writes it: every source that includes JSON's library takes seconds longer to compile.
if grep -rn '#include <nlohmann' --include='*.h' --include='*.cpp' graph compiler optim data recipes runtime |
  grep -vE '^runtime/json(_reader)?\.cpp:'; then
  fail "^ JSON is written by runtime/json.h and read by runtime/json_reader.h"
fi

# Prints "FROM TO", paths without .h and .cpp, for every include of a module by another. A list, .inc, is a module of
# its own.
includes() {
  grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.cpp' --include='*.inc' "${!may[@]}" |
    sed -E 's#^([^:]*):[^"]*"([^"]*)".*#\1 \2#; s#\.(h|cpp)( |$)#\2#g' | awk '$1 != $2' | sort -u
}
edges=$(includes)

# A row for each folder of a room names the folders of that room which it may include besides itself. A dot means the
# files at the room's top.
folders='graph:
optim:
compiler:
compiler/kernel: .
compiler/print: . kernel
compiler/fuse: . kernel
compiler/lower: . kernel
compiler/passes: . kernel fuse
compiler/schedule: . kernel fuse lower passes
compiler/pipeline: . fuse passes schedule
data:
data/images: .
data/sets: . images
data/text: .
data/text/pieces: . text
runtime:
runtime/comm: .
runtime/comm/mpi: . comm
runtime/cpu: . comm
runtime/cpu/amx: . cpu
runtime/cpu/eigen: . cpu
runtime/cpu/onednn: . cpu
runtime/cpu/onednn_absent: . cpu
runtime/cpu/winograd: . cpu
runtime/cuda: . comm
runtime/cuda/toolkit: . cuda
runtime/cuda/cublaslt: . cuda
runtime/cuda/cudnn: . cuda
runtime/cuda/vendor: . cuda cuda/cublaslt cuda/cudnn
runtime/cuda/plugin: . cuda cuda/vendor
recipes/task:
recipes/perf: config task
recipes/report: perf
recipes/config: task
recipes/papers: config task
recipes/help: config papers
recipes/orders: config
recipes/train: config task perf orders
recipes/run: orders train config task perf report papers
recipes/trials: run train config task perf report papers
recipes/hour: trials run train config task perf report papers
recipes/inspect: run train config task perf report papers
recipes/models: run train config task perf report papers
recipes/charts: report
recipes/sweep: trials run train config task perf report papers
recipes/answer: sweep charts inspect trials run train config task perf report papers
recipes/compare: sweep charts trials run train config task perf report papers
recipes/tools: compare answer hour charts models inspect sweep trials run train config task perf report papers
recipes/commands: tools models inspect sweep trials run train config task perf report papers
recipes/tutorial: commands run train config task papers'
folder_of='function folder_of(module) { sub(/\/[^\/]*$/, "", module); return module }'
upwards=$(awk -v folders="$folders" "$folder_of"'
  BEGIN {
    count = split(folders, rows, "\n")
    for (i = 1; i <= count; ++i) {
      split(rows[i], row, ":")
      room = row[1]
      sub(/\/.*/, "", room)
      may[row[1], row[1]] = 1
      words = split(row[2], names, " ")
      for (w = 1; w <= words; ++w) may[row[1], names[w] == "." ? room : room "/" names[w]] = 1
    }
  }
  {
    split($1, from, "/"); split($2, to, "/")
    if (from[1] == to[1] && !((folder_of($1), folder_of($2)) in may)) print
  }' <<<"$edges")
if [[ -n $upwards ]]; then
  fail "$upwards" "^ includes upwards inside a room (FROM TO)"
fi
unlisted=$(find "${!may[@]}" \( -name '*.h' -o -name '*.cpp' -o -name '*.inc' \) -printf '%h\n' | sort -u |
  grep -vxF -f <(cut -d: -f1 <<<"$folders") || true)
if [[ -n $unlisted ]]; then
  fail "$unlisted" "^ folders of sources that no row above speaks of"
fi

# circles EDGES prints the modules or folders of every circle, a line for each circle, sorted.
circles() {
  awk '
    { to[$1] = to[$1] " " $2; known[$1]; known[$2] }
    function walk(start,    open, top, at, n, next_ones, i) {
      top = 1; open[1] = start
      while (top > 0) {
        at = open[top--]
        n = split(to[at], next_ones, " ")
        for (i = 1; i <= n; ++i)
          if (!((start, next_ones[i]) in reach)) { reach[start, next_ones[i]] = 1; open[++top] = next_ones[i] }
      }
    }
    END {
      for (m in known) walk(m)
      for (m in known) if ((m, m) in reach) for (o in known) if ((m, o) in reach && (o, m) in reach) print m, o
    }' <<<"$1" | sort | awk '{ all[$1] = all[$1] " " $2 } END { for (m in all) print substr(all[m], 2) }' | sort -u
}
found=$(circles "$edges")
if [[ -n $found ]]; then
  fail "$found" "^ modules that include each other in a circle (a line each)"
fi
between=$(awk "$folder_of"'{ from = folder_of($1); to = folder_of($2); if (from != to) print from, to }' <<<"$edges")
found=$(circles "$(sort -u <<<"$between")")
if [[ -n $found ]]; then
  fail "$found" "^ folders that include each other in a circle (a line each)"
fi

[ "$status" -eq 0 ] && echo "every include follows the arrows"
exit "$status"
