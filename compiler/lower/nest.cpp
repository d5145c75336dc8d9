#include "compiler/lower/nest.h"

#include <algorithm>

namespace kb {
namespace {

// Returns whether an access steps along `outer` by inner_extent times its step along `inner`, as one axis does.
bool steps_as_one(const std::vector<Term>& leaves, int32_t outer, int32_t inner, int64_t inner_extent) {
  int64_t outer_factor = 0, inner_factor = 0;
  for (const Term& term : leaves) {
    if (term.atom != outer && term.atom != inner) continue;
    if (term.factor == 0) return false;
    (term.atom == outer ? outer_factor : inner_factor) += term.factor;
  }
  return outer_factor == inner_factor * inner_extent;
}

bool reads(const std::vector<Term>& leaves, int32_t atom) {
  return std::any_of(leaves.begin(), leaves.end(), [&](const Term& term) { return term.atom == atom; });
}

// The accesses to memory that are recorded when the group is lowered once with a symbol for the index of each axis.
struct Probe {
  std::vector<int32_t> atoms;  // atom of each axis; -1 if its extent is 1
  std::vector<std::vector<Term>> accesses;
  std::vector<bool> accesses_as_number;
};

Probe probe(const Context& context, const Visit& visit) {
  Context cx(context.graph, context.group, context.target, "probe");
  Expression expression(cx);
  std::vector<Context::Note> notes;
  cx.notes = &notes;
  Probe seen;
  cx.b.phase([&] {
    Indices at;
    for (size_t axis = 0; axis < context.group.domain.size(); ++axis) {
      const int64_t extent = context.group.domain[axis];
      const int64_t most = axis == 0 && extent > 1 ? IndexMath::kUnbounded : extent - 1;
      at.push_back(cx.math.of(cx.argument("axis " + std::to_string(axis), 0), most));
      seen.atoms.push_back(extent == 1 ? -1 : at.back().terms[0].atom);
    }
    visit(cx, expression, at);
  });
  for (const Context::Note& note : notes) {
    seen.accesses.push_back(cx.math.leaves(note.index));
    seen.accesses_as_number.push_back(note.as_number);
  }
  return seen;
}

bool joins(const Probe& seen, size_t outer, size_t inner, int64_t inner_extent) {
  for (size_t i = 0; i < seen.accesses.size(); ++i) {
    const auto& leaves = seen.accesses[i];
    if (seen.accesses_as_number[i] ? reads(leaves, seen.atoms[outer]) || reads(leaves, seen.atoms[inner])
                                   : !steps_as_one(leaves, seen.atoms[outer], seen.atoms[inner], inner_extent))
      return false;
  }
  return true;
}

}  // namespace

Nest make_nest(const Context& context, const Visit& visit) {
  const Probe seen = probe(context, visit);
  const Group& group = context.group;
  Nest nest{group.domain, {}};
  for (size_t axis = 0; axis < group.domain.size(); ++axis) {
    const int64_t extent = group.domain[axis];
    if (extent == 1) continue;
    const bool reduced = std::find(group.axes.begin(), group.axes.end(), axis) != group.axes.end();
    Dim* last = nest.dims.empty() ? nullptr : &nest.dims.back();
    if (last && last->reduced == reduced && joins(seen, last->axes.back(), axis, extent)) {
      last->extent *= extent;
      last->axes.push_back(axis);
    } else {
      nest.dims.push_back({extent, reduced, axis == 0, {axis}});
    }
  }
  return nest;
}

Indices Nest::domain_index(IndexMath& math, const Indices& at) const {
  Indices result(domain.size(), IndexMath::literal(0));
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<int64_t> shape;
    for (const size_t axis : dims[d].axes) shape.push_back(domain[axis]);
    const Indices parts = math.unflatten(at[d], shape);
    for (size_t i = 0; i < parts.size(); ++i) result[dims[d].axes[i]] = parts[i];
  }
  return result;
}

Index Nest::kept_position(IndexMath& math, const Indices& at) const {
  Indices kept;
  std::vector<int64_t> shape;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].reduced) continue;
    kept.push_back(at[d]);
    shape.push_back(dims[d].extent);
  }
  return math.flatten(kept, shape);
}

int64_t Nest::kept_elements() const {
  int64_t product = 1;
  for (const Dim& dim : dims) product *= dim.reduced ? 1 : dim.extent;
  return product;
}

int64_t Nest::reduced_elements() const {
  int64_t product = 1;
  for (const Dim& dim : dims) product *= dim.reduced ? dim.extent : 1;
  return product;
}

Extent extent_of(Context& context, const Dim& dim) {
  if (!dim.dynamic) return context.literal(dim.extent);
  int64_t multiple = 1;
  for (size_t i = 1; i < dim.axes.size(); ++i) multiple *= context.group.domain[dim.axes[i]];
  // On a GPU `lower` chooses the lanes of a single axis by its extent, so the kernel may rely on lanes that divide it.
  const int64_t lanes = context.b.lanes();
  if (context.target.processor == Processor::gpu && context.group.domain.size() == 1 && dim.extent % lanes == 0)
    multiple = lanes;
  return {0, context.argument("extent", dim.extent), multiple};
}

}  // namespace kb
