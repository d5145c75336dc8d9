# shellcheck shell=bash
# tests/gpu/first and its stages source this file. It finds programs, libraries and tools on this machine, and lists
# what is missing and how to get it. It needs neither HOME nor PATH nor Python.
state=${KB_STATE:-/tmp/kilobatch-first-$UID}
export KB_STATE=$state KB_CACHE=${KB_CACHE:-$state/cache} HOME=${HOME:-$state/home}
if [[ -d $here/bin ]]; then
  bin=$here/bin peers=$here/peers libraries=$here/lib
else
  bin=${KB_BUILD_DIR:-$here/../../build}/bin peers=$here/../peers libraries=
fi
found=() lost=() # `found` has texts, `lost` has "WHAT<tab>HOW TO GET IT"

# Our programs find their libraries in KB_LIBRARIES. PyTorch must not, because its own may be newer.
ours() { LD_LIBRARY_PATH=$KB_LIBRARIES "$@"; }

lacks() { lost+=("$1"$'\t'"$2"); } # WHAT HOW: notes what is missing and how to get it

first_of() { # FILE...: sets REPLY to the first that exists and can be run
  for REPLY in "$@"; do
    [[ ! -f $REPLY || ! -x $REPLY ]] || return 0
  done
  REPLY=''
  return 1
}
find_tool() { # NAME FOLDER...: sets REPLY to its path
  local name=$1 path
  path=$(command -v "$name")
  shift
  first_of "$path" "${@/%//$name}"
}

