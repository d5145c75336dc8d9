// Norms of a step's gradients, from which the gradient noise scale follows (McCandlish et al. 2018, appendix A.1). With
// g_j the part of worker j of k in the mean gradient g of the minibatch, g = g_1 + ... + g_k, and k g_j is the mean
// gradient over the worker's own samples. Workers::gradient_norms asks for them; with one worker there are none.
#pragma once
#include "graph/tensor.h"

namespace kb {

// Names of scalar outputs, shape [], of a training graph.
inline constexpr const char* kWorkersNorm = "gradient.workers";  // |g_1|^2 + ... + |g_k|^2
inline constexpr const char* kMeanNorm = "gradient.mean";        // |g|^2

// Returns the sum of the squares of a vector's elements, shape []; it is computed in f32 for 16-bit elements.
Tensor squared_norm(const Tensor& vector);

// Adds both outputs to the graph. `workers`, shape [], is the sum of the workers' squared norms; `gradient` is the flat
// vector g. Divides the loss scale out of both, and `divisor`, shape [] or invalid, the count by which the update
// divides the gradient (Objective::count).
void add_norm_outputs(Tensor workers, const Tensor& gradient, const Tensor& divisor);

}  // namespace kb
