#include "runtime/cuda/cudnn/conv_graph.h"

#include <array>

#include "graph/error.h"
#include "runtime/cuda/alignment.h"

namespace kb::cudnn {
namespace {

using Extents = std::array<int64_t, 4>;  // extents N, C, H, W; of a filter O, I, H, W

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDNN_DATA_DOUBLE;
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      throw InternalError("convolution: not a float dtype");
  }
}

// Returns the type in which sums and epilogues are computed.
cudnnDataType_t sum_type(const ConvSpec& spec) {
  return spec.dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

Extents strides(const Extents& e, bool channels_last) {
  if (channels_last) return {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
  return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
}

Descriptor tensor(int64_t id, cudnnDataType_t type, const Extents& extents, bool channels_last, bool is_virtual) {
  Descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides(extents, channels_last))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, cuda::kOperandAlignment)
      .set_flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
      .finalize();
  return result;
}

bool channels_last(int64_t channels, int64_t block) {
  ensure(block == channels || block == 1, "convolution: cuDNN reads NCHW or NHWC, no channels in blocks");
  return block == channels;
}

struct ConvTensors {
  Descriptor image, filter, result;
};

ConvTensors conv_tensors(const ConvSpec& spec) {
  const cudnnDataType_t type = data_type(spec.dtype);
  const bool weight_grad = spec.kind == ConvKind::weight_grad;
  const cudnnDataType_t filter = weight_grad && spec.wide ? sum_type(spec) : type;
  ensure(!spec.relu, "convolution: a relu, which a GPU's kernels compute");
  const bool fused = spec.bias;
  return {tensor(kImage, type, {spec.n, spec.c, spec.h, spec.w}, channels_last(spec.c, spec.block_in), false),
          tensor(kFilter, filter, {spec.o, spec.c / spec.groups, spec.kh, spec.kw}, spec.weights_last, false),
          tensor(fused ? kBias + 1 : kResult, fused ? sum_type(spec) : type,
                 {spec.n, spec.o, spec.out_h(), spec.out_w()}, channels_last(spec.o, spec.block_out), fused)};
}

Descriptor window(const ConvSpec& spec) {
  Descriptor result(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  result.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, sum_type(spec))
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spec.stride)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spec.dilation)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spec.padding)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spec.padding)
      .finalize();
  return result;
}

// cuDNN's names for one kind of convolution and its attributes.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, window, filter, image, result;
};

Names names(ConvKind kind) {
  switch (kind) {
    case ConvKind::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    case ConvKind::input_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case ConvKind::weight_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
  }
  throw InternalError("convolution: no such kind");
}

// Makes the operation y = x + b.
Descriptor addition(cudnnDataType_t type, const Descriptor& x, const Descriptor& b, const Descriptor& y) {
  const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  Descriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, type)
      .finalize();
  Descriptor result(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  result.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y)
      .finalize();
  return result;
}

}  // namespace

Descriptor conv_operation(const ConvSpec& spec, const Descriptor& image, const Descriptor& filter,
                          const Descriptor& y) {
  const Names n = names(spec.kind);
  Descriptor result(n.type);
  const double one = 1, zero = 0;
  const float one32 = 1, zero32 = 0;
  if (spec.dtype == DType::f64)
    result.set(n.alpha, CUDNN_TYPE_DOUBLE, 1, &one).set(n.beta, CUDNN_TYPE_DOUBLE, 1, &zero);
  else
    result.set(n.alpha, CUDNN_TYPE_FLOAT, 1, &one32).set(n.beta, CUDNN_TYPE_FLOAT, 1, &zero32);
  result.set(n.window, window(spec)).set(n.filter, filter).set(n.image, image).set(n.result, y).finalize();
  return result;
}

Descriptor conv_graph(const ConvSpec& spec, const PlanDevice& device) {
  const ConvTensors tensors = conv_tensors(spec);
  const Descriptor conv = conv_operation(spec, tensors.image, tensors.filter, tensors.result);
  if (!spec.bias) return device.graph_of(std::array{&conv});
  const bool last = channels_last(spec.o, spec.block_out);
  const cudnnDataType_t type = data_type(spec.dtype);
  const Descriptor bias = tensor(kBias, type, {1, spec.o, 1, 1}, last, false);
  const Descriptor sum = tensor(kResult, type, {spec.n, spec.o, spec.out_h(), spec.out_w()}, last, false);
  const Descriptor add = addition(sum_type(spec), tensors.result, bias, sum);
  return device.graph_of(std::array{&conv, &add});
}

}  // namespace kb::cudnn
