#!/usr/bin/env bash
# stages.sh STAGE runs one stage of tests/gpu/first, which calls it under its time limit and in its environment. Lines
# that begin with "> " are the stage's figures for the report. Exit code 0: passed; 75: something is missing; 76: the
# driver or a tool refused; 77: not needed; any other: failed. The last line that begins with MISSING, REFUSED or NOT
# RUN says why.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/gpu/places.sh
source "$here/places.sh"
scratch=$state/scratch

missing() { echo "MISSING: $*" && exit 75; }
refused() { echo "REFUSED: $*" && exit 76; }
not_run() { echo "NOT RUN: $*" && exit 77; }
figures() { sed 's/^/> /'; }
# Prints the lines of FILE with PATTERN as figures; a stage does not fail when there are none.
figures_of() { { grep -E -- "$2" "$1" || true; } | cut -c1-220 | figures; }

wanting=()
want() { [[ -n $1 ]] || wanting+=("$2"); } # VALUE WHAT: notes WHAT as missing when the value is empty
need() { # PROGRAM...: needs a GPU, these programs, the libraries of all, and what was wanted before
  local program text
  for program in "$@"; do
    [[ -f $bin/$program ]] || wanting=("$bin/$program: tests/gpu/bundle packs it" "${wanting[@]}")
  done
  [[ -z $KB_LOST ]] || wanting=("$KB_LOST" "${wanting[@]}")
  [[ -z $KB_NO_GPU ]] || wanting=("a GPU ($KB_NO_GPU)" "${wanting[@]}")
  [[ ${#wanting[@]} -gt 0 ]] || return 0
  printf -v text '%s; ' "${wanting[@]}"
  missing "${text%; }"
}
status_of() { sed -n 's/^status //p' "$state/results/$1" 2>/dev/null; }
keep() { # FILE COMMAND...: runs COMMAND, and keeps what it prints in FILE too
  local file=$1
  shift
  "$@" 2>&1 | tee "$file"
  return "${PIPESTATUS[0]}"
}

# ---- the stages in their order

stage_versions() {
  echo "> commit $(cat "$here/commit" 2>/dev/null || echo unknown), $(uname -sr), $(nproc) processors"
  sed -n 's/^PRETTY_NAME="\(.*\)"/> system \1/p' /etc/os-release
  ldd --version 2>&1 | head -n 1 | figures
  echo "> libraries looked for in: $KB_LIBRARIES"
  [[ -z $KB_SMI ]] || "$KB_SMI" --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit,mig.mode.current \
    --format=csv,noheader | figures
  [[ -z $KB_SMI ]] || "$KB_SMI"
  local file
  for file in tests_gpu bench libkilobatch_cuda.so; do
    [[ ! -f $bin/$file ]] || { echo "$file:" && ours ldd "$bin/$file"; }
  done
  for file in "$KB_NCU" "$KB_SANITIZER" "$KB_CXX"; do
    [[ -z $file ]] || echo "> $file: $("$file" --version 2>&1 | grep -iE 'version|[0-9]+\.[0-9]+' | tail -n 1)"
  done
  need tests_gpu
}

stage_ceilings() {
  need gpu_ceilings
  keep "$scratch/ceilings" ours "$bin/gpu_ceilings" || return 1
  figures <"$scratch/ceilings"
}

tests() { # FILTER...: runs tests of tests_gpu; counts as missing when one of them was skipped
  need tests_gpu
  keep "$scratch/tests" ours "$bin/tests_gpu" --report_level=short "${@/#/--run_test=}" -- --all || return 1
  figures_of "$scratch/tests" 'test cases? out of|Running|No errors'
  ! grep -q '^SKIPPED: ' "$scratch/tests" || missing "$(sed -n 's/^SKIPPED: //p' "$scratch/tests" | sort -u | head -n 1)"
}
stage_kernels() { tests gpu_plugin gpu_kernels; }

bench() { # NAME RECIPE FLAG...: runs bench, whose table is in the log
  local name=$1
  shift
  need bench
  keep "$scratch/$name" ours "$bin/bench" "$@" --precision bf16 --device cuda || return 1
  figures_of "$scratch/$name" '^[0-9]+ steps:|bandwidth|minibatch|memory|^(predicted|measured|NOTE) '
  echo "> the 12 longest launches: class, bytes, ms of DRAM and of code, ALU an element, ms predicted and measured:"
  sort -k9,9 -rn "$scratch/$name" >"$scratch/$name.sorted"
  figures_of "$scratch/$name.sorted" '^ *[0-9]+ [a-z_]+ +[0-9.]+ [kMGT]?B ' | head -n 12
  return 0
}
stage_bench256() { bench bench256 resnet50 --minibatch 256; }
stage_bench32() { bench bench32 resnet50 --minibatch 32; }
stage_bench64() { bench bench64 resnet50 --minibatch 64; }
stage_cifar128() { bench cifar128 resnet_cifar --minibatch 128; }

stage_steps() {
  [[ $(status_of bench256) != passed ]] || not_run "bench256 passed"
  need resnet50
  ours "$bin/resnet50" --data synthetic --device cuda --precision bf16 --minibatch 256 --steps 2 --sync-steps \
    --out "$scratch/steps"
}

# ncu profiles one step. The picks must be known before, or it would profile the trials that choose them.
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_lookup_hit.sum,smsp__inst_executed.sum
metrics+=,smsp__issue_active.avg.pct_of_peak_sustained_active,sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
metrics+=,launch__registers_per_thread
tensor_metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
tensor_metrics+=,sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active
tensor_metrics+=,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active

# LEAST is the number of launches of these kernels in a training step. With it the run ends as soon as COUNT were
# profiled, because the evaluation after the step would take longer than the step. It has succeeded if the table has
# LEAST launches.
profile() { # NAME KERNELS COUNT METRICS [LEAST]
  local table=$state/logs/$1.csv least=${5:-} launches flags=(--data synthetic --device cuda --precision bf16 --minibatch 256)
  want "$KB_NCU" ncu
  need resnet50
  if ! compgen -G "$KB_CACHE/picks.*" >/dev/null; then
    ours "$bin/resnet50" "${flags[@]}" --dry-run --out "$scratch/$1.picks" || return 1
  fi
  ours "$KB_NCU" --clock-control none --cache-control none -k "$2" -c "$3" ${least:+--kill yes} --csv --log-file "$table" --metrics "$4" \
    "$bin/resnet50" "${flags[@]}" --steps 1 --sync-steps --out "$scratch/$1" 2>&1 | tee "$scratch/$1.log"
  local code=${PIPESTATUS[0]}
  cat "$table" >>"$scratch/$1.log" 2>/dev/null
  if grep -qE 'ERR_NVGPUCTRPERM|ERR_NVCMPGPU|not supported on|InsufficientPrivileges|profiling is not supported' "$scratch/$1.log"; then
    refused "$(grep -m 1 -E 'ERR_NV|not supported|Privileges' "$scratch/$1.log")"
  fi
  launches=$(grep -c '"gpu__time_duration.sum"' "$table" 2>/dev/null)
  echo "$launches launches were profiled, exit code $code"
  [[ $code -eq 0 || ( -n $least && ${launches:-0} -ge $least ) ]] || return 1
  profile_figures <"$table" | figures
}
# Prints all kernels together, then those that take longest, and the rates of their DRAM bytes.
profile_figures() {
  local lines
  lines=$(profile_sums)
  grep '^all' <<<"$lines"
  grep -v '^all' <<<"$lines" | sort -k1,1 -rn | head -n 30
}
profile_sums() { # sums times in ns, us or ms, and bytes in any unit
  awk -F '","' '
    function scaled(value, unit) {
      gsub(/[",]/, "", value)
      if (unit ~ /^n/) return value / 1e3
      if (unit ~ /^(ms|msecond)/) return value * 1e3
      if (unit ~ /^K/) return value * 1e3
      if (unit ~ /^M/) return value * 1e6
      if (unit ~ /^G/) return value * 1e9
      return value + 0
    }
    /"Kernel Name"/ { for (i = 1; i <= NF; ++i) { h = $i; gsub(/"/, "", h); at[h] = i } next }
    !at["Metric Name"] { next }
    {
      kernel = $(at["Kernel Name"]); metric = $(at["Metric Name"])
      value = scaled($(at["Metric Value"]), $(at["Metric Unit"]))
      if (metric ~ /time_duration/) { time[kernel] += value; ++count[kernel]; total += value }
      if (metric ~ /dram__bytes/) { bytes[kernel] += value; all += value }
    }
    END {
      if (total > 0) printf "all: %.3f ms, %.2f GB, %.0f GB/s\n", total / 1e3, all / 1e9, all / total / 1e3
      for (k in time) printf "%.3f ms %dx %.0f GB/s %s\n", time[k] / 1e3, count[k], bytes[k] / (time[k] + 1e-9) / 1e3, substr(k, 1, 80)
    }'
}
stage_ncu() { profile ncu 'regex:^k_' 290 "$metrics" 283; }
stage_ncu_library() { profile ncu_library 'regex:xmma|cudnn|cutlass' 170 "$tensor_metrics"; }

stage_library() { tests gpu_library; }
stage_sessions() { tests gpu_sessions; }

torch() { # ROUNDS FLAG...: runs times.py, with our program beside it
  local rounds=$1
  shift
  want "$KB_PYTHON" PyTorch
  need bench
  "$KB_PYTHON" -c 'import torch; assert torch.cuda.is_available(), "it sees no GPU"; print(">", "PyTorch", torch.__version__)' ||
    missing "PyTorch that sees the GPU"
  mkdir -p "$scratch/bin"
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$KB_LIBRARIES" "$bin/bench" >"$scratch/bin/bench"
  chmod +x "$scratch/bin/bench"
  export TORCHINDUCTOR_CACHE_DIR=$state/torch TRITON_CACHE_DIR=$state/torch/triton
  keep "$scratch/torch" "$KB_PYTHON" "$peers/times.py" --device cuda --bin "$scratch/bin" --rounds "$rounds" "$@" || return 1
  figures <"$scratch/torch"
}
stage_torch_eager() { torch 1 --precision bf16 --ways eager --formats channels_last resnet50; }
stage_torch_compiled() { torch 1 --precision bf16 --ways compiled --formats channels_last resnet50; }
stage_torch_f32() { torch 1 --precision f32 --formats channels_last resnet50; }
# GPT-2's least model beside PyTorch's, whose attention is a flash kernel too.
stage_torch_gpt() { torch 1 --precision bf16 --ways compiled gpt124m; }
stage_torch_cifar() { torch 1 --precision bf16 --formats channels_last resnet_cifar20 mlp128; }

stage_fused() {
  need gpu_fused
  keep "$scratch/fused" ours "$bin/gpu_fused" || return 1
  figures_of "$scratch/fused" 'GB/s|accepted|refused'
}

# The results of flash attention beside the interpreter's, then the times of a step beside the composite's.
stage_attention() {
  need gpu_attention
  tests gpu_library/of_op/_2 || return 1
  keep "$scratch/attention" ours "$bin/gpu_attention" || return 1
  figures_of "$scratch/attention" ' x\)$'
}

stage_recipes_cpu() { tests gpu_recipes/beside_cpu; }
stage_recipes_device() { tests gpu_recipes/alone; }
stage_collective() { tests gpu_collective; }

hash_of() { sed -n 's/.*"state_sha256":"\([0-9a-f]*\)".*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
twice() { # NAME RECIPE FLAG...: makes two runs, which must have one hash
  local name=$1 recipe=$2 run
  shift 2
  need "$recipe"
  for run in a b; do
    ours "$bin/$recipe" --data synthetic --device cuda "$@" --out "$scratch/$name.$run" || return 1
  done
  echo "> $name: $(hash_of "$scratch/$name.a") and $(hash_of "$scratch/$name.b")"
  [[ -n $(hash_of "$scratch/$name.a") && $(hash_of "$scratch/$name.a") == "$(hash_of "$scratch/$name.b")" ]] ||
    { echo "$name: two runs of two hashes" && return 1; }
}
stage_hashes_f32() { twice resnet_cifar.f32 resnet_cifar --depth 8 --dataset cifar10 --precision f32 --minibatch 128 --steps 100; }
stage_hashes_bf16() {
  twice resnet_cifar.bf16 resnet_cifar --depth 8 --dataset cifar10 --precision bf16 --minibatch 128 --steps 100 &&
    twice resnet50.bf16 resnet50 --precision bf16 --minibatch 64 --steps 10
}

# 65,536 tokens a step; bench prints samples of 1,024 tokens a second.
stage_gpt124m() {
  twice gpt124m gpt --paper 124M --precision bf16 --minibatch 64 --steps 10 --eval-every 0 &&
    bench gpt124m gpt --paper 124M --minibatch 64
}

# The first run compiles into an empty cache; the second takes everything from that.
stage_start() {
  need resnet50
  local run
  export KB_CACHE=$scratch/start.cache # the logs in this folder have other names
  for run in cold warm; do
    keep "$scratch/$run" ours "$bin/resnet50" --data synthetic --device cuda --precision bf16 --minibatch 256 --dry-run \
      --out "$scratch/start.$run" || return 1
    echo "> $run:"
    figures_of "$scratch/$run" '^(compiled|memory) '
  done
}

sanitized() { # TOOL COMMAND...: runs COMMAND under compute-sanitizer
  local tool=$1
  shift
  want "$KB_SANITIZER" compute-sanitizer
  need tests_gpu lenet_mnist
  keep "$scratch/sanitizer" ours "$KB_SANITIZER" --tool "$tool" --error-exitcode 1 "$@"
  local code=$?
  if grep -qE 'Device not supported|not supported on this|Unable to (attach|initialize)|insufficient permission|ERR_NV' "$scratch/sanitizer"; then
    refused "$(grep -m 1 -E 'not supported|Unable|permission|ERR_NV' "$scratch/sanitizer")"
  fi
  figures_of "$scratch/sanitizer" 'ERROR SUMMARY|RACECHECK SUMMARY|Running'
  return "$code"
}
stage_memcheck() { sanitized memcheck "$bin/tests_gpu" --run_test=gpu_kernels; }
stage_synccheck() { sanitized synccheck "$bin/tests_gpu" --run_test=gpu_kernels; }
stage_racecheck() {
  local seconds
  seconds=$(sed -n 's/^seconds \([0-9]*\).*/\1/p' "$state"/results/* | awk '{ sum += $1 } END { print sum + 0 }')
  [[ $seconds -lt 1350 || " $KB_NAMED " == *" racecheck "* ]] || not_run "no time left: the stages took $seconds s"
  sanitized racecheck "$bin/tests_gpu" --run_test=gpu_kernels
}
stage_initcheck() { sanitized initcheck "$bin/tests_gpu" --run_test=gpu_kernels; }
stage_lenet_memcheck() {
  sanitized memcheck "$bin/lenet_mnist" --data synthetic --device cuda --minibatch 32 --steps 3 --out "$scratch/lenet"
}

"stage_$1"
