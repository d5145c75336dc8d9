#!/usr/bin/env bash
# Checks over every source of the repository that no two types have one name in one namespace. The linker would keep one
# of their two destructors, and a program would free the members of the one type as if they were the other's. Types in
# unnamed namespaces may share names.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints "NAME FILE:LINE" of each type that a namespace of these files defines. Namespaces and their types begin lines.
types() { # FILES...
  awk '
    FNR == 1 { depth = 0 }
    /^(inline )?namespace [^}]*\{$/ {
      depth++
      path[depth] = path[depth - 1] $(NF - 1) "::"
      hidden[depth] = hidden[depth - 1] || $(NF - 1) == "namespace"
    }
    /^}  \/\/ (inline )?namespace/ { depth-- }
    /^(template <.*> )?(struct|class|union|enum) / {
      sub(/^template <.*> /, "")
      sub(/^(enum class|struct|class|union|enum) /, "")
      match($0, /^[A-Za-z_0-9]+/)
      name = substr($0, 1, RLENGTH)
      rest = substr($0, RLENGTH + 1)
      declared = rest ~ /;$/ && rest !~ /\{/
      if (!hidden[depth] && !declared && rest !~ /^(<|::)/) printf "%s%s %s:%d\n", path[depth], name, FILENAME, FNR
    }' "$@"
}

# A build has either runtime/cpu/onednn or the folder that stands in for it.
mapfile -t sources < <(find graph compiler runtime optim data recipes tests \( -name '*.h' -o -name '*.cpp' \) \
  -not -path '*/golden/*' -not -path 'runtime/cpu/onednn_absent/*' | sort)
found=$(types "${sources[@]}" | sort)
grep -q '^kb::Graph graph/graph.h:' <<<"$found" || { echo "kb::Graph is not found: does the search still work?"; exit 1; }
again=$(cut -d' ' -f1 <<<"$found" | uniq -d)
[[ -n $again ]] || exit 0
echo "one name, two types:"
grep -F "${again//$'\n'/ $'\n'} " <<<"$found"
exit 1
