#include "runtime/cuda/cudnn/attention_graph.h"

#include <array>
#include <deque>

#include "graph/error.h"
#include "runtime/cuda/alignment.h"

namespace kb::cudnn {
namespace {

using Extents = std::array<int64_t, 4>;  // extents and strides: N, heads, rows, columns

constexpr int64_t kRows = 2, kColumns = 3;

Extents packed(const Extents& e) { return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1}; }
Extents transposed(const Extents& e) { return {e[0], e[1], e[3], e[2]}; }

// A graph that is being built. Tensors that only pass from one operation to the next have ids of their own.
class Draft {
 public:
  explicit Draft(const AttentionSpec& spec)
      : type_(spec.dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF),
        scores_{spec.n, spec.heads, spec.t, spec.s},
        rows_{spec.n, spec.heads, spec.t, 1} {
    ensure(is_low_precision(spec.dtype), "attention: cuDNN's flash kernels take 16 bits");
  }

  cudnnDataType_t type() const { return type_; }

  // Makes a tensor in memory: of heads of `width` features that lie beside each other, [N, length, heads, width].
  const Descriptor& heads(int64_t id, int64_t length, int64_t width) {
    return tensor(id, type_, head_extents(length, width), head_strides(length, width), false);
  }
  // Makes the same as matrices (width, length).
  const Descriptor& heads_transposed(int64_t id, int64_t length, int64_t width) {
    return tensor(id, type_, transposed(head_extents(length, width)), transposed(head_strides(length, width)), false);
  }
  // Makes one f32 a row, in memory.
  const Descriptor& row_values(int64_t id) { return tensor(id, CUDNN_DATA_FLOAT, rows_, packed(rows_), false); }
  // Makes one i32 a sample, in memory.
  const Descriptor& lengths(int64_t id) {
    return tensor(id, CUDNN_DATA_INT32, {scores_[0], 1, 1, 1}, {1, 1, 1, 1}, false);
  }
  // Makes one f32 that the host passes.
  const Descriptor& number(int64_t id) { return tensor(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true); }

  // Make tensors that only pass from one operation to the next.
  const Descriptor& scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) { return passed(type, scores_, packed(scores_)); }
  const Descriptor& row() { return passed(CUDNN_DATA_FLOAT, rows_, packed(rows_)); }
  const Descriptor& passed(cudnnDataType_t type, const Extents& extents, const Extents& strides) {
    return tensor(next_++, type, extents, strides, true);
  }
  // Makes a product of two tensors of heads, element by element.
  const Descriptor& head_product(int64_t length, int64_t width) {
    return passed(CUDNN_DATA_FLOAT, head_extents(length, width), packed(head_extents(length, width)));
  }

  // Each adds an operation and returns its result.
  const Descriptor& pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y,
                              cudnnDataType_t computed_in = CUDNN_DATA_FLOAT, int64_t axis = -1,
                              const Descriptor* chosen_by = nullptr);
  const Descriptor& reduce(cudnnReduceTensorOp_t by, const Descriptor& x, const Descriptor& y);
  // `x` as matrices transposed.
  const Descriptor& transpose(const Descriptor& x, const Descriptor& y);

  const Descriptor& scaled(const Descriptor& x, const Descriptor& scale) {
    return pointwise(CUDNN_POINTWISE_MUL, x, &scale, scores());
  }
  const Descriptor& index(const Descriptor& x, int64_t axis, cudnnDataType_t computed_in) {
    return pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, scores(CUDNN_DATA_INT32), computed_in, axis);
  }
  const Descriptor& truth(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& b) {
    return pointwise(mode, x, &b, scores(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
  }
  // Puts minus infinity where `seen` is false.
  const Descriptor& where(const Descriptor& seen, const Descriptor& x, const Descriptor& otherwise) {
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, &otherwise, scores(), CUDNN_DATA_FLOAT, -1, &seen);
  }

  // The lengths of queries and keys bound the products that follow.
  void bound(const Descriptor* queries, const Descriptor* keys) { queries_ = queries, keys_ = keys; }
  const Descriptor* queries() const { return queries_; }
  const Descriptor* keys() const { return keys_; }
  // Adds a product whose extents m, n and k are these lengths, where they are given.
  const Descriptor& bounded_matmul(const Descriptor& a, const Descriptor& b, const Descriptor& c, const Descriptor* m,
                                   const Descriptor* n, const Descriptor* k);

  Descriptor finish(const PlanDevice& device) const {
    std::vector<const Descriptor*> operations;
    for (const Descriptor& operation : operations_) operations.push_back(&operation);
    return device.graph_of(operations);
  }

 private:
  Extents head_extents(int64_t length, int64_t width) const { return {scores_[0], scores_[1], length, width}; }
  Extents head_strides(int64_t length, int64_t width) const {
    return {length * scores_[1] * width, width, scores_[1] * width, 1};
  }
  const Descriptor& tensor(int64_t id, cudnnDataType_t type, const Extents& extents, const Extents& strides,
                           bool is_virtual, bool by_value = false);

  cudnnDataType_t type_;
  Extents scores_, rows_;
  const Descriptor *queries_ = nullptr, *keys_ = nullptr;
  int64_t next_ = kFirstVirtual;
  std::deque<Descriptor> tensors_, operations_;  // deques, so that addresses stay valid
};

