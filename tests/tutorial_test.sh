#!/usr/bin/env bash
# tutorial_test.sh README BUILD: runs the commands of the README's section "Your own model" in an empty home directory
# where build/ is BUILD, and looks at what was trained.
set -euo pipefail
readme=$(realpath "$1")
build=$(realpath "$2")

home=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-tutorial-XXXXXX")
trap 'rm -rf "$home"' EXIT
export HOME=$home
# The programs compile without optimisation, because no time goes into their own code.
export CMAKE_BUILD_TYPE=None
cd "$home"
ln -s "$build" build

commands=$(sed -n '/^## Your own model/,/^## /p' "$readme" | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d')
[[ -n $commands ]] || { echo "no commands in the README's section 'Your own model'" >&2; exit 1; }
bash -euxo pipefail -c "$commands"

# A graph alone: probabilities of two samples, and a slope that a difference confirms (exit code 0).
said=$(my_model/build/bare_graph)
echo "$said"
grep -cE '^sample [01]: (0\.[0-9]{4} ?){4}$' <<<"$said" | grep -qx 2
grep -q '^slope by ' <<<"$said"

# Three trainings in one process: each with its loss, and the middle rate learns.
said=$(my_model/build/three_rates)
echo "$said"
grep -q "^0.03,199," three_rates.csv # what its observer wrote
awk 'NR == 3 { middle = $3 } END { exit !(NR == 4 && middle < 40) }' <<<"$said"

# A task of vectors: a parabola with a known noise of 0.1, to which the error comes near.
awk 'BEGIN { srand(1); for (i = 0; i < 2000; ++i) { a = 2 * rand() - 1; b = 2 * rand() - 1
  printf "%.6f,%.6f,%.6f\n", a, b, a * a - b + 0.1 * (rand() + rand() + rand() + rand() - 2) * sqrt(3) } }' >parabola.csv
said=$(my_model/build/regression parabola.csv)
echo "$said"
awk '{ exit !($NF < 0.15 && $NF > 0.05) }' <<<"$said"
printf '%s\r\n' 1,2 2,3 3,4 4,5 5,6 >few.csv # fewer rows than a minibatch, lines as Windows ends them
my_model/build/regression few.csv | grep 'of 1 rows'

# Two networks: one state in every split.
"$(dirname "$readme")/tests/two_networks_test.sh" "$PWD/my_model/build/two_networks"

# The commands work for a program of one's own.
my_model/build/my_model inspect --data my_model/images --minibatch 8 | grep '^my_model on cpu'
my_model/build/my_model bench --data my_model/images --minibatch 8 --steps 2 | grep 'samples/s'

# The installed plug-ins are found: several processes run, and without a GPU it is the driver that is missing.
model=$home/my_model/build/my_model
if [[ -f $build/bin/libkilobatch_mpi.so ]]; then
  # The leaks of a sanitized build are the MPI library's own.
  (cd my_model && ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
    "$model" --data images --epochs 1 --processes 2 --threads 1 --out two)
  grep -q '"kind":"end"' my_model/two/metrics.jsonl
fi
if [[ -f $build/bin/libkilobatch_cuda.so ]] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
  said=$("$model" --data my_model/images --device cuda --out my_model/gpu 2>&1) && exit 1
  echo "$said"
  grep -q 'missing: the CUDA driver' <<<"$said"
fi

# Three classes: chance is an error of 0.67.
end=$(grep '"kind":"end"' my_model/runs/*/metrics.jsonl)
error=$(sed -n 's/.*"error":\([0-9.e+-]*\).*/\1/p' <<<"$end")
echo "error of the tutorial's model: $error"
awk -v error="$error" 'BEGIN { exit !(error != "" && error < 0.2) }'
