#!/usr/bin/env bash
# check_test.sh CHECK: tests/gpu/check on programs that only say what the real ones would: that it runs every part, finds
# what is missing and what fails, and gives the right exit code.
set -euo pipefail
check=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bundle=$folder/bundle
mkdir -p "$bundle"/{bin,lib,peers} "$folder/programs"
cp "$check" "$bundle/check"

stub() { # FILE: a program of the lines on standard input
  { echo '#!/bin/bash' && cat; } >"$1"
  chmod +x "$1"
}
for test in tests_gpu tests_cuda tests_cuda_vendor; do
  stub "$bundle/bin/$test" <<<'echo "Running 3 test cases..."; echo "*** No errors detected"'
done
cp /bin/true "$bundle/bin/libkilobatch_cuda.so"
stub "$bundle/bin/bench" <<<'echo "10 steps: min 1.000 ms, median 1.000 ms"'
for recipe in resnet50 resnet_cifar lenet_mnist; do
  stub "$bundle/bin/$recipe" <<'END'
while [[ $# -gt 1 && $1 != --out ]]; do shift; done
[[ $1 != --out ]] || { mkdir -p "$2" && echo "{\"state_sha256\":\"${STUB_HASH:-abc}$([[ -z ${STUB_MOODY:-} ]] || date +%N)\"}" >"$2/metrics.jsonl"; }
echo "compiled 3 parameters"
END
done
stub "$folder/programs/nvidia-smi" <<<'echo "Stub GPU, 1.0, 1 MiB"'
stub "$folder/programs/compute-sanitizer" <<'END'
while [[ $1 == --* ]]; do shift 2; done # each of its flags has a value
"$@"
END
stub "$folder/programs/python3" <<'END'
[[ $1 != - ]] || cat >/dev/null
echo "stub ${1##*/}"
END
export PATH=$folder/programs:$PATH

failures=0
expect() { # CODE PATTERN WHAT: of a run of check
  local code=0
  "$bundle/check" "$folder/report.md" >"$folder/log" 2>&1 || code=$?
  if [[ $code -ne $1 ]] || ! grep -q -- "$2" "$folder/report.md"; then
    failures=$((failures + 1))
    echo "$3: expected exit code $1 and '$2', got $code and:"
    cat "$folder/report.md"
  fi
}

expect 0 "^all passed" "everything is there"
for part in Stub memcheck racecheck synccheck initcheck "resnet_cifar 8, f16" "state_sha256 abc and abc" \
  "empty cache" "bench resnet50" "stub times.py"; do
  grep -q -- "$part" "$folder/report.md" || { failures=$((failures + 1)) && echo "the report lacks '$part'"; }
done
STUB_MOODY=1 expect 1 "^- FAILED: resnet50, bf16" "two runs of two hashes"
KB_CHECK=tests expect 0 "^all passed" "a part alone"
! grep -q memcheck "$folder/report.md" || { failures=$((failures + 1)) && echo "parts that were not asked for"; }
stub "$bundle/bin/tests_gpu" <<<'echo "Running 1 test case..."; echo "SKIPPED: no GPU: none"'
KB_CHECK=tests expect 2 "^- skipped: on the device" "tests that are all skipped"
stub "$bundle/bin/tests_gpu" <<<'echo "wrong"; exit 201'
KB_CHECK=tests expect 1 "^- FAILED: on the device" "a test that fails"
rm "$bundle/bin/tests_gpu" "$folder/programs/nvidia-smi"
stub "$folder/programs/nvidia-smi" <<<'echo "no devices were found"; exit 6'
KB_CHECK=sanitizer expect 2 "^- missing: a GPU: no devices were found" "no GPU"
[[ $failures -eq 0 ]] && echo "check does what it says"
