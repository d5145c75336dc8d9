#!/usr/bin/env bash
# tutorial_test.sh README BUILD: runs the commands of the README's section "Your own model" in an empty home directory
# where build/ is BUILD, and looks at what was trained.
set -euo pipefail
readme=$(realpath "$1")
build=$(realpath "$2")

home=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-tutorial-XXXXXX")
trap 'rm -rf "$home"' EXIT
export HOME=$home
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

# The installed plug-ins are found: several processes run, and without a GPU it is the driver that is missing.
model=$home/my_model/build/my_model
if [[ -f $build/bin/libkilobatch_mpi.so ]]; then
  (cd my_model && "$model" --data images --epochs 1 --processes 2 --threads 1 --out two)
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
