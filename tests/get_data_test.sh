#!/usr/bin/env bash
# get_data_test.sh ROOT: runs data/get.sh over file:// addresses. A file that was fetched is checked and is there whole
# or not at all; a right one that is there already is not fetched again; every failure says what to do.
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "get_data_test: $*" >&2
  exit 1
}
command -v curl >/dev/null || {
  echo "skipped: no curl, which reads file:// addresses"
  exit 0
}

mkdir -p "$folder/there/batches"
echo pixels >"$folder/there/images.gz"
echo rows >"$folder/there/batches/one.bin"
tar -czf "$folder/there/set.tar.gz" -C "$folder/there" batches
sum() { md5sum "$1" | cut -d' ' -f1; }
{
  echo "# a table"
  echo "small file://$folder/there/images.gz $(sum "$folder/there/images.gz")"
  echo "packed file://$folder/there/set.tar.gz $(sum "$folder/there/set.tar.gz")"
  echo "wrong file://$folder/there/images.gz 00000000000000000000000000000000"
  echo "absent file://$folder/there/nothing.gz 00000000000000000000000000000000"
} >"$folder/sets.txt"
export KB_SETS=$folder/sets.txt
get() { bash "$root/data/get.sh" "$@" 2>&1; }

said=$(get small "$folder/out")
[[ $said == *"small is in $folder/out/small: --data $folder/out"* ]] || fail "$said"
cmp "$folder/there/images.gz" "$folder/out/small/images.gz"
[[ $(get small "$folder/out") == *"images.gz is there"* ]] || fail "fetched twice"
echo damaged >"$folder/out/small/images.gz"
get small "$folder/out" >/dev/null
cmp "$folder/there/images.gz" "$folder/out/small/images.gz"

get packed "$folder/out" >/dev/null
cmp "$folder/there/batches/one.bin" "$folder/out/packed/one.bin"

for set in wrong absent; do
  if said=$(get "$set" "$folder/out"); then fail "$set was taken"; fi
  [[ $said == *"expected: the file of file://"* && $said == *"hint:     where there is a network: curl -LO"* ]] || fail "$said"
  [[ -z $(ls "$folder/out/$set") ]] || fail "left behind: $(ls "$folder/out/$set")"
done
code=0
said=$(get cifar "$folder/out") || code=$?
[[ $code -eq 2 && $said == *"there is no set 'cifar'"* && $said == *"sets: absent, packed, small, wrong"* ]] || fail "$code $said"
code=0
said=$(get small "$folder/my" data) || code=$?
[[ $code -eq 2 && $said == *"expected NAME and DIR, got 3 words; usage"* ]] || fail "$code $said"
unset KB_SETS
[[ $(get --help) == *"sets: cifar10, fashion-mnist, mnist"* ]] || fail "$(get --help)"
echo "data sets are fetched, checked and kept"
