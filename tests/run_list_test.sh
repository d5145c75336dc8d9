#!/usr/bin/env bash
# run_list_test.sh ROOT BUILD: `./run list` names every recipe of the table with the summary that its own --help begins
# with, and every tool, which explains itself in 80 columns; a name with a typing mistake gets the nearest.
set -euo pipefail
root=$1 build=$2
fail() {
  echo "run_list_test: $*" >&2
  exit 1
}

# A line each, "NAME SUMMARY": a summary that was broken between words is whole again.
list=$("$root/run" list | awk '{ begins = !/^   /; $1 = $1; if (begins) print line; line = begins ? $0 : line " " $0 } END { print line }')
listed() { grep -qxF -- "$1 $2" <<<"$list" || fail "no line '$1 $2' in: $list"; }
recipes=$(sed -n 's,^KB_RECIPE(\(.*\))$,\1,p' "$root/recipes/papers/recipes.inc")
[[ $(wc -w <<<"$recipes") -ge 5 ]] || fail "recipes: $recipes"
for recipe in $recipes; do
  grep -q "^$recipe [^ ]" <<<"$list" || fail "no summary of $recipe in: $list"
done
help=$("$build/bin/mlp_mnist" --help)
listed mlp_mnist "$(sed -n '1s,^mlp_mnist: ,,p' <<<"$help")"
for tool in "$root"/recipes/tools/*.cpp; do
  wide=$("$build/bin/$(basename "$tool" .cpp)" --help | awk 'length > 80')
  [[ -z $wide ]] || fail "lines of more than 80 columns: $wide"
  listed "$(basename "$tool" .cpp)" "$(sed -n '1s,^// summary: ,,p' "$tool")"
done

# A recipe that is not built has the same help.
for words in --help "--help all" "--minibatch 128 --help"; do
  # shellcheck disable=SC2086 # several words
  diff <("$build/bin/mlp_mnist" $words) <("$build/bin/recipe_help" mlp_mnist $words) || fail "help: $words"
done

code=0
error=$("$root/run" mlp_mnits 2>&1) || code=$?
[[ $code -eq 2 && $error == *"no recipe or tool 'mlp_mnits'; did you mean mlp_mnist?"* ]] || fail "code $code, $error"
code=0
error=$("$root/run" list_of_nothing_here 2>&1) || code=$?
[[ $code -eq 2 && $error != *"did you mean"* ]] || fail "code $code, $error"
code=0
error=$("$root/run" "" 2>&1) || code=$?
[[ $code -eq 2 && $error == *"no recipe or tool ''"* ]] || fail "code $code, $error"
if error=$(KB_BUILD_DIR=/proc/none "$root/run" cache 2>&1); then fail "built in /proc"; fi
[[ $error == *"KB_BUILD_DIR=DIR names another one"* ]] || fail "$error"
echo "every recipe and tool is listed"
