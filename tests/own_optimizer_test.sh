#!/usr/bin/env bash
# own_optimizer_test.sh PROGRAM: trains with the tutorial's optimizer and looks at what came of it.
set -euo pipefail
folder=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-own-optimizer-XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$1" --out "$folder/run" | tee "$folder/log"
grep -q '^optimizer lion: beta1 0.9, beta2 0.99, weight decay 0.1' "$folder/log"
# Ten classes: chance is an error of 0.9.
error=$(sed -n 's/.*"kind":"end".*"error":\([0-9.e+-]*\).*/\1/p' "$folder/run/metrics.jsonl")
awk -v error="$error" 'BEGIN { exit !(error != "" && error < 0.4) }'
