#!/usr/bin/env bash
# own_optimizer_test.sh PROGRAM: trains with the tutorial's own optimizers and checks what they print and that they
# learn.
set -euo pipefail
program=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-own-optimizer-XXXXXX")
trap 'rm -rf "$folder"' EXIT

# trains LINE [FLAG...]: the run prints LINE about its optimizer and ends with an error below 0.4; there are ten
# classes, so guessing has an error of 0.9.
trains() {
  local line=$1 error
  shift
  rm -rf "$folder/run"
  "$program" --out "$folder/run" "$@" | tee "$folder/log"
  grep -q "^optimizer $line" "$folder/log"
  error=$(sed -n 's/.*"kind":"end".*"error":\([0-9.e+-]*\).*/\1/p' "$folder/run/metrics.jsonl")
  awk -v error="$error" 'BEGIN { exit !(error != "" && error < 0.4) }'
}

trains 'lion: beta1 0.9, beta2 0.99, weight decay 0.1'
"$program" --optimizer normalised --dry-run | grep -q '^optimizer normalised: momentum 0.9;'
trains 'normalised: momentum 0.5;' --optimizer normalised --momentum 0.5
