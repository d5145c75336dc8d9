#!/usr/bin/env bash
# first_test.sh FOLDER PROGRAM tests the scripts first, check and bundle of FOLDER on programs that only pretend to be
# the real ones: stages that hang, die or lack something; calls that are cut off; other machines. PROGRAM is any program
# in C++, of which a bundle is made.
set -euo pipefail
source=$(realpath "$1")
program=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bundle="$folder/a bundle" out="$folder/an out" programs=$folder/programs
export KB_BUNDLE_LEVEL=1 KB_STATE=$folder/state KB_TOOLS=$folder/tools PATH=$programs:/usr/bin:/bin LD_LIBRARY_PATH=
unset KB_CACHE KB_FROM KB_LIMIT KB_PYTHON KB_CXX
mkdir -p "$bundle"/{bin,lib,peers} "$programs" "$KB_TOOLS" "$folder/mood"
cp "$source"/{first,check,stages.sh,places.sh,report.sh} "$bundle/"
touch "$bundle/lib/libnvrtc.so.13" "$folder/calls"

# Writes FILE, a program of the lines on standard input. It notes that it was called, and does what its mood says.
stub() {
  cat >"$1" <<END
#!/bin/bash
echo "\${0##*/} \$*" >>"$folder/calls"
for mood in "$folder"/mood/*; do
  [[ -f \$mood && "\${0##*/} \$*" == \$(<"\$mood")* ]] || continue
  case \${mood##*/} in
    hang) echo "before it hangs" && sleep 300 ;;
    die) kill -KILL 0 ;;
    fail) echo 'it says "no" \\ and	more' && exit 9 ;;
  esac
done
$(cat)
END
  chmod +x "$1"
}
stub "$bundle/bin/tests_gpu" <<<'echo "Running 3 test cases..."; echo "*** No errors detected"'
stub "$bundle/bin/gpu_ceilings" <<<'echo "copy of 2048 MiB: 4300 GB/s"'
stub "$bundle/bin/gpu_fused" <<<'echo "conv + sums: accepted: 1 plans"'
stub "$bundle/bin/gpu_attention" <<<'echo "attention, causal: 0.100 ms (2.0 x)"'
stub "$bundle/bin/bench" <<<'echo "10 steps: min 1.000 ms, median 1.000 ms"'
for recipe in resnet50 resnet_cifar lenet_mnist gpt; do
  stub "$bundle/bin/$recipe" <<'END'
