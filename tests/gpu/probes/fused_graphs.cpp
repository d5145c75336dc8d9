#include "tests/gpu/probes/fused_graphs.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <deque>

#include "graph/error.h"
#include "runtime/cuda/alignment.h"
#include "runtime/cuda/cudnn/conv_graph.h"

namespace kb::cudnn {
namespace {

using Extents = std::array<int64_t, 4>;  // extents N, C, H, W; of a filter O, I, H, W

int64_t elements(const Extents& e) { return e[0] * e[1] * e[2] * e[3]; }

DType dtype_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? DType::f32 : type == CUDNN_DATA_HALF ? DType::f16 : DType::bf16;
}
int64_t bytes_of(cudnnDataType_t type, const Extents& extents) {
  return elements(extents) * (type == CUDNN_DATA_FLOAT ? 4 : 2);
}

// A graph that is being built: tensors that lie in memory, and tensors that only pass from op to op. All have channels
// last.
class Draft {
 public:
  explicit Draft(cudnnDataType_t type) : type_(type) {}

  const Descriptor& stored(const Extents& extents) { return stored(extents, type_); }
  const Descriptor& stored(const Extents& extents, cudnnDataType_t type) {
    operands_.push_back({static_cast<int64_t>(tensors_.size()) + 1, bytes_of(type, extents), dtype_of(type)});
    return tensor(extents, type, false);
  }
  const Descriptor& passed(const Extents& extents) { return tensor(extents, CUDNN_DATA_FLOAT, true); }
  // Before a convolution, cuDNN passes on only tensors of the convolution's own type.
  const Descriptor& passed_before(const Extents& extents) { return tensor(extents, type_, true); }

  void convolution(const ConvSpec& spec, const Descriptor& image, const Descriptor& filter, const Descriptor& result);
  // Adds y = x op b.
  void pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y);
  // Adds dx = dy where x > 0, else 0.
  void mask(const Descriptor& dy, const Descriptor& x, const Descriptor& dx);
  void sum(const Descriptor& x, const Descriptor& y);
  void statistics(const Descriptor& x, const Descriptor& sum, const Descriptor& squares);

  FusedGraph finish(const PlanDevice& device) {
    std::vector<const Descriptor*> operations;
    for (const Descriptor& operation : operations_) operations.push_back(&operation);
    return {device.graph_of(operations), operands_, 0};
  }

 private:
  const Descriptor& tensor(const Extents& e, cudnnDataType_t type, bool is_virtual) {
    Descriptor& result = tensors_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const Extents strides = {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
    result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<int64_t>(tensors_.size()))
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(e))
        .set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const int64_t>(strides))
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, cuda::kOperandAlignment)
        .set_flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
        .finalize();
    return result;
  }
  Descriptor pointwise_kind(cudnnPointwiseMode_t mode) const {
    Descriptor result(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    result.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
        .finalize();
    return result;
  }

  cudnnDataType_t type_;
  std::deque<Descriptor> tensors_;  // a deque, so that addresses stay valid
  std::vector<Descriptor> operations_;
  std::vector<Operand> operands_;
};

void Draft::convolution(const ConvSpec& spec, const Descriptor& image, const Descriptor& filter,
                        const Descriptor& result) {
  operations_.push_back(conv_operation(spec, image, filter, result));
}

void Draft::pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y) {
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise_kind(mode))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  operation.finalize();
}

void Draft::mask(const Descriptor& dy, const Descriptor& x, const Descriptor& dx) {
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise_kind(CUDNN_POINTWISE_RELU_BWD))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, dx)
      .finalize();
}

void Draft::sum(const Descriptor& x, const Descriptor& y) {
  const cudnnReduceTensorOp_t add = CUDNN_REDUCE_TENSOR_ADD;
  Descriptor kind(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &add)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .finalize();
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind)
      .finalize();
}

void Draft::statistics(const Descriptor& x, const Descriptor& sum, const Descriptor& squares) {
  const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode)
      .set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sum)
      .set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares)
      .finalize();
}

// ---- making the fusions

struct Shapes {
  Extents image, filter, result;
};

