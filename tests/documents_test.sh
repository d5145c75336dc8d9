#!/usr/bin/env bash
# documents_test.sh ROOT BUILD CXX: what the documents show is so. Every block of C++, and every call in the table of
# graph/README.md that stands beside PyTorch's, compiles; every command `./run NAME ...` has flags that NAME knows.
set -euo pipefail
root=$(realpath "$1") build=$(realpath "$2") cxx=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$root"
mapfile -t documents < <(find . -name '*.md' -not -path './build*' | sort)

# around FILE NUMBER: prints the lines of C++ that stand before and behind block NUMBER of the file, with BLOCK between.
around() {
  case $1:$2 in
    ./README.md:1) printf '%s\n' BLOCK ;;
    ./recipes/orders/README.md:1) printf '%s\n' 'void orders() {' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:1) printf '%s\n' 'void denoise(CompiledGraph& denoiser, std::vector<float> noise) {' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:2) printf '%s\n' 'ModelOutput metric(Batch& batch, Tensor logits) {' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:3)
      printf '%s\n' 'ModelOutput warm_up(Inputs& in, Tensor reconstruction, Tensor divergence) {' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:4) printf '%s\n' 'void average(Inputs& in, Tensor view, Tensor other_view, Tensor (*encoder)(Tensor)) {' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:5) printf '%s\n' 'ModelOutput sam(Inputs& in, Tensor x, Tensor y, Tensor loss, Tensor (*net)(Tensor)) {' BLOCK 'return {loss}; }' ;;
    ./recipes/tutorial/how_to.md:6)
      printf '%s\n' 'ModelOutput distil(Inputs& in, Tensor x, Tensor y, Tensor (*teacher)(Tensor), Tensor (*student)(Tensor)) {' \
        'Tensor t, logits;' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:7) printf '%s\n' BLOCK ;;
    ./recipes/tutorial/how_to.md:8) printf '%s\n' 'void draws(void (*write)(std::vector<double>)) {' BLOCK '}' ;;
    ./recipes/tutorial/how_to.md:9) printf '%s\n' 'Task fields(int64_t columns) { return Task{' BLOCK '}; }' ;;
    ./recipes/tutorial/how_to.md:10) printf '%s\n' 'ModelOutput classifier(Inputs& in) {' BLOCK '}' ;;
    *) echo "documents_test: block $2 of C++ in $1: say in this test what stands around it" >&2 && return 1 ;;
  esac
}

# block FILE NUMBER: prints the block; "{ ... }" leaves something out.
block() { awk -v number="$2" '/^```/ { inside = /^```cpp$/ && ++n == number; next } inside' "$1" | sed 's/{ \.\.\. }/{}/'; }

# calls: prints the calls in the second column of the table, a line each; what has dots in it is none.
calls() {
  sed -n 's/^| .* | \(.*\) |$/\1/p' graph/README.md | grep -o '`[^`]*`' | tr -d '`' |
    grep -E '^([a-z_0-9]+\(|[a-z]+ /|\{ )' | grep -vF '...'
}

{
  cat <<'END'
#include <cmath>
#include "compiler/passes/passes.h"
#include "graph/recurrent.h"
#include "graph/sub_network.h"
#include "graph/transformer.h"
#include "optim/update_rules.h"
#include "recipes/orders/gradient_order.h"
#include "recipes/task/model.h"
#include "recipes/tutorial/own_layers.h"
#include "runtime/evaluate.h"
#include "runtime/safetensors.h"
namespace kb {
// The table writes one letter for a tensor and for a number.
struct Letter {
  operator Tensor() const;
  operator Operand() const;
  operator int64_t() const;
};
END
  for document in "${documents[@]}"; do
    count=$(grep -c '^```cpp$' "$document" || true)
    for ((number = 1; number <= count; ++number)); do
      around "$document" "$number" >"$folder/around"
      sed '/^BLOCK$/,$d' "$folder/around"
      line=$(grep -n '^```cpp$' "$document" | sed -n "${number}s/:.*//p")
      echo "#line $((line + 1)) \"$document\""
      block "$document" "$number"
      sed '1,/^BLOCK$/d' "$folder/around"
    done
  done
  echo 'void table(Tensor x, Tensor y, Tensor a, Tensor b, Tensor q, Tensor v, Tensor i, Tensor u, Tensor s, Tensor loss,'
  echo '           Tensor memory, Tensor table, Tensor indices, Letter c, Letter k, Letter m, Letter n, int64_t h, int64_t w,'
  echo '           int64_t t, int64_t rows, Tensor (*d)(Tensor)) {'
  calls | sed 's/.*/{ &; }/'
  echo '}'
  echo '}  // namespace kb'
} >"$folder/documents.cpp"
[[ $(calls | wc -l) -ge 60 ]] || { echo "documents_test: few calls in the table: $(calls)" >&2 && exit 1; }
"$cxx" -std=c++20 -fsyntax-only -I "$root" "$folder/documents.cpp"

# known NAME [RECIPE]: prints the flags of a recipe, or of a tool beside a recipe; RECIPE stands for each of them.
known() {
  if [[ $1 == RECIPE ]]; then
    for recipe in $recipes; do known "$recipe"; done | sort -u
    return
  fi
  local program=("$build/bin/$1")
  [[ -x $build/bin/$1 && ! $recipes == *" $1 "* ]] || program=("$build/bin/recipe_help" "$1")
  local help
  help=$("${program[@]}" ${2:+"$2"} --help all)
  [[ $help != *"RECIPE --help explains the flags"* ]] || help=$("${program[@]}" resnet_cifar --help all)
  grep -oE '^ +--[a-z][a-z0-9-]*' <<<"$help" | tr -d ' '
}
recipes=" $(sed -n 's,^KB_RECIPE(\(.*\))$,\1,p' recipes/papers/recipes.inc | xargs) "

# A command ends with its code, a comment or a pipe; words behind "--" are those of another program.
declare -A flags
commands=0
while IFS=: read -r document command; do
  command=${command%% -- *}
  read -r _ name second _ <<<"$command"
  [[ $name =~ ^(test|get|list|help)$ ]] && continue
  [[ $name != NAME ]] || name=RECIPE
  [[ ! ${second:-} =~ ^(RECIPE|NAME)$ ]] || second=resnet_cifar
  [[ $recipes == *" ${second:-} "* ]] || second=
  [[ -n ${flags[$name $second]:-} ]] || flags[$name $second]=$(known "$name" "$second")
  commands=$((commands + 1))
  for flag in $(grep -oE -- ' --[a-z][a-z0-9-]*' <<<"$command"); do
    grep -qx -- "$flag" <<<"${flags[$name $second]}" ||
      { echo "documents_test: $document: $name ${second} has no flag $flag: $command" >&2 && exit 1; }
  done
done < <(grep -oE '\./run [a-zA-Z_]+[^`#|;&>)]*' "${documents[@]}")
((commands >= 100)) || { echo "documents_test: only $commands commands in the documents" >&2 && exit 1; }
