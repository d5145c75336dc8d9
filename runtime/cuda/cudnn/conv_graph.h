// A convolution as cuDNN's operation graph: one operation, and after a forward convolution the bias of its epilogue, as
// a point-wise operation that cuDNN fuses with it.
#pragma once
#include "runtime/cuda/cudnn/device.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

// Unique ids of the tensors that a plan of this graph reads and writes. `image` has the spec's c channels (x or dx),
// `result` its o channels (y or dy); `filter` is w or dw.
enum Tensor : int64_t { kImage = 1, kFilter = 2, kResult = 3, kBias = 4 };

// The bias has the result's dtype.
inline int64_t bias_bytes(const ConvSpec& spec) { return spec.o * size_of(spec.dtype); }

// Returns one convolution, or a gradient of it, between these tensors, as an operation of a graph. It computes in f32,
// or in f64 for f64. `result` is y, or dy for a gradient.
Descriptor conv_operation(const ConvSpec& spec, const Descriptor& image, const Descriptor& filter,
                          const Descriptor& result);

// Throws InternalError for a spec that cuDNN cannot express: activations in blocks.
Descriptor conv_graph(const ConvSpec& spec, const PlanDevice& device);

}  // namespace kb::cudnn