# Prints the folders with CUDA's libraries: those of wheels for CUDA 13, the toolkit's, those of other wheels. A folder
# of wheels for CUDA 12 has a libcudnn.so.9 too, which would need libraries of CUDA 12.
library_folders() {
  local base bases wheels=() others=()
  shopt -s nullglob
  bases=({/usr/lib,/usr/local/lib,"$HOME"/.local/lib,/root/.local/lib}/python3*/{site,dist}-packages
    {/opt,/opt/*,/opt/*/.venv,/opt/*/envs/*,/venv,/workspace/*,/root/*,/home/*/*,"${VIRTUAL_ENV:-/none}","${CONDA_PREFIX:-/none}"}/lib/python3*/site-packages)
  # A Python in another place says where its packages are.
  bases+=("$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)")
  for base in "${bases[@]}"; do
    if compgen -G "$base/nvidia_cudnn_cu13-*" >/dev/null || [[ -d $base/nvidia/cu13 ]]; then
      wheels+=("$base"/nvidia/cu13/lib "$base"/nvidia/*/lib)
    else
      others+=("$base"/nvidia/*/lib)
    fi
  done
  printf '%s\n' "${wheels[@]}" /usr/local/cuda/lib64 /usr/local/cuda/lib /usr/local/cuda-1[3-9]*/{lib64,targets/*/lib} \
    /usr/lib/x86_64-linux-gnu/nvidia/current "${others[@]}"
  shopt -u nullglob
}

# Sets KB_LIBRARIES, which `ours` uses.
find_libraries() {
  local folder known=: file missing
  libraries+=${LD_LIBRARY_PATH:+${libraries:+:}$LD_LIBRARY_PATH}
  while read -r folder; do
    [[ -d $folder && $known != *:$folder:* ]] || continue
    known+=$folder:
    compgen -G "$folder/lib@(cudnn|cublasLt|nvrtc|nccl).so.*" >/dev/null || continue
    libraries+=${libraries:+:}$folder
  done <<<"$(library_folders)" # <( ) would need /proc
  export KB_LIBRARIES=$libraries KB_LOST=''
  note_versions
  [[ -f $bin/libkilobatch_cuda.so ]] || KB_LOST+="$bin/libkilobatch_cuda.so"$'\n'
  for file in "$bin"/{tests_gpu,bench,libkilobatch_cuda.so}; do
    [[ ! -f $file ]] || KB_LOST+=$(ours ldd "$file" 2>&1 | sed -n "s/^[[:space:]]*\([^ ]*\) => not found.*/\1/p; s/.*\(version .*not found\).*/\1/p")$'\n'
  done
  find_library 'libnvrtc.so.1[23]' || KB_LOST+=$'libnvrtc.so.13\n'
  while read -r missing; do
    [[ -z $missing ]] || lacks "$missing" "$(how_to_get "$missing")"
  done <<<"$(sort -u <<<"$KB_LOST")"
  KB_LOST=$(sort -u <<<"$KB_LOST" | grep . | tr '\n' ' ')
  KB_LOST=${KB_LOST% }
}
find_library() { # PATTERN: sets REPLY to the first library that our programs will get
  local folder folders
  IFS=: read -ra folders <<<"$libraries"
  for folder in "${folders[@]}" /usr/lib/x86_64-linux-gnu; do
    REPLY=$(compgen -G "$folder/$1" | head -n 1)
    [[ -z $REPLY ]] || return 0
  done
  return 1
}
# Adds the libraries to `found`, with the wheels that they belong to, whose names tell the version.
note_versions() {
  local name wheel
  for name in 'libcudnn.so.9' 'libcublasLt.so.1[23]' 'libnvrtc.so.1[23]' 'libnccl.so.2'; do
    find_library "$name" || continue
    found+=("$(readlink -f "$REPLY")")
    [[ $REPLY == */nvidia/* ]] || continue
    for wheel in "${REPLY%/nvidia/*}"/nvidia_{cudnn,cublas,cuda_nvrtc,nccl}*.dist-info; do
      [[ ! -d $wheel || " ${found[*]} " == *" ${wheel##*/} "* ]] || found+=("${wheel##*/}")
    done
  done
}
how_to_get() { # WHAT: prints how to get it
  case $1 in
    libcudnn*) echo "cuDNN 9.8 or newer for CUDA 13, or its wheel nvidia-cudnn-cu13; LD_LIBRARY_PATH names its folder" ;;
    libcublas*) echo "the CUDA toolkit 13, or the wheel nvidia-cublas; LD_LIBRARY_PATH names its folder" ;;
    libnvrtc*) echo "the CUDA toolkit 13, or the wheel nvidia-cuda-nvrtc; LD_LIBRARY_PATH names its folder" ;;
    libstdc++* | libgcc*) echo "a system with g++ 12 or newer, or its libstdc++6" ;;
    version*) echo "a system as new as Debian 12" ;;
    /*) echo "build it with the CUDA toolkit and cuDNN; tests/gpu/bundle packs all" ;;
    *) echo "tests/gpu/bundle packs it" ;;
  esac
}

# Sets KB_NO_GPU to the reason why there is no GPU, empty if there is one. Without nvidia-smi the driver's files tell.
find_device() {
  local smi text
  device='' driver=''
  export KB_NO_GPU='' KB_SMI=''
  if find_tool nvidia-smi /usr/bin /usr/local/nvidia/bin; then
    smi=$REPLY
    text=$(timeout 15 "$smi" --query-gpu=name,driver_version --format=csv,noheader 2>&1)
    if [[ $? -eq 0 && -n $text ]]; then
      KB_SMI=$smi
      text=${text%%$'\n'*}
      device=$(plain <<<"${text%, *}") driver=$(plain <<<"${text##*, }")
      return
    fi
    KB_NO_GPU="nvidia-smi says: ${text%%$'\n'*}"
  elif [[ -e /dev/nvidiactl || -e /dev/dxg ]]; then
    device="unknown (no nvidia-smi)"
    return
  else
    KB_NO_GPU="no nvidia-smi and no /dev/nvidiactl"
  fi
  lacks "a GPU" "$KB_NO_GPU; NVIDIA's driver brings both, a container gets them from its host (docker run --gpus all)"
}

find_tools() {
  shopt -s nullglob
  local cuda=(/usr/local/cuda/bin /usr/local/cuda-*/bin /opt/nvidia/nsight-compute/* /usr/local/cuda*/nsight-compute-*
    /usr/local/cuda*/compute-sanitizer)
  shopt -u nullglob
  [[ -z ${KB_TOOLS:-} ]] || cuda=("$KB_TOOLS")
  export KB_NCU='' KB_SANITIZER='' KB_CXX=${KB_CXX:-} KB_PYTHON=${KB_PYTHON:-}
  if find_tool ncu "${cuda[@]}"; then KB_NCU=$REPLY; else lacks ncu "it comes with the CUDA toolkit, as Nsight Compute"; fi
  if find_tool compute-sanitizer "${cuda[@]}"; then KB_SANITIZER=$REPLY; else lacks compute-sanitizer "it comes with the CUDA toolkit"; fi
  [[ -n $KB_CXX ]] || KB_CXX=$(command -v c++ || command -v g++ || command -v clang++)
  [[ -n $KB_CXX ]] || lacks "a C++ compiler" "apt install g++; without it nothing is compared with the CPU"
  [[ -n $KB_PYTHON ]] || find_python || lacks PyTorch "pip install torch; KB_PYTHON names the Python that has it"
}
find_python() {
  local python
  shopt -s nullglob
  local places=("$(command -v python3)" "$(command -v python)" "${VIRTUAL_ENV:-/none}/bin/python3"
    "${CONDA_PREFIX:-/none}/bin/python3" /opt/*/bin/python3 /opt/*/.venv/bin/python3 /opt/*/envs/*/bin/python3 /venv/bin/python3)
  shopt -u nullglob
  for python in "${places[@]}"; do
    [[ -x $python ]] || continue
    "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' >/dev/null 2>&1 || continue
    KB_PYTHON=$python
    return 0
  done
  return 1
}

find_places() {
  commit=$(cat "$here/commit" 2>/dev/null || git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)
  shopt -s extglob
  find_device
  find_libraries
  find_tools
}
