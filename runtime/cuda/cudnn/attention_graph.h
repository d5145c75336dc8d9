// Attention as cuDNN's operation graphs, in the form that its flash kernels recognise: the scores are never in memory.
// Forward it gives the result and each row's log-sum-exp, from which the backward graph computes the weights again.
#pragma once
#include "runtime/cuda/cudnn/device.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

// Unique ids of the tensors of both graphs. The last three are numbers that cuDNN reads on the host.
enum AttentionTensor : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kLogSumExp,
  kQueryLengths,
  kKeyLengths,
  kOutputGrad,
  kQueryGrad,
  kKeyGrad,
  kValueGrad,
  kRowSums,  // sums over a row of dO * O, f32 [N, heads, T, 1]: memory that the backward graph needs
  kScale,
  kMinusInfinity,
  kOne,
  kFirstVirtual
};

// Returns the bytes of kRowSums.
inline int64_t row_sums_bytes(const AttentionSpec& spec) { return spec.n * spec.heads * spec.t * 4; }

// Makes the graph of the forward pass, or of the backward pass. The backward graph adds each element of dQ in a fixed
// order: the gradients of all scores lie in its workspace, n heads T S x 2 bytes.
Descriptor attention_graph(const AttentionSpec& spec, const PlanDevice& device);

}  // namespace kb::cudnn
