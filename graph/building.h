// Helpers that the DSL's functions share: checks of their arguments, nodes from tensors.
#pragma once
#include <string_view>
#include <vector>

#include "graph/argument_checks.h"
#include "graph/functions.h"
#include "graph/report.h"
#include "graph/scope.h"

namespace kb {

// One node over tensors of one graph; several outputs are {node, 0}, {node, 1}, ... of it. The caller has opened a
// Call.
Tensor make(Op op, const std::vector<Tensor>& inputs, Attrs attrs = {});
// Another output of the node that gave `first`.
Tensor output(Tensor first, int32_t out);

// Throws Error unless there is a tensor, and all are of one graph.
void require_same_graph(std::string_view op, const std::vector<Tensor>& tensors);

}  // namespace kb
