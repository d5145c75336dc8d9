#!/usr/bin/env bash
# two_networks_test.sh PROGRAM: trains the tutorial's two networks: every split of a step over processes and virtual
# workers, and a run that was stopped and resumed, end with the same bits; the run folder has what the generator drew.
set -euo pipefail
program=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-two-networks-XXXXXX")
trap 'rm -rf "$folder"' EXIT

# state NAME: prints the hash of the state at the end of the run in the folder NAME.
state() { sed -n 's/.*"kind":"end".*"state_sha256":"\([0-9a-f]*\)".*/\1/p' "$folder/$1/metrics.jsonl" | tail -n 1; }

# trains NAME FLAG...: runs the program in the folder NAME and prints the hash of the state at its end.
trains() {
  "$program" --quiet --out "$folder/$1" --steps 60 --per-worker 25 --threads 1 "${@:2}" >&2
  state "$1"
}

whole=$(trains 1x4)
[[ -n $whole ]]
[[ $(trains 2x2 --processes 2) == "$whole" ]]
[[ $(trains 4x1 --processes 4) == "$whole" ]]
[[ $(trains stopped --stop-at 23st) != "$whole" ]]
"$program" --quiet --resume "$folder/stopped" --stop-at 60st >&2
[[ $(state stopped) == "$whole" ]]
[[ $(trains still --groups 'discriminator --lr 0') != "$whole" ]]

# The images that are drawn of the same noise change as the generator learns.
cmp -s "$folder/1x4/made-00000040.png" "$folder/1x4/made-00000060.png" && exit 1
head -c 4 "$folder/1x4/made-00000060.png" | grep -q PNG
grep -q '"lr.discriminator":0.0005' "$folder/1x4/metrics.jsonl"
