#!/usr/bin/env bash
# Which room may include which (the arrows of the rooms), checked over every source of the repository.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A may=([graph]="graph" [optim]="optim graph" [compiler]="compiler graph" [data]="data"
                [runtime]="runtime compiler graph" [recipes]="recipes runtime compiler graph optim data")
status=0
for room in "${!may[@]}"; do
  allowed=${may[$room]// /|}
  # A quoted include is a path from the root; it has to begin with an allowed room.
  if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.h' --include='*.cpp' "$room" |
    grep -vE "include[[:space:]]*\"($allowed)/"; then
    echo "^ $room/ may include only: ${may[$room]}"
    status=1
  fi
done

# The compiler writes text for devices: it includes none of their headers. Environment variables have one reader.
if grep -rnE '#[[:space:]]*include[[:space:]]*<(cuda|nvrtc|cudnn|cublas|nccl|mpi|oneapi|dnnl)' \
  --include='*.h' --include='*.cpp' graph compiler optim data recipes; then
  echo "^ only runtime/ may include a device's or a library's header"
  status=1
fi
if grep -rnE '\bgetenv\(' --include='*.h' --include='*.cpp' graph compiler optim data recipes runtime |
  grep -v '^runtime/options.cpp:'; then
  echo "^ environment variables are read in runtime/options.cpp alone"
  status=1
fi
[ "$status" -eq 0 ] && echo "every include follows the arrows"
exit "$status"
