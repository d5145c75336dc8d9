#!/usr/bin/env bash
# cluster_test.sh ROOT BUILD: checks the files of recipes/cluster that people copy. The container installs what ./run
# installs, and its last step runs here; the launcher's wrapper hands signals on; the Slurm scripts are valid and have
# the words that the README promises.
set -euo pipefail
root=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "cluster_test: $*" >&2
  exit 1
}

steps=$("$root/tests/container_steps")
[[ $(wc -l <<<"$steps") -eq 3 ]] || fail "expected 3 steps in the Containerfile, got: $steps"
installed=$(head -n 1 <<<"$steps")
eval "$(awk '/^(programs|libraries|optional)=/ { inside = 1 } inside { print } /\)$/ { inside = 0 }' "$root/run")"
# shellcheck disable=SC2154 # they come from ./run
for package in "${programs[@]#*:}" "${libraries[@]}" "${optional[@]}"; do
  [[ $package == libboost-test-dev ]] || grep -qw -- "$package" <<<"$installed" || fail "the container lacks $package"
done
# The container's last step runs here, with this build in place of the container's.
(cd "$folder" && ln -s "$build" build && sh -ec "$(tail -n 1 <<<"${steps//\/tmp\/run/$folder/run}")" >"$folder/log") ||
  fail "the container's last step: $(cat "$folder/log")"

bash -n "$root/recipes/cluster/train.slurm"
for word in '--signal=USR1@' --requeue 'scontrol requeue' '--resume auto' '-eq 138'; do
  grep -q -- "$word" "$root/recipes/cluster/train.slurm" || fail "train.slurm lacks $word"
done

bash -n "$root/recipes/cluster/sweep.slurm"
for word in --array '--signal=TERM@' 'bin/sweep" lenet_mnist' --grid --store; do
  grep -q -- "$word" "$root/recipes/cluster/sweep.slurm" || fail "sweep.slurm lacks $word"
done

# A stand-in for mpirun. It ends with its processes' exit code, 138, at SIGUSR1 (10), but with 1 at other signals; the
# wrapper has to end with 128 + the signal's number at all of them.
cat >"$folder/mpirun" <<'END'
#!/bin/sh
trap 'exit 138' USR1
trap 'exit 1' HUP INT TERM USR2
echo "$@" >"$1"
while :; do sleep 0.01; done
END
chmod +x "$folder/mpirun"
for number in 1 15 10 12; do
  rm -f "$folder/there"
  MPIRUN=$folder/mpirun "$root/recipes/cluster/mpirun" "$folder/there" -n 4 &
  wrapper=$!
  until [[ -s $folder/there ]]; do sleep 0.01; done
  [[ $(cat "$folder/there") == "$folder/there -n 4" ]] || fail "mpirun gets other words: $(cat "$folder/there")"
  kill -s "$number" "$wrapper"
  code=0
  wait "$wrapper" || code=$?
  [[ $code -eq $((128 + number)) ]] || fail "after signal $number: expected exit code $((128 + number)), got $code"
done
code=0
MPIRUN=/bin/false "$root/recipes/cluster/mpirun" || code=$?
[[ $code -eq 1 ]] || fail "a launcher that fails: expected exit code 1, got $code"
echo "what recipes/cluster holds is sound"
