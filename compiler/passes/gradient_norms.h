// Norms of a step's gradients, from which the gradient noise scale follows (McCandlish et al. 2018, appendix A.1). With
// g_j the part of worker j of k in the mean gradient g of the minibatch, g = g_1 + ... + g_k, and k g_j is the mean
// gradient over the worker's own samples. Workers::gradient_norms asks for them; with one worker there are none.
#pragma once
#include "graph/tensor.h"

namespace kb {

// Outputs [] of a training graph.
inline constexpr const char* kWorkersNorm = "gradient.workers";  // |g_1|^2 + ... + |g_k|^2
inline constexpr const char* kMeanNorm = "gradient.mean";        // |g|^2

// Sum of the squares of a vector's elements, of low precision in f32.
Tensor squared_norm(const Tensor& vector);

// `workers`: the sum of the workers' squared norms []; `gradient`: g, flat. Takes the loss scale out of both.
void add_norm_outputs(Tensor workers, const Tensor& gradient);

}  // namespace kb