Shapes shapes(const ConvSpec& s) {
  return {{s.n, s.c, s.h, s.w}, {s.o, s.c, s.kh, s.kw}, {s.n, s.o, s.out_h(), s.out_w()}};
}

Extents channels(const Extents& e) { return {1, e[1], 1, 1}; }

// Adds relu(scale * x + shift) of an x in memory.
const Descriptor& applied(Draft& draft, const Extents& image, cudnnDataType_t parameters) {
  const Descriptor& x = draft.stored(image);
  const Descriptor& scale = draft.stored(channels(image), parameters);
  const Descriptor& shift = draft.stored(channels(image), parameters);
  const Descriptor &scaled = draft.passed_before(image), &shifted = draft.passed_before(image),
                   &result = draft.passed_before(image);
  draft.pointwise(CUDNN_POINTWISE_MUL, x, &scale, scaled);
  draft.pointwise(CUDNN_POINTWISE_ADD, scaled, &shift, shifted);
  draft.pointwise(CUDNN_POINTWISE_RELU_FWD, shifted, nullptr, result);
  return result;
}

void add_sums(Draft& draft, Fusion fusion, const Descriptor& y, const Extents& extents) {
  const Descriptor& sum = draft.stored(channels(extents), CUDNN_DATA_FLOAT);
  if (fusion == Fusion::sums) return draft.sum(y, sum);
  const Descriptor& squares = draft.stored(channels(extents), CUDNN_DATA_FLOAT);
  if (fusion != Fusion::sums_and_squares) return draft.statistics(y, sum, squares);
  const Descriptor& square = draft.passed(extents);
  draft.sum(y, sum);
  draft.pointwise(CUDNN_POINTWISE_MUL, y, &y, square);
  draft.sum(square, squares);
}

void forward(Draft& draft, const FusedCase& fused, cudnnDataType_t type) {
  const Shapes s = shapes(fused.spec);
  const Fusion f = fused.fusion;
  const bool applies = f == Fusion::apply || f == Fusion::apply_f32 || f == Fusion::apply_statistics;
  const Descriptor& image =
      applies ? applied(draft, s.image, f == Fusion::apply_f32 ? CUDNN_DATA_FLOAT : type) : draft.stored(s.image);
  const Descriptor& filter = draft.stored(s.filter);
  const Descriptor& y = draft.stored(s.result);
  draft.convolution(fused.spec, image, filter, y);
  if (f != Fusion::apply && f != Fusion::apply_f32) add_sums(draft, f, y, s.result);
}

void weight_grad(Draft& draft, const FusedCase& fused, cudnnDataType_t type) {
  const Shapes s = shapes(fused.spec);
  const Descriptor& image = applied(draft, s.image, type);
  const Descriptor& dy = draft.stored(s.result);
  draft.convolution(fused.spec, image, draft.stored(s.filter), dy);
}

void input_grad(Draft& draft, const FusedCase& fused) {
  const Shapes s = shapes(fused.spec);
  const Descriptor &dy = draft.stored(s.result), &filter = draft.stored(s.filter);
  const Descriptor& plain = draft.passed(s.image);
  draft.convolution(fused.spec, plain, filter, dy);
  const Descriptor* sum = &plain;
  if (fused.fusion != Fusion::input_grad_sums) {
    const bool last = fused.fusion == Fusion::input_grad_add;
    const Descriptor& other = draft.stored(s.image);
    sum = last ? &draft.stored(s.image) : &draft.passed(s.image);
    draft.pointwise(CUDNN_POINTWISE_ADD, plain, &other, *sum);
    if (last) return;
  }
  const Descriptor &saved = draft.stored(s.image), &dx = draft.stored(s.image);
  draft.mask(*sum, saved, dx);
  if (fused.fusion != Fusion::input_grad_sums) return;
  const Descriptor& product = draft.passed(s.image);
  draft.sum(dx, draft.stored(channels(s.image), CUDNN_DATA_FLOAT));
  draft.pointwise(CUDNN_POINTWISE_MUL, dx, &saved, product);
  draft.sum(product, draft.stored(channels(s.image), CUDNN_DATA_FLOAT));
}

