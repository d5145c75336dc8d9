#include "recipes/train/load_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/train/line_diff.h"

namespace kb {
namespace {

// Returns a line with the name and type of each tensor that this process has, in the order of their names.
template <class Tensors>
std::string lines_of(const Tensors& tensors, const StateStore& store) {
  std::vector<std::string> lines;
  for (const auto& tensor : tensors)
    if (!store.lies_elsewhere(tensor.name))
      lines.push_back(fmt::format("{} {}{}\n", tensor.name, name(tensor.type.dtype),
                                  shape_text({tensor.type.dtype, tensor.type.shape, ""})));
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, ""));
}

}  // namespace

void load_state(StateStore& store, const std::vector<NamedTensor>& tensors, const std::string& title,
                const std::string& hint) {
  const std::string differences = line_diff(lines_of(tensors, store), lines_of(store.views(), store));
  if (!differences.empty()) throw Error(fmt::format("{}\n{}{}", title, differences, hint));
  store.load(tensors);
}

}  // namespace kb
