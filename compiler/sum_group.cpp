#include "compiler/sum_group.h"

namespace kb {

std::string_view name(SumGroup group) { return group == SumGroup::gradient ? "gradient" : "rest"; }

std::optional<SumGroup> sum_group(const Node& node) {
  if (node.op != Op::worker_sum || !node.attrs.has("group")) return {};
  for (const SumGroup group : kSumGroups)
    if (node.attrs.text("group") == name(group)) return group;
  throw InternalError("a worker_sum of no known group");
}

}  // namespace kb
