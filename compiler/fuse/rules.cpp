// The rules of fusion, in the order in which they are asked.
#include "compiler/fuse/rules.h"

#include <algorithm>

#include "compiler/fuse/domain.h"

namespace kb {
namespace {

constexpr int64_t kLeastShared = 512, kMostShared = 2048;  // least and most elements of a long row (makes_rows)

// Returns whether there are few elements for each index of the leading axis (samples), as in sums of losses.
bool small_rows(const Dims& domain) { return domain.empty() || element_count(domain) <= 64 * domain[0]; }

// A point-wise node joins a point-wise launch over its own domain if it reads one of its results, if the two are
// near in the graph and share a large input, or if they are next door to each other.
bool joins_pointwise(const Joining& joining) {
  if (joining.reduces() || !joining.into.group.axes.empty()) return false;
  if (domain_of(joining.drafts.graph(), {joining.n, 0}) != joining.domain() || !joining.stays_in_place()) return false;
  return joining.inside.meets_group || (joining.is_near() && joining.shares_input()) || joining.is_next_door();
}

// A point-wise node joins a launch over its own domain whose rows stay in cache if the two are near in the graph, and
// it reads the launch's results at its own row or both share a large input: the row is then read from memory once. One
// that stands far behind is computed where it is read, as what recompute computes again in backward: a softmax that
// forward wrote a second time would be kept until then.
bool joins_rows(const Joining& joining) {
  if (joining.reduces() || !joining.into.rows || joining.node().type().shape != joining.domain()) return false;
  const bool related = joining.inside.meets_group || joining.shares_input();
  return joining.is_near() && related && joining.stays_in_place();
}

// A reduction of long rows joins a point-wise launch whose results it reads, which thereby becomes a launch of rows. A
// row is long if it is work for all threads of one block of a GPU, but not for several blocks.
bool makes_rows(const Joining& joining) {
  if (!joining.reduces_domain() || joining.into.group.cls != FusionClass::pointwise) return false;
  const int64_t row = row_elements(joining.domain(), reduced_axes(joining.node()));
  return row >= kLeastShared && row <= kMostShared && joining.inside.meets_group && joining.stays_in_place();
}

// A reduction of columns joins a point-wise launch on a GPU whose results it reads, which thereby becomes a launch of
// columns: an element is written, and added to its column's sums, in one pass over memory.
bool makes_columns(const Joining& joining) {
  if (!joining.drafts.on_gpu() || !joining.reduces_domain() || joining.into.group.cls != FusionClass::pointwise)
    return false;
  return reduction_class(joining.domain(), reduced_axes(joining.node())) == FusionClass::column_reduce &&
         joining.inside.meets_group && joining.stays_in_place();
}

// A point-wise node joins the launch of a reduction as its finish if it reads the reduction's result, has as many
// elements as the result, and computes nothing larger inside itself.
bool joins_finish(const Joining& joining) {
  const Group& group = joining.into.group;
  if (joining.reduces() || group.axes.empty() || !joining.inside.meets_group) return false;
  const int64_t kept = joining.node().type().elements();
  if (kept != kept_elements(group.domain, group.axes) || !joining.stays_in_place()) return false;
  const std::vector<int32_t>& nodes = joining.inside.nodes;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](int32_t m) { return joining.drafts.node(m).type().elements() <= kept; });
}

// A reduction joins another over the same domain and axes if it reads that one's results and rows stay in cache, if it
// reads what a pass over columns writes, if the two are near in the graph and share a large input, or if they are next
// door and rows stay in cache or are small. One pass over memory then serves both.
bool joins_reductions(const Joining& joining) {
  if (!joining.reduces_domain() || reduced_axes(joining.node()) != joining.into.group.axes) return false;
  if (joining.inside.meets_group)
    return (joining.into.rows || joining.into.group.cls == FusionClass::column_reduce) && joining.stays_in_place();
  if (joining.is_next_door() && (joining.into.rows || small_rows(joining.domain()))) return true;
  return joining.is_near() && joining.shares_input();
}

using Rule = bool (*)(const Joining& joining);
constexpr Rule kFusionRules[] = {joins_pointwise, joins_rows,   makes_rows,
                                 makes_columns,   joins_finish, joins_reductions};

}  // namespace

bool joins(const Joining& joining) {
  return std::ranges::any_of(kFusionRules, [&](Rule rule) { return rule(joining); });
}

}  // namespace kb
