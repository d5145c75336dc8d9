#!/usr/bin/env bash
# instead.sh COMMAND... -- LAST FLAGS... -- COMPILER FLAGS...: runs COMMAND with FLAGS and then with LAST FLAGS. As CMake's
# compiler launcher it puts another compiler in the place of the project's, for some targets alone.
set -euo pipefail
command=() last=()
while [[ $1 != -- ]]; do
  command+=("$1")
  shift
done
shift
while [[ $1 != -- ]]; do
  last+=("$1")
  shift
done
shift 2
# clang would read what an earlier build has precompiled in place of the header that it is to precompile.
[[ "$*" != *" -x c++-header "* ]] || rm -f "$(sed -n 's/.* -o \([^ ]*\.gch\) .*/\1/p' <<<" $* ")"
exec "${command[@]}" "$@" "${last[@]}"
