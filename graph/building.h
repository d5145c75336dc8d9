// Helpers that the DSL's functions share: they check arguments and make nodes of tensors.
#pragma once
#include <string_view>
#include <vector>

#include "graph/argument_checks.h"
#include "graph/functions.h"
#include "graph/report.h"
#include "graph/scope.h"

namespace kb {

// Adds one node whose inputs are `inputs`, tensors of one graph, and returns its first output. The caller has opened a
// Call (graph/scope.h).
Tensor make(Op op, const std::vector<Tensor>& inputs, Attrs attrs = {});
// Returns output number `out` of the node that `first` is an output of.
Tensor output(Tensor first, int32_t out);

// Casts bf16 and f16 to f32. A sum over many elements, their number and squares may be too large for f16 where their
// mean or norm is not.
Tensor widened(Tensor x);

// Makes a parameter of a layer of x and casts it to x's dtype; of a 16-bit x the parameter is f32.
Tensor weight_for(Tensor x, const char* name, Role role, Dims shape, const char* letters, Init init, double rate = 1);

// Throws Error in the name of `op` when `tensors` is empty, a tensor was never assigned, or two belong to different
// graphs.
void require_same_graph(std::string_view op, const std::vector<Tensor>& tensors);

}  // namespace kb
