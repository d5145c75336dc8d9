// Finds the values that need no step of their own because they are views of memory that another value owns: reshapes,
// markers, and contiguous slices of a variable or input.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace kb {

// Numbers the values of a graph densely: id = first(node) + output.
class ValueIds {
 public:
  explicit ValueIds(const Graph& graph);
  int32_t operator()(Value v) const { return first_[static_cast<size_t>(v.node)] + v.out; }
  int32_t size() const { return total_; }

 private:
  std::vector<int32_t> first_;
  int32_t total_ = 0;
};

// A value and where it starts (in bytes) in the memory of the value that owns it.
struct Alias {
  Value owner;
  int64_t offset = 0;
};

// Returns the shape over which a value is computed element by element: its own, or for packed bits that of the
// booleans.
const Dims& domain_of(const Graph& graph, Value value);

// The attribute, 1, of a slice that is no view, and of a concat that its readers compute from its inputs.
inline constexpr const char* kComputed = "computed";

// True when `node`'s result is its first input seen as another shape, or a contiguous part of it.
bool is_view_op(const Graph& graph, const Node& node);
// Follows view ops down to the value that owns the memory; a slice is followed only when it ends at a variable or an
// input.
Alias resolve_alias(const Graph& graph, Value value);

}  // namespace kb
