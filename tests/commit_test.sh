#!/usr/bin/env bash
# commit_test.sh ROOT CMAKE: the name that a build gives itself (cmake/commit.cmake) changes with every change of a
# source, even of one that git does not know yet, and stays when a file changes that no program is built from.
set -euo pipefail
root=$1 cmake=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "commit_test: $*" >&2
  exit 1
}
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # a git hook that runs the tests sets them
command -v git >/dev/null || {
  echo "skipped: no git, without which every commit is unknown"
  exit 0
}

tree=$folder/tree
mkdir -p "$tree/recipes" "$tree/tests"
echo 'int a;' >"$tree/recipes/a.cpp"
echo 'words' >"$tree/README.md"
own_git() { git -C "$tree" -c user.email=a@b -c user.name=n -c commit.gpgsign=false "$@"; }
name() {
  "$cmake" -DSOURCE="$tree" -DOUTPUT="$folder/commit.cpp" -P "$root/cmake/commit.cmake"
  sed -n 's,^const char\* source_commit() { return "\(.*\)"; }$,\1,p' "$folder/commit.cpp"
}
names=()
# expect WHAT PATTERN: the build's name matches PATTERN and is none of the names before.
expect() {
  local got known
  got=$(name)
  [[ $got =~ ^$2$ ]] || fail "$1: expected $2, got '$got'"
  for known in ${names[@]+"${names[@]}"}; do
    [[ $known != "$got" ]] || fail "$1: expected another name than before, got '$got' again"
  done
  names+=("$got")
}
# same WHAT: the build's name has not changed.
same() {
  local got
  got=$(name)
  [[ $got == "${names[-1]}" ]] || fail "$1: expected '${names[-1]}' still, got '$got'"
}
clean='[0-9a-f]{12}' changed='[0-9a-f]{12}[+][0-9a-f]{8}'

expect "no repository" unknown
own_git init -q .
own_git add .
own_git commit -qm first
expect "a commit" "$clean"
grep -q 'KB_VERSION ", commit '"${names[-1]}"'"' "$folder/commit.cpp" || fail "$(cat "$folder/commit.cpp")"
echo 'more words' >>"$tree/README.md"
echo 'int t;' >"$tree/tests/t.cpp"
echo 'a list' >"$tree/recipes/list.txt"
same "what no program holds"
echo 'int b;' >>"$tree/recipes/a.cpp"
expect "a source that was changed" "$changed"
same "no change since"
echo 'int c;' >>"$tree/recipes/a.cpp"
expect "the same source, changed again" "$changed"
echo 'int d;' >"$tree/recipes/new one.cpp"
expect "a source that git does not know" "$changed"
echo 'int e;' >"$tree/recipes/new one.cpp"
expect "it, changed" "$changed"
mkdir "$tree/inner"
echo 'int f;' >"$tree/inner/f.cpp"
"$cmake" -DSOURCE="$tree/inner" -DOUTPUT="$folder/commit.cpp" -P "$root/cmake/commit.cmake"
grep -q '"unknown"' "$folder/commit.cpp" || fail "a folder of somebody else's repository has its commit"
own_git add .
own_git commit -qm second
expect "all of it, in a commit" "$clean"
touch -d '2000-01-01' "$folder/commit.cpp"
same "no change since"
[[ $(stat -c %Y "$folder/commit.cpp") -lt 1000000000 ]] || fail "the same text was written anew"
echo "every change of a source is another build"
