// flash_attention: takes the model's graph; leaves one in which an attention that a GPU's library computes without its
// scores in memory is one op (graph/flash_attention.h). It stands before differentiate, since the gradient of the op is
// an op too, and needs the log-sum-exp of each row in place of the scores.
//
// The composite attention() is the definition: for each place where one may end, it is built again from the shapes
// found there, and the graph must have the same nodes. So an additive mask, dropout, or a reader's own variant of it
// stays as it is. The pass applies in 16 bits where the target's library has the op, to head sizes that are multiples
// of 8 up to 128, and to more than one query and one key.
//
// A sample whose length is 0 sees nothing. The library gets length 1 for it, and the result is replaced by 0, which
// also stops its gradient. cuDNN up to 9.15.0 computes wrong gradients where the number of keys is no multiple of 128
// and there are no lengths; there the library gets the number of keys as lengths.
#include <algorithm>
#include <map>
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "graph/flash_attention.h"
#include "graph/functions.h"

namespace kb {
namespace {

constexpr int64_t kMostFeatures = 128, kFeatureStep = 8;  // features of a head
constexpr int64_t kWholeKeys = 128;
constexpr double kAnyScale = 0x1.7ap-1;  // stands for the factor of the scores; every float dtype holds it exactly
constexpr const char* kLengths = "lengths";

// An attention of the graph that the library can compute; its values are the graph's.
struct Found {
  Value q, k, v, lengths;
  AttentionShape shape;
  bool causal = false;
  double scale = 1;
};

// The composite, built from the shapes of a place where it may stand.
struct Pattern {
  Graph graph{"attention"};
  Value result;
};

Pattern composite(const AttentionShape& s, DType dtype, Mode mode, bool causal, bool lengths) {
  Pattern pattern;
  pattern.graph.mode = mode;
  Graph& graph = pattern.graph;
  const Tensor q = input(graph, "q", dtype, {s.n, s.t, s.heads * s.d}),
               k = input(graph, "k", dtype, {s.n, s.s, s.heads * s.d}),
               v = input(graph, "v", dtype, {s.n, s.s, s.heads * s.e});
  AttentionOptions options{.heads = s.heads, .causal = causal, .scale = kAnyScale};
  if (lengths) options.lengths = input(graph, kLengths, DType::i32, {s.n});
  pattern.result = attention(q, k, v, options).value();
  return pattern;
}

// Compares a pattern with what stands in a graph. The pattern's inputs stand for any values of their types.
class Match {
 public:
  Match(const Graph& pattern, const Graph& graph) : pattern_(pattern), graph_(graph) {}

  bool matches(Value of, Value at) {
    const Node &a = pattern_.node(of), &b = graph_.node(at);
    if (!same_type(a.type(of.out), b.type(at.out))) return false;
    const auto [known, fresh] = stands_for_.try_emplace(of, at);
    if (!fresh || a.op == Op::input) return known->second == at;
    if (a.op != b.op || of.out != at.out || a.inputs.size() != b.inputs.size() || !same_attrs(a, b)) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i)
      if (!matches(a.inputs[i], b.inputs[i])) return false;
    return true;
  }

  // Returns the value that stands for the pattern's input; an invalid one if there is no such input.
  Value value(const std::string& input) const {
    const Value of = pattern_.find_input(input);
    return of.valid() ? stands_for_.at(of) : Value{};
  }
  double scale() const { return scale_; }

 private:
  static bool same_type(const Type& a, const Type& b) { return a.dtype == b.dtype && a.shape == b.shape; }

  bool same_attrs(const Node& a, const Node& b) {
    if (a.op != Op::constant || a.attrs.reals("values") != std::vector{kAnyScale}) return a.attrs == b.attrs;
    const std::vector<double>& values = b.attrs.reals("values");
    if (values.size() != 1) return false;
    scale_ = values[0];
    return true;
  }

  const Graph& pattern_;
  const Graph& graph_;
  std::map<Value, Value> stands_for_;
  double scale_ = 1;
};

class FlashAttention : Rewriter {
 public:
  using Rewriter::Rewriter;

