#include "recipes/train/load_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/train/line_diff.h"

namespace kb {
namespace {

// Returns a line with the name and type of each tensor, in the order of their names.
template <class Tensors>
std::string lines_of(const Tensors& tensors) {
  std::vector<std::string> lines;
  for (const auto& tensor : tensors)
    lines.push_back(fmt::format("{} {}{}\n", tensor.name, name(tensor.type.dtype),
                                shape_text({tensor.type.dtype, tensor.type.shape, ""})));
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, ""));
}

}  // namespace

void load_state(StateStore& store, const std::vector<NamedTensor>& tensors, const std::string& title,
                const std::string& hint) {
  const std::string differences = line_diff(lines_of(tensors), lines_of(store.views()));
  if (!differences.empty()) throw Error(fmt::format("{}\n{}{}", title, differences, hint));
  store.load(tensors);
}

}  // namespace kb
