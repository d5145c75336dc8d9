#!/usr/bin/env bash
# run_progress_test.sh RUN: checks what the script RUN says while it builds (its functions steps, time_left, progress),
# and which plug-ins it builds beside a program.
set -euo pipefail
eval "$(sed -n '/^plugins() {/,/^tick=15/p' "$1")"
build=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-progress-XXXXXX")
trap 'rm -rf "$build"' EXIT
unset OMPI_COMM_WORLD_SIZE PMI_RANK PMIX_RANK SLURM_PROCID

status=0
expect() { # WHAT EXPECTED GOT
  [[ $2 == "$3" ]] || { printf '%s\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3" >&2 && status=1; }
}
say() { echo "$*"; }

# To ninja -n the file of this build is never up to date, as in a build in which CMake looks for new sources every time.
mkdir "$build/Unity"
for source in one two; do
  head -c 4999 /dev/zero | tr '\0' 'x' >"$build/$source.cpp" && echo >>"$build/$source.cpp"
  echo "#include \"$build/$source.cpp\"" >>"$build/Unity/unity_0.cxx"
done
cat >"$build/build.ninja" <<'END'
rule again
  command = false
  generator = 1
rule step
  command = true
  description = $what

build build.ninja: again look
  pool = console

build look: phony never
build never: phony
build Unity/unity_0.cxx.o: step
  what = Building CXX object Unity/unity_0.cxx.o
build lone.o: step
  what = Building CXX object lone.o
build lib.a: step Unity/unity_0.cxx.o lone.o
  what = Linking CXX static library lib.a
build program: step lib.a
  what = Linking CXX executable program
build kilobatch_cuda: phony program
END
expect "steps and weights" "1 Linking CXX static library lib.a
25 Building CXX object Unity/unity_0.cxx.o
25 Building CXX object lone.o
6 Linking CXX executable program" "$(steps program | sort -k 2 | tr '\t' ' ' | LC_ALL=C sort)"

expect "a clock" "1:05" "$(clock 65)"
expect "before anything is built" 90 "$(time_left 100 1000 0 0 10)"
expect "half, at the pace that was guessed" 50 "$(time_left 100 1000 500 50 50)"
expect "half, at half that pace" 80 "$(time_left 100 1000 500 100 100)"
expect "later than guessed" 1 "$(time_left 100 1000 0 0 200)"

tick=1
told=$({
  echo "[0/2] Re-checking globbed directories..."
  echo "[1/3] Building CXX object lone.o"
  sleep 2.2
  printf 'warning, cut' && sleep 1.2 && echo " in two"
  echo "[3/3] Linking CXX executable program"
} | progress "program" 2 2000 "$(steps program)" 3>"$build/log")
expect "how long it takes, at first" "building program, about 0:57 on 2 processors" "$(head -n 1 <<<"$told")"
grep -qE '^built 1 of 3, about [0-9]+:[0-9][0-9] left$' <<<"$told" || expect "how far it is" "built 1 of 3" "$told"
grep -qE '^built program in 0:[0-9][0-9]$' <<<"$(tail -n 1 <<<"$told")" || expect "at the end" "built program in" "$told"
grep -qx "warning, cut in two" "$build/log" || expect "the log" "a whole line" "$(cat "$build/log")"
expect "nothing to do" "" "$(echo "[1/2] commit of the source" | progress program 2 100 "" 3>/dev/null)"
expect "a short build" "building program
built program in 0:00" "$(echo "[1/1] Linking CXX executable program" | progress program 2 100 "" 3>/dev/null)"

if [[ ! -e /proc/driver/nvidia/version ]]; then
  expect "no plug-in" "" "$(plugins lenet_mnist --minibatch 64)"
fi
expect "a GPU's, where it is asked for" kilobatch_cuda "$(plugins lenet_mnist --device cuda:1 | head -n 1)"
echo "build kilobatch_mpi: phony program" >>"$build/build.ninja"
expect "MPI's, for processes" kilobatch_mpi "$(plugins lenet_mnist --processes 2 | tail -n 1)"
expect "MPI's, below a launcher" kilobatch_mpi "$(OMPI_COMM_WORLD_SIZE=2 plugins lenet_mnist | tail -n 1)"
echo "build kilobatch_pieces: phony program" >>"$build/build.ninja"
expect "SentencePiece's, for pieces" kilobatch_pieces "$(plugins lenet_mnist --tokens pieces | tail -n 1)"
[[ $status -eq 0 ]] && echo "the build says how far it is"
exit "$status"
