// Short forms of nodes that passes add to a graph.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace kb {

Value reshaped(Graph& graph, Value value, Dims shape);
// Returns the values one after the other along their leading axis; a value alone as it is.
Value joined(Graph& graph, const std::vector<Value>& values);
// Returns the elements [begin, end) of a vector.
Value part_of(Graph& graph, Value vector, int64_t begin, int64_t end);
Value constant_zeros(Graph& graph, DType dtype, Dims shape);
// Returns the scalar input `name` of the step; adds it to the graph if it is missing.
Value step_scalar(Graph& graph, const std::string& name, DType dtype);

}  // namespace kb