const Descriptor& Draft::tensor(int64_t id, cudnnDataType_t type, const Extents& extents, const Extents& strides,
                                bool is_virtual, bool by_value) {
  Descriptor& result = tensors_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  result.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(extents))
      .set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, cuda::kOperandAlignment)
      .set_flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
      .set_flag(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value)
      .finalize();
  return result;
}

const Descriptor& Draft::bounded_matmul(const Descriptor& a, const Descriptor& b, const Descriptor& c,
                                        const Descriptor* m, const Descriptor* n, const Descriptor* k) {
  Descriptor kind(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).finalize();
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  if (m) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, *m);
  if (n) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *n);
  if (k) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *k);
  operation.finalize();
  return c;
}

const Descriptor& Draft::pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b,
                                   const Descriptor& y, cudnnDataType_t computed_in, int64_t axis,
                                   const Descriptor* chosen_by) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, computed_in);
  if (axis >= 0) kind.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  kind.finalize();
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  if (chosen_by) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *chosen_by);
  operation.finalize();
  return y;
}

const Descriptor& Draft::reduce(cudnnReduceTensorOp_t by, const Descriptor& x, const Descriptor& y) {
  Descriptor kind(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &by)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .finalize();
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind)
      .finalize();
  return y;
}

const Descriptor& Draft::transpose(const Descriptor& x, const Descriptor& y) {
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y).finalize();
  return y;
}

// Adds scale q k', and minus infinity where a query does not see a key.
const Descriptor& seen_scores(Draft& draft, const AttentionSpec& spec, const Descriptor& q, const Descriptor& k,
                              const Descriptor& scale) {
  const Descriptor* at =
      &draft.scaled(draft.bounded_matmul(q, k, draft.scores(), draft.queries(), draft.keys(), nullptr), scale);
  if (!spec.lengths && !spec.causal) return *at;
  const Descriptor& minus_infinity = draft.number(kMinusInfinity);
  if (spec.lengths) {
    const Descriptor &row = draft.index(*at, kRows, CUDNN_DATA_INT32),
                     &column = draft.index(*at, kColumns, CUDNN_DATA_INT32);
    const Descriptor &row_in = draft.truth(CUDNN_POINTWISE_CMP_LT, row, *draft.queries()),
                     &column_in = draft.truth(CUDNN_POINTWISE_CMP_LT, column, *draft.keys());
    at = &draft.where(draft.truth(CUDNN_POINTWISE_LOGICAL_AND, row_in, column_in), *at, minus_infinity);
  }
  if (spec.causal) {
    const Descriptor &row = draft.index(*at, kRows, CUDNN_DATA_FLOAT),
                     &column = draft.index(*at, kColumns, CUDNN_DATA_FLOAT);
    at = &draft.where(draft.truth(CUDNN_POINTWISE_CMP_GE, row, column), *at, minus_infinity);
  }
  return *at;
}

void read_lengths(Draft& draft, const AttentionSpec& spec) {
  if (spec.lengths) draft.bound(&draft.lengths(kQueryLengths), &draft.lengths(kKeyLengths));
}

