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

# Three classes: chance is an error of 0.67.
end=$(grep '"kind":"end"' my_model/runs/*/metrics.jsonl)
error=$(sed -n 's/.*"error":\([0-9.e+-]*\).*/\1/p' <<<"$end")
echo "error of the tutorial's model: $error"
awk -v error="$error" 'BEGIN { exit !(error != "" && error < 0.2) }'