// Returns the bytes that separate kernels read and write of the image and the result.
int64_t apart_bytes(const FusedCase& fused) {
  const int64_t image = 2 * input_elements(fused.spec), result = 2 * output_elements(fused.spec);
  switch (fused.fusion) {
    case Fusion::sums:
    case Fusion::sums_and_squares:
    case Fusion::statistics:
      return result;
    case Fusion::apply:
    case Fusion::apply_f32:
    case Fusion::apply_weight_grad:
      return 2 * image;
    case Fusion::apply_statistics:
      return 2 * image + result;
    case Fusion::input_grad_add:
    case Fusion::input_grad_sums:
      return 3 * image;
    case Fusion::input_grad_mask:
      return 4 * image;
  }
  throw InternalError("fused graphs: no such fusion");
}

ConvKind kind_of(Fusion fusion) {
  if (fusion == Fusion::apply_weight_grad) return ConvKind::weight_grad;
  return fusion >= Fusion::input_grad_add ? ConvKind::input_grad : ConvKind::forward;
}

}  // namespace

const char* name(Fusion fusion) {
  constexpr const char* kNames[] = {"conv + sums",        "conv + sums, squares", "conv + statistics",
                                    "apply -> conv",      "apply (f32) -> conv",  "apply -> conv + statistics",
                                    "apply -> wgrad",     "dgrad + add",          "dgrad + add + mask",
                                    "dgrad + mask + sums"};
  return kNames[static_cast<int>(fusion)];
}

std::string text(const FusedCase& fused) {
  const ConvSpec& s = fused.spec;
  return fmt::format("{:<26} {:<4} {}x{} {:>3} -> {:<3} at {}x{}, n {}", name(fused.fusion), name(s.dtype), s.kh, s.kw,
                     s.c, s.o, s.h, s.w, s.n);
}

std::vector<FusedCase> resnet50_cases(std::span<const DType> dtypes) {
  std::vector<FusedCase> cases;
  for (const DType dtype : dtypes)
    for (int which = 0; which < kFusions; ++which)
      for (const auto& [c, o, kernel] : {std::array<int64_t, 3>{256, 64, 1}, {64, 64, 3}, {64, 256, 1}}) {
        const auto fusion = static_cast<Fusion>(which);
        ConvSpec s{.kind = kind_of(fusion), .dtype = dtype, .n = 256, .c = c, .h = 56, .w = 56};
        s.o = o, s.kh = s.kw = kernel;
        s.padding[0] = s.padding[1] = kernel / 2;
        s.block_in = c, s.block_out = o;
        s.weights_last = true, s.wide = false;
        cases.push_back({fusion, s});
      }
  return cases;
}

FusedGraph fused_graph(const FusedCase& fused, const PlanDevice& device) {
  const cudnnDataType_t type = fused.spec.dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  Draft draft(type);
  switch (fused.spec.kind) {
    case ConvKind::forward:
      forward(draft, fused, type);
      break;
    case ConvKind::weight_grad:
      weight_grad(draft, fused, type);
      break;
    case ConvKind::input_grad:
      input_grad(draft, fused);
      break;
  }
  FusedGraph result = draft.finish(device);
  result.apart_bytes = apart_bytes(fused);
  return result;
}

FusedAnswer ask(const Descriptor& graph, const PlanDevice& device, size_t most) {
  struct Rules {
    bool deterministic, compiled_later;
    const char* text;
  };
  constexpr Rules kRules[] = {{true, false, ""},
                              {true, true, ", compiled when it is planned"},
                              {false, true, ", compiled when it is planned, not deterministic"}};
  const auto start = std::chrono::steady_clock::now();
  FusedAnswer answer;
  for (const Rules& rules : kRules) {
    answer.plans = candidates(graph, device, {rules.deterministic, true, rules.compiled_later, kWorkspaceLimit},
                              rules.compiled_later ? 1 : most);
    if (answer.plans.empty()) continue;
    answer.how = "engine " + answer.plans.front().pick + rules.text;
    break;
  }
  char message[65536] = "";
  if (answer.plans.empty()) {
    cudnnGetLastErrorString(message, sizeof message);
    answer.how = *message ? message : "no engine of cuDNN's takes it";
  }
  answer.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

}  // namespace kb::cudnn
