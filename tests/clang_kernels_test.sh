#!/usr/bin/env bash
# clang_kernels_test.sh TESTS_COMPILER: printed kernels of the widest vectors, compiled by clang 14 or newer (the first
# that is installed), give the interpreter's results. It says so if there is no clang.
set -euo pipefail
for version in -14 -15 -16 -17 -18 -19 -20 -21 ""; do
  clang=$(command -v "clang++$version") || continue
  KB_CXX=$clang "$1" --run_test=print_cpp --report_level=short -- --widest
  echo "by $("$clang" --version | head -n 1)"
  exit 0
done
echo "SKIPPED: no clang++ (apt install clang)"
