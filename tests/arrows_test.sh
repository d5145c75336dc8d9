#!/usr/bin/env bash
# Which room may include which, which folder inside recipes/ which, and that no modules include each other in a circle,
# checked over every source of the repository. A module is a header with the sources that are named after it.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
fail() { # TEXT...
  printf '%s\n' "$@"
  status=1
}

# Arrows between rooms. A quoted include is a path from the root; it has to begin with an allowed room.
declare -A may=([graph]="graph" [optim]="optim graph" [compiler]="compiler graph" [data]="data"
                [runtime]="runtime compiler graph" [recipes]="recipes runtime compiler graph optim data")
for room in "${!may[@]}"; do
  allowed=${may[$room]// /|}
  if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.cpp' "$room" |
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

# JSON is read and written in one place each: its library costs whoever includes it seconds to compile.
if grep -rn '#include <nlohmann' --include='*.h' --include='*.cpp' graph compiler optim data recipes runtime |
  grep -vE '^runtime/json(_reader)?\.cpp:'; then
  fail "^ JSON is written by runtime/json.h and read by runtime/json_reader.h"
fi

# "FROM TO" for every include of a module by another: paths without their ending.
includes() {
  grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.cpp' \
    graph optim compiler data runtime recipes |
    sed -nE 's#^([^:]*)\.(h|cpp):[^"]*"([^"]*)\.h".*#\1 \3#p' | awk '$1 != $2' | sort -u
}
edges=$(includes)

# Folders inside recipes/, a row each: what it may include besides itself.
folders='task:
perf: config task
report: perf
config: task
papers: config task
help: config papers
train: config task perf
run: train config task perf report papers
trials: run train config task perf report papers
hour: trials run train config task perf report papers
inspect: run train config task perf report papers
models: run train config task perf report papers
charts: report
sweep: trials run train config task perf report papers
answer: sweep charts inspect trials run train config task perf report papers
compare: sweep charts trials run train config task perf report papers
commands: models inspect sweep trials run train config task perf report papers
tools: commands compare answer hour charts models inspect sweep trials run train config task perf report papers
tutorial: commands run train config task papers'
upwards=$(awk -v folders="$folders" '
  BEGIN {
    count = split(folders, rows, "\n")
    for (i = 1; i <= count; ++i) {
      split(rows[i], row, ":")
      may[row[1], row[1]] = 1
      words = split(row[2], names, " ")
      for (w = 1; w <= words; ++w) may[row[1], names[w]] = 1
    }
  }
  $2 ~ /^recipes\// && $1 ~ /^recipes\// {
    split($1, from, "/"); split($2, to, "/")
    if (!((from[2], to[2]) in may)) print
  }' <<<"$edges")
if [[ -n $upwards ]]; then
  fail "$upwards" "^ includes upwards inside recipes/ (FROM TO)"
fi
if compgen -G 'recipes/*.h' || compgen -G 'recipes/*.cpp'; then
  fail "^ a source of recipes/ lies in one of its folders"
fi

# Circles: for every module those that it reaches and that reach it. A line each, sorted.
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

[ "$status" -eq 0 ] && echo "every include follows the arrows"
exit "$status"