  Graph run() {
    for (int32_t n = 0; n < from_.size(); ++n)
      if (const std::optional<Found> found = find(n))
        replace({n, 0}, replacement(n, *found));
      else
        copy(n);
    return without_unused(finish());
  }

 private:
  // Returns the shape of an attention whose last node is n, if its last nodes are those of one: a matrix product of
  // weights and values, whose heads are joined.
  std::optional<AttentionShape> shape_at(int32_t n) const {
    const Node& joined = from_.node(n);
    if (joined.op != Op::reshape || joined.type().rank() != 3) return {};
    const Node& turned = from_.node(joined.inputs[0]);
    if (turned.op != Op::transpose || turned.attrs.ints("perm") != Ints{0, 2, 1, 3}) return {};
    const Node& product = from_.node(turned.inputs[0]);
    if (product.op != Op::matmul || product.type().rank() != 4) return {};
    const Node* scores = first_matmul(product.inputs[0]);
    if (!scores || scores->type().rank() != 4) return {};
    const Dims &o = product.type().shape, &weights = from_.type(product.inputs[0]).shape;
    return AttentionShape{o[0], o[1], o[2], weights[3], from_.type(scores->inputs[0]).shape[3], o[3]};
  }

  // Returns the nearest matrix product that a value follows from; null if there is none near.
  const Node* first_matmul(Value value) const {
    constexpr size_t kNear = 64;
    std::vector<Value> open{value};
    for (size_t i = 0; i < open.size() && i < kNear; ++i) {
      const Node& at = from_.node(open[i]);
      if (at.op == Op::matmul) return &at;
      open.insert(open.end(), at.inputs.begin(), at.inputs.end());
    }
    return nullptr;
  }

  static bool is_supported(const AttentionShape& s) {
    const auto fits = [](int64_t features) { return features % kFeatureStep == 0 && features <= kMostFeatures; };
    return fits(s.d) && fits(s.e) && s.t > 1 && s.s > 1;
  }

  std::optional<Found> find(int32_t n) const {
    const std::optional<AttentionShape> shape = shape_at(n);
    if (!shape || !is_supported(*shape)) return {};
    for (const bool causal : {false, true})
      for (const bool lengths : {false, true}) {
        if (causal && shape->t != shape->s) continue;
        const Pattern pattern = composite(*shape, from_.node(n).type().dtype, from_.mode, causal, lengths);
        Match match(pattern.graph, from_);
        if (!match.matches(pattern.result, {n, 0})) continue;
        return Found{match.value("q"), match.value("k"), match.value("v"), match.value(kLengths),
                     *shape,           causal,           match.scale()};
      }
    return {};
  }

  Value replacement(int32_t n, const Found& found) {
    const Origin origin(from_, from_.node(n).scope, from_.node(n).frame);
    const AttentionShape& s = found.shape;
    const auto tensor = [&](Value old) { return Tensor(to_, map(old)); };
    std::vector<Value> in = {map(found.q), map(found.k), map(found.v)};
    const auto same_length = [&](int64_t length) { return constant(to_, DType::i32, length, {s.n}).value(); };
    if (found.lengths.valid())
      in.insert(in.end(), {same_length(s.t), clamp(tensor(found.lengths), 1, static_cast<double>(s.s)).value()});
    else if (s.s % kWholeKeys != 0)
      in.insert(in.end(), {same_length(s.t), same_length(s.s)});
    const Attrs attrs{{"heads", s.heads}, {"causal", int64_t{found.causal}}, {"scale", found.scale}};
    const Tensor o(to_, to_.add(Op::flash_attention, std::move(in), attrs));
    if (!found.lengths.valid()) return o.value();
    return select(broadcast_axes(tensor(found.lengths) > 0.0, o.shape(), {0}), o, 0.0).value();
  }
};

}  // namespace

Graph flash_attention(Graph graph, CompileState& state) {
  if (!state.options.target.has_flash_attention || !is_mixed(state.options.precision)) return graph;
  return FlashAttention(graph).run();
}

}  // namespace kb
