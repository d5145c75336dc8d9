// A convolution as cuDNN's operation graph: one operation, and behind a forward convolution the bias and ReLU of its
// epilogue as point-wise operations that cuDNN fuses.
#pragma once
#include "runtime/cuda/cudnn/device.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

// Unique ids of the tensors that a plan of this graph reads and writes. `image` has the spec's c channels (x, dx),
// `result` its o (y, dy); `filter` is w or dw.
enum Tensor : int64_t { kImage = 1, kFilter = 2, kResult = 3, kBias = 4 };

// The bias has the result's dtype.
inline int64_t bias_bytes(const ConvSpec& spec) { return spec.o * size_of(spec.dtype); }

// One convolution, or gradient of it, between these tensors, as an operation of a graph; it computes in f32, of f64 in
// that. `result`: y, of a gradient dy.
Descriptor conv_operation(const ConvSpec& spec, const Descriptor& image, const Descriptor& filter,
                          const Descriptor& result);

// Throws InternalError for a spec that cuDNN has no words for: activations in blocks.
Descriptor conv_graph(const ConvSpec& spec, const DeviceChoice& device);

}  // namespace kb::cudnn