void add_forward(Draft& draft, const AttentionSpec& spec) {
  read_lengths(draft, spec);
  const Descriptor &q = draft.heads(kQuery, spec.t, spec.d), &k = draft.heads_transposed(kKey, spec.s, spec.d),
                   &v = draft.heads(kValue, spec.s, spec.e), &o = draft.heads(kOutput, spec.t, spec.e);
  const Descriptor& scores = seen_scores(draft, spec, q, k, draft.number(kScale));
  const Descriptor& greatest = draft.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, draft.row());
  const Descriptor& shifted = draft.pointwise(CUDNN_POINTWISE_SUB, scores, &greatest, draft.scores());
  const Descriptor& e = draft.pointwise(CUDNN_POINTWISE_EXP, shifted, nullptr, draft.scores());
  const Descriptor& total = draft.reduce(CUDNN_REDUCE_TENSOR_ADD, e, draft.row());
  const Descriptor& log = draft.pointwise(CUDNN_POINTWISE_LOG, total, nullptr, draft.row());
  draft.pointwise(CUDNN_POINTWISE_ADD, greatest, &log, draft.row_values(kLogSumExp));
  const Descriptor& weights = draft.pointwise(CUDNN_POINTWISE_DIV, e, &total, draft.scores(draft.type()));
  draft.bounded_matmul(weights, v, o, draft.queries(), nullptr, draft.keys());
}

// Returns a matrix of scores transposed, in the dtype of the tensors in memory.
const Descriptor& turned(Draft& draft, const AttentionSpec& spec, const Descriptor& scores) {
  const Extents extents = {spec.n, spec.heads, spec.t, spec.s};
  return draft.transpose(scores, draft.passed(draft.type(), transposed(extents), transposed(packed(extents))));
}

// With p = exp(s - log-sum-exp), which is the softmax of the scores s (Dao 2023, algorithm 2):
// dV = p' dO, dS = p (dO V' - rows of sums of dO O), dK = scale dS' Q, dQ = scale dS K.
void add_backward(Draft& draft, const AttentionSpec& spec) {
  read_lengths(draft, spec);
  const Descriptor &q = draft.heads(kQuery, spec.t, spec.d), &k = draft.heads_transposed(kKey, spec.s, spec.d),
                   &v = draft.heads_transposed(kValue, spec.s, spec.e), &o = draft.heads(kOutput, spec.t, spec.e),
                   &d_o = draft.heads(kOutputGrad, spec.t, spec.e), &scale = draft.number(kScale);
  const Descriptor& product = draft.pointwise(CUDNN_POINTWISE_MUL, d_o, &o, draft.head_product(spec.t, spec.e));
  const Descriptor& sums =
      draft.pointwise(CUDNN_POINTWISE_MUL, draft.reduce(CUDNN_REDUCE_TENSOR_ADD, product, draft.row()),
                      &draft.number(kOne), draft.row_values(kRowSums));
  const Descriptor& scores = seen_scores(draft, spec, q, k, scale);
  const Descriptor& shifted =
      draft.pointwise(CUDNN_POINTWISE_SUB, scores, &draft.row_values(kLogSumExp), draft.scores());
  const Descriptor& p = draft.pointwise(CUDNN_POINTWISE_EXP, shifted, nullptr, draft.scores());
  draft.bounded_matmul(turned(draft, spec, p), d_o, draft.heads(kValueGrad, spec.s, spec.e), draft.keys(), nullptr,
                       draft.queries());
  const Descriptor& d_p = draft.bounded_matmul(d_o, v, draft.scores(), draft.queries(), draft.keys(), nullptr);
  const Descriptor& centred = draft.pointwise(CUDNN_POINTWISE_SUB, d_p, &sums, draft.scores());
  const Descriptor& d_s = draft.pointwise(
      CUDNN_POINTWISE_MUL, draft.pointwise(CUDNN_POINTWISE_MUL, centred, &p, draft.scores()), &scale, draft.scores());
  draft.bounded_matmul(turned(draft, spec, d_s), q, draft.heads(kKeyGrad, spec.s, spec.d), draft.keys(), nullptr,
                       draft.queries());
  const Extents keys = {spec.n, spec.heads, spec.s, spec.d};
  const Extents strides = {spec.s * spec.heads * spec.d, spec.d, spec.heads * spec.d, 1};
  const Descriptor& k_back = draft.transpose(k, draft.passed(draft.type(), keys, strides));
  draft.bounded_matmul(d_s, k_back, draft.heads(kQueryGrad, spec.t, spec.d), draft.queries(), nullptr, draft.keys());
}

}  // namespace

Descriptor attention_graph(const AttentionSpec& spec, const PlanDevice& device) {
  Draft draft(spec);
  if (spec.backward)
    add_backward(draft, spec);
  else
    add_forward(draft, spec);
  return draft.finish(device);
}

}  // namespace kb::cudnn
