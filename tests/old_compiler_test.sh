#!/usr/bin/env bash
# old_compiler_test.sh SOURCE COMPILER: a compiler without std::source_location is refused by the configure step, by its
# name, with what it lacks and which compilers will do. COMPILER is given an empty header of that name, and so lacks it;
# clang 14 lacks it by itself.
set -euo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-compiler-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/headers"
touch "$work/headers/source_location"

refused() { # NAME CMAKE-ARGUMENTS...
  local name=$1 text word
  shift
  rm -rf "$work/build"
  if text=$(cmake --preset release -S "$source" -B "$work/build" "$@" 2>&1); then
    echo "$name was not refused" >&2
    exit 1
  fi
  # CMake breaks the lines of a message anywhere between words.
  text=$(tr -s ' \n' ' ' <<<"$text")
  for word in "$name" "cannot build Kilobatch" "source_location" "g++ 12 and newer, clang 16 and newer" "KB_CXX="; do
    [[ $text == *"$word"* ]] || { echo "refusing $name, nothing is said of '$word': $text" >&2; exit 1; }
  done
  echo "$name is refused"
}

source=$(realpath "$1")
refused "($2)" -DCMAKE_CXX_COMPILER="$2" -DCMAKE_CXX_FLAGS="-I$work/headers"
if command -v clang++-14 >/dev/null; then
  refused "Clang 14" -DCMAKE_CXX_COMPILER=clang++-14
fi