while [[ $# -gt 1 && $1 != --out ]]; do shift; done
[[ $1 != --out ]] || { mkdir -p "$2" && echo '{"state_sha256":"abc"}' >"$2/metrics.jsonl"; }
mkdir -p "$KB_CACHE" && echo pick >"$KB_CACHE/picks.stub.txt" || exit 9
echo "compiled 3 parameters"
END
done
cp /bin/true "$bundle/bin/libkilobatch_cuda.so"
stub "$programs/nvidia-smi" <<<'echo "Stub GPU, 580.1"'
stub "$programs/c++" <<<'echo "c++ 12.2"'
# shellcheck disable=SC2016 # the stub expands it
stub "$programs/python3" <<<'echo "stub ${1##*/}"'
stub "$KB_TOOLS/compute-sanitizer" <<'END'
[[ $1 != --version ]] || { echo "compute-sanitizer 2025.3" && exit; }
while [[ $1 == --* ]]; do shift 2; done # each of its flags has a value
"$@"
END
stub "$KB_TOOLS/ncu" <<'END'
[[ "$1" != --version ]] || { echo "ncu 2025.3" && exit; }
launches=1 kills=no
while [[ $1 != */resnet50 ]]; do
  [[ $1 != --kill ]] || { kills=yes && launches=$(cat "${KB_TOOLS%/*}/launches"); }
  [[ $1 != --log-file ]] || { echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
    for ((i = 0; i < launches; ++i)); do
      echo "\"$i\",\"k_1\",\"gpu__time_duration.sum\",\"ns\",\"2,000\""
      echo "\"$i\",\"k_1\",\"dram__bytes_read.sum\",\"byte\",\"4,000,000\""
    done; } >"$2"
  shift
done
[[ $kills == no ]] || exit 9
"$@"
END

echo 283 >"$folder/launches" # number of launches that the stub of ncu has profiled when it ends the process

failures=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}
well_formed() { # WHAT: fails unless report.json and logs.tar.gz can be read
  if [[ -x /usr/bin/python3 ]] && ! /usr/bin/python3 -m json.tool "$out/report.json" >/dev/null; then fail "$1: report.json"; fi
  tar -tzf "$out/logs.tar.gz" >/dev/null || fail "$1: logs.tar.gz"
}
first() { # CODE WHAT ARGUMENT...: calls first, which must exit with CODE
  local expected=$1 what=$2 code=0
  shift 2
  "$bundle/first" "$@" >"$folder/log" 2>&1 || code=$?
  [[ $code -eq $expected ]] || { fail "$what: expected exit code $expected, got $code" && cat "$folder/log"; }
  well_formed "$what"
}
is() { # STAGE STATUS WHAT: fails unless the report has this status
  grep -q "\"name\": \"$1\", \"status\": \"$2\"" "$out/report.json" && return
  fail "$3: expected $1 to be $2" && grep "\"name\": \"$1\"" "$out/report.json"
}
calls() { wc -l <"$folder/calls"; }
calls_of() { grep -c -- "$1" "$folder/calls" || true; }
as_many() { # BEFORE WHAT: fails if a stage called a program after the first BEFORE calls
  local more
  more=$(tail -n "+$(($1 + 1))" "$folder/calls" | grep -cvE '^(nvidia-smi|python3|c\+\+)' || true)
  [[ $more -eq 0 ]] || { fail "$2: programs were run again:" && tail -n "+$(($1 + 1))" "$folder/calls"; }
}
fresh() { rm -rf "$KB_STATE" "$out" && rm -f "$folder"/mood/* && : >"$folder/calls"; }
until_called() { # PATTERN: waits until such a call was made
  local i
  for ((i = 0; i < 400; ++i)); do
    [[ $(calls_of "$1") -eq 0 ]] || return 0
    sleep 0.05
  done
  fail "nobody called $1"
}

everything_passes() {
  local before limits name
  first 0 "everything passes" "$out"
  for name in versions bench256 bench32 ncu ncu_library torch_compiled fused hashes_bf16 start racecheck; do
    is "$name" passed "everything passes"
  done
  is steps "not run" "a stage that is not needed"
  is initcheck "not run" "a further stage"
  grep -q '> all: 0.002 ms, 0.00 GB, 2000 GB/s' "$out/report.json" || fail "ncu's figures"
  grep -q '> all: 0.566 ms, 1.13 GB, 2000 GB/s' "$out/report.json" || fail "the figures of an ncu that ends the process"
  grep -q '"device": "Stub GPU", *$' "$out/report.json" || fail "the device's name"
  before=$(calls)
  first 0 "a second call" "$out"
  as_many "$before" "a second call"
  first 0 "one stage again" --again "$out" bench32
  [[ $(calls_of '^bench resnet50 --minibatch 32') -eq 2 && $(calls_of '^bench resnet50 --minibatch 64') -eq 1 ]] ||
    fail "one stage again: not that alone"
  "$bundle/check" "$out" >"$folder/log" 2>&1 || fail "check: $(<"$folder/log")"
  is initcheck passed "check"
  is torch_cifar passed "check"
  limits=$("$bundle/first" --list | awk '$2 > ($3 == "more" ? 300 : 150) { print $1 } $3 == "" && $1 != "racecheck" { sum += $2 } END { if (sum > 1600) print sum }')
  [[ -z $limits ]] || fail "limits above 150 s (300 s of a further stage) or altogether above 1600 s: $limits"
}

on_another_machine() {
  local before
  before=$(calls)
  rm -rf "$KB_STATE"
  first 0 "another machine with OUT" "$out"
  as_many "$before" "another machine with OUT"
  [[ $(<"$KB_STATE/cache/picks.stub.txt") == pick ]] || fail "another machine: the picks"
  mv "$out" "$folder/before" && rm -rf "$KB_STATE"
  first 0 "another machine with --from" --from "$folder/before/logs.tar.gz" "$out"
  as_many "$before" "another machine with --from"
  rm -rf "$KB_STATE" "$out"
  KB_FROM=$folder/before/logs.tar.gz first 0 "another machine with KB_FROM" "$out" kernels
  as_many "$before" "another machine with KB_FROM"
}

stages_that_do_not_end_well() {
  local before
  fresh
  echo "resnet50 --data synthetic --device cuda --precision bf16 --minibatch 64" >"$folder/mood/hang"
  echo "bench resnet50 --minibatch 64" >"$folder/mood/die"
  echo "gpu_ceilings" >"$folder/mood/fail"
  KB_LIMIT=3 first 1 "hang, die, fail" "$out" ceilings kernels bench64 hashes_bf16
  is ceilings failed "hang, die, fail"
  is kernels passed "hang, die, fail"
  is hashes_bf16 timeout "hang, die, fail"
  is bench64 killed "hang, die, fail"
  grep -q '"name": "hashes_bf16".*> resnet_cifar.bf16: abc and abc.*before it hangs' "$out/report.json" ||
    fail "what a stage printed before its time was over"
  rm "$folder/mood/"{hang,die}
  before=$(calls_of '^tests_gpu')
  first 1 "the next call" "$out" ceilings kernels hashes_bf16 bench64
  is hashes_bf16 passed "the next call"
  is bench64 passed "the next call"
  [[ $(calls_of '^tests_gpu') -eq $before ]] || fail "the next call ran a stage again that had passed"
  first 1 "the third call" "$out" ceilings
  first 1 "the fourth call" "$out" ceilings
  [[ $(calls_of '^gpu_ceilings') -eq 3 ]] || fail "a stage that fails was run $(calls_of '^gpu_ceilings') times, not three"
  rm "$folder/mood/fail"
  first 0 "again" --again "$out" ceilings
}

little_time() {
  fresh
  first 2 "little time" --within 45 "$out" bench32 bench256
  is bench32 passed "little time"
  grep -q '"name": "bench32".*"limit": [34][0-9],' "$out/report.json" || fail "little time: the limit of a stage that has less"
  is bench256 "not run" "little time"
  grep -q 'no time was left for bench256' "$folder/log" || fail "little time: $(<"$folder/log")"
  ! "$bundle/first" --within soon "$out" bench32 >/dev/null 2>&1 || fail "--within without a number"
}

# times.py starts bench before it needs PyTorch, so its own flags can be tried anywhere.
stages_beside_pytorch() {
  local flags
  fresh
  first 0 "beside PyTorch" "$out" torch_compiled torch_eager torch_f32 torch_cifar torch_gpt
  sed -n 's,^python3 .*/times\.py --device cuda --bin [^ ]* ,,p' "$folder/calls" >"$folder/flags"
  [[ $(wc -l <"$folder/flags") -eq 5 ]] || fail "five stages call times.py"
  [[ -x /usr/bin/python3 ]] || return 0
  while read -ra flags; do
    : >"$folder/calls"
    /usr/bin/python3 "$source/../peers/times.py" --device cuda --bin "$bundle/bin" "${flags[@]}" >"$folder/log" 2>&1 || true
    [[ $(calls_of '^bench .* --turns') -eq 1 ]] || fail "times.py ${flags[*]}: $(<"$folder/log")"
  done <"$folder/flags"
}

bench_fails() {
  fresh
  echo "bench resnet50 --minibatch 256" >"$folder/mood/fail"
  first 1 "bench fails" "$out" bench256 steps
  is steps passed "steps where bench failed"
  grep -q 'it says \\"no\\" \\\\ and more' "$out/report.json" || fail "quotes, tabs and backslashes"
}

ncu_sees_too_little() {
  fresh
  echo 282 >"$folder/launches"
  first 1 "ncu ends the process too early" "$out" ncu
  is ncu failed "ncu ends the process too early"
  echo 283 >"$folder/launches"
}

calls_that_are_cut_off() {
  local signal call orphan
  for signal in KILL TERM; do
    fresh
    echo "bench resnet50 --minibatch 32" >"$folder/mood/hang"
    "$bundle/first" "$out" kernels bench32 bench64 >"$folder/log" 2>&1 &
    call=$!
    until_called '^bench resnet50 --minibatch 32'
    sleep 0.2
    kill "-$signal" "$call"
    wait "$call" 2>/dev/null || true
    well_formed "cut off by $signal"
    is kernels passed "cut off by $signal"
    is bench32 killed "cut off by $signal"
    is bench64 "not run" "cut off by $signal"
    rm "$folder/mood/hang"
    [[ $signal != KILL ]] || cp -r "$out" "$folder/cut"
    first 0 "goes on after $signal" "$out" kernels bench32 bench64
    [[ $(calls_of '^tests_gpu') -eq 1 && $(calls_of 'minibatch 32') -eq 2 ]] || fail "after $signal: run twice or not at all"
    orphan=$(pgrep -f "$bundle/bin/bench" || true)
    [[ -z $orphan ]] || fail "after $signal the stage still runs"
  done
  rm -rf "$KB_STATE" "$out" && mv "$folder/cut" "$out"
  first 0 "goes on elsewhere" "$out" kernels bench32 bench64
  [[ $(calls_of '^tests_gpu') -eq 1 ]] || fail "goes on elsewhere: a stage again that had passed"
}

what_is_missing() {
  fresh
  mv "$KB_TOOLS/compute-sanitizer" "$folder/"
  stub "$KB_TOOLS/ncu" <<<'echo "==ERROR== ERR_NVGPUCTRPERM - no permission to access GPU Performance Counters"; exit 1'
  first 2 "tools" "$out" kernels ncu memcheck
  is ncu refused "ncu that is refused"
  is memcheck missing "no compute-sanitizer"
  is kernels passed "the rest goes on"
  grep -q '"what": "compute-sanitizer", "how": "it comes' "$out/report.json" || fail "how to get compute-sanitizer"
  stub "$bundle/bin/tests_gpu" <<<'echo "SKIPPED: the CPU has no compiler"'
  first 2 "skipped tests" "$out" library
  is library missing "skipped tests"
  stub "$programs/nvidia-smi" <<<'echo "no devices were found"; exit 6'
  fresh
  first 2 "no GPU" "$out"
  is bench256 missing "no GPU"
  grep -q 'a GPU (nvidia-smi says: no devices were found)' "$out/report.json" || fail "why there is no GPU"
  fresh
  (cd / && env -i KB_STATE="$KB_STATE" KB_TOOLS="$KB_TOOLS" "$bundle/first" "$out" versions sessions >"$folder/log" 2>&1) && fail "env -i: exit code 0"
  well_formed "env -i"
  is sessions missing "env -i"
  ! "$bundle/first" >/dev/null 2>&1 || fail "a call without OUT"
  ! "$bundle/first" "$out" nonsense >/dev/null 2>&1 || fail "a stage that there is not"
}

bundles() {
  local build=$folder/build name
  mkdir -p "$build/bin"
  for name in tests_gpu gpu_ceilings gpu_fused gpu_attention bench gpt resnet50 resnet_cifar lenet_mnist libkilobatch_cuda.so; do
    cp "$program" "$build/bin/$name"
  done
  KB_BUILD_DIR=$build "$source/bundle" "$folder/bundle.tar.gz" >"$folder/log" || fail "bundle: $(<"$folder/log")"
  tar -tzf "$folder/bundle.tar.gz" >"$folder/list"
  for name in first check stages.sh places.sh report.sh bin/gpu_fused peers/{times,torch_steps,turns,nets}.py; do
    grep -qx "kilobatch/$name" "$folder/list" || fail "the bundle lacks $name"
  done
  ! grep -E 'libstdc|libgcc|/libc\.' "$folder/list" || fail "the bundle has the compiler's libraries"
  ! KB_BUNDLE_MOST=1000 KB_BUILD_DIR=$build "$source/bundle" "$folder/large.tar.gz" >/dev/null 2>&1 ||
    fail "a bundle that is too large"
}

everything_passes
on_another_machine
stages_that_do_not_end_well
little_time
stages_beside_pytorch
bench_fails
ncu_sees_too_little
calls_that_are_cut_off
what_is_missing
bundles
[[ $failures -eq 0 ]] && echo "first does what it says"
