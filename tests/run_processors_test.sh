#!/usr/bin/env bash
# run_processors_test.sh RUN: checks the number that the function `processors` of the script RUN finds in trees of
# control groups, on a machine that says it has 64 processors.
set -euo pipefail
eval "$(sed -n '/^processors() {/,/^}/p' "$1")"
nproc() { echo 64; }
root=$(mktemp -d "${TMPDIR:-/tmp}/kilobatch-processors-XXXXXX")
trap 'rm -rf "$root"' EXIT

status=0
expect() { # WHAT EXPECTED
  local got
  got=$(processors "$root")
  [[ $got == "$2" ]] || { echo "$1: expected $2, got $got" >&2 && status=1; }
}
write() { mkdir -p "$root/$(dirname "$1")" && printf '%s\n' "$2" >"$root/$1"; }

expect "no groups" 64
write proc/self/cgroup 0::/
expect "a group without a quota file" 64
write sys/fs/cgroup/cpu.max "max 100000"
expect "no quota" 64
write sys/fs/cgroup/cpu.max "150000 100000"
expect "docker run --cpus 1.5" 2
write proc/self/cgroup 0::/pod/container
write sys/fs/cgroup/cpu.max "max 100000"
write sys/fs/cgroup/pod/cpu.max "300000 100000"
write sys/fs/cgroup/pod/container/cpu.max "800000 100000"
expect "the group above has less" 3
rm -r "$root/sys"
write proc/self/cgroup $'5:cpuset:/x\n4:cpu,cpuacct:/a/b'
write sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us -1
write sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us 100000
expect "version 1 without a quota" 64
write sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us 50000
expect "half a processor" 1
rm -r "$root/sys"
write sys/fs/cgroup/cpu/cpu.cfs_quota_us 400000
write sys/fs/cgroup/cpu/cpu.cfs_period_us 100000
expect "version 1 where the container's own group is the top" 4
exit "$status"
