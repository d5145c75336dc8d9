#include "graph/transformer.h"

#include <cmath>
#include <numbers>

#include "graph/building.h"
#include "graph/layers.h"

namespace kb {
namespace {

constexpr double kWavelengths = 10000;  // Vaswani et al. 2017, section 3.5: they lie between 2 pi and this times 2 pi

void check_tokens(std::string_view op, const char* what, Tensor x) {
  require_float(op, x);
  require_rank(op, x, 3, (std::string(what) + " [N, T, features]").c_str());
}

// Throws Error unless both have as many samples and features.
void check_keys(std::string_view op, Tensor q, Tensor kv) {
  check_tokens(op, "q", q);
  check_tokens(op, "kv", kv);
  require_same_graph(op, {q, kv});
  if (kv.size(0) == q.size(0) && kv.size(2) == q.size(2)) return;
  report(op, {"q and kv do not fit", "kv [N=" + std::to_string(q.size(0)) + ", S, " + std::to_string(q.size(2)) + "]",
              shape_text(kv.type()), "linear(name, kv, " + std::to_string(q.size(2)) + ") before it"});
}

MultiHeadOptions multi_head_options(const TransformerOptions& options, const SeenKeys& seen) {
  return {.attention = {.heads = options.heads,
                        .causal = seen.causal,
                        .lengths = seen.lengths,
                        .mask = seen.mask,
                        .dropout = options.dropout},
          .init = options.init};
}

}  // namespace

InProjection in_projection(Tensor x, const std::optional<Initialiser>& init, Where where) {
  const Call call(where);
  check_tokens("in_projection", "x", x);
  const int64_t features = x.size(2);
  const auto fan = static_cast<double>(features);
  const Init start = resolve("in_projection", init.value_or(glorot_uniform()), {fan, 3 * fan});
  return {weight_for(x, "in_proj_weight", Role::weight, {3 * features, features}, "OI", start),
          weight_for(x, "in_proj_bias", Role::bias, {3 * features}, "C", resolve("", zeros, {}))};
}

std::vector<Tensor> project(const InProjection& in, Tensor x, int64_t first, int64_t count, Where where) {
  const Call call(where);
  check_tokens("project", "x", x);
  if (first < 0 || count < 1 || first + count > 3)
    report("project", {"no such projections", "first and count within the three: q, k, v",
                       "first " + std::to_string(first) + ", count " + std::to_string(count), ""});
  const int64_t features = x.size(2), from = first * features, to = from + count * features;
  const auto part = [&](Tensor of_all) { return count == 3 ? of_all : slice(of_all, 0, from, to); };
  const Tensor rows = matmul(reshape(x, {-1, features}), part(in.weight), false, true) + part(in.bias);
  // An axis of its own for q, k and v: the gradient then joins them without index arithmetic.
  const Tensor joined = reshape(rows, {x.size(0), x.size(1), count, features});
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back(reshape(slice(joined, 2, i, i + 1), x.shape()));
  return parts;
}

Tensor out_projection(Tensor heads, const std::optional<Initialiser>& init, Where where) {
  const Call call(where);
  check_tokens("out_projection", "heads", heads);
  return linear("out_proj", heads, heads.size(2), {.init = init.value_or(uniform_fan_in())});
}

Tensor multi_head_attention(const std::string& name, Tensor q, Tensor kv, const MultiHeadOptions& options,
                            Where where) {
  const Call call(where);
  const Scope scope(name);
  check_keys("multi_head_attention", q, kv);
  const InProjection in = in_projection(q, options.init);
  std::vector<Tensor> parts = project(in, q, 0, q.value() == kv.value() ? 3 : 1);
  if (parts.size() == 1)
    for (Tensor part : project(in, kv, 1, 2)) parts.push_back(part);
  return out_projection(attention(parts[0], parts[1], parts[2], options.attention), options.init);
}

Tensor feed_forward(Tensor x, const TransformerOptions& options, Where where) {
  const Call call(where);
  check_tokens("feed_forward", "x", x);
  const Tensor hidden = options.activation(linear("linear1", x, options.hidden, {.init = options.init}));
  return linear("linear2", dropout("dropout", hidden, options.dropout), x.size(2), {.init = options.init});
}

Tensor with_residual(const std::string& number, Tensor x, const std::function<Tensor(Tensor)>& part,
                     const TransformerOptions& options, Where where) {
  const Call call(where);
  const auto norm = [&](Tensor y) { return layer_norm("norm" + number, y, {.epsilon = options.epsilon}); };
  const auto added = [&](Tensor y) { return dropout("dropout" + number, part(y), options.dropout); };
  return options.pre_norm ? x + added(norm(x)) : norm(x + added(x));
}

Tensor encoder_layer(const std::string& name, Tensor x, const TransformerOptions& options, const SeenKeys& seen,
                     Where where) {
  const Call call(where);
  const Scope scope(name);
  check_tokens("encoder_layer", "x", x);
  const auto look = [&](Tensor y) {
    return multi_head_attention("self_attn", y, y, multi_head_options(options, seen));
  };
  x = with_residual("1", x, look, options);
  return with_residual(
      "2", x, [&](Tensor y) { return feed_forward(y, options); }, options);
}

Tensor decoder_layer(const std::string& name, Tensor x, Tensor memory, const TransformerOptions& options,
                     const SeenKeys& seen, const SeenKeys& seen_of_memory, Where where) {
  const Call call(where);
  const Scope scope(name);
  check_keys("decoder_layer", x, memory);
  const auto look = [&](Tensor y) {
    return multi_head_attention("self_attn", y, y, multi_head_options(options, seen));
  };
  const auto look_at_memory = [&](Tensor y) {
    return multi_head_attention("multihead_attn", y, memory, multi_head_options(options, seen_of_memory));
  };
  x = with_residual("1", x, look, options);
  x = with_residual("2", x, look_at_memory, options);
  return with_residual(
      "3", x, [&](Tensor y) { return feed_forward(y, options); }, options);
}

Tensor sinusoids(Tensor positions, int64_t features, DType dtype, Where where) {
  const Call call(where);
  require_same_graph("sinusoids", {positions});
  require_positive("sinusoids", features, "features");
  Graph& graph = positions.graph();
  const Tensor feature = iota(graph, DType::i32, features), odd = bit_and(feature, 1.0);
  const double step = -std::log(kWavelengths) / static_cast<double>(features);
  const Tensor frequency = exp(cast(feature - odd, DType::f64) * step);
  const Tensor shift = cast(odd, DType::f64) * (std::numbers::pi / 2);  // cos(x) = sin(x + pi / 2)
  Dims shape = positions.shape();
  Ints axes;
  for (int64_t axis = 0; axis < positions.rank(); ++axis) axes.push_back(axis);
  shape.push_back(features);
  const Tensor position = broadcast_axes(cast(positions, DType::f64), shape, axes);
  return cast(sin(position * frequency + shift), dtype);
}

Tensor sinusoidal_positions(Graph& graph, int64_t count, int64_t features, DType dtype, Where where) {
  const Call call(where);
  require_positive("sinusoidal_positions", count, "count");
  require_positive("sinusoidal_positions", features, "features");
  std::vector<double> values;
  for (int64_t position = 0; position < count; ++position)
    for (int64_t feature = 0; feature < features; ++feature) {
      const auto pair = static_cast<double>(feature - feature % 2);
      const double angle =
          static_cast<double>(position) * std::exp(pair * -std::log(kWavelengths) / static_cast<double>(features));
      values.push_back(feature % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return constant(graph, dtype, {count, features}, std::move(values));
}

namespace {

void check_rotary(Tensor x, const RotaryOptions& options) {
  require_float("rotary", x);
  require_rank("rotary", x, 3, "x [N, T, features]");
  if (options.heads < 1 || x.size(2) % options.heads != 0 || x.size(2) / options.heads % 2 != 0)
    report("rotary", {"heads do not divide the features into pairs",
                      "an even number of features for each of " + std::to_string(options.heads) + " heads",
                      shape_text(x.type()), ""});
  if (!(std::isfinite(options.base) && options.base > 0))
    report("rotary", {"base out of range", "a finite number > 0", number_text(options.base), ""});
  const Tensor at = options.positions;
  if (!at.valid()) return;
  require_same_graph("rotary", {x, at});
  if (at.dtype() != DType::i32 || (at.shape() != Dims{x.size(1)} && at.shape() != Dims{x.size(0), x.size(1)}))
    report("rotary",
           {"positions do not fit", "i32 [T=" + std::to_string(x.size(1)) + "] or [N, T], a position for each of x's",
            to_string(at.type()), ""});
}

// The cosine and the sine of the angles, in dtype: [1 or N, T, 1, pairs].
struct Turn {
  Tensor cos, sin;
};

Turn turn_of_all(Graph& graph, int64_t positions, int64_t pairs, double base, DType dtype) {
  std::vector<double> c, s;
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t i = 0; i < pairs; ++i) {
      const double angle =
          static_cast<double>(p) * std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
      c.push_back(std::cos(angle));
      s.push_back(std::sin(angle));
    }
  const Dims shape = {1, positions, 1, pairs};
  return {constant(graph, dtype, shape, std::move(c)), constant(graph, dtype, shape, std::move(s))};
}

Turn turn_of(Tensor positions, int64_t pairs, double base, DType dtype) {
  Graph& graph = positions.graph();
  const Tensor frequency = exp(iota(graph, DType::f64, pairs) * (-std::log(base) / static_cast<double>(pairs)));
  const bool alike = positions.rank() == 1;
  const Tensor at = reshape(positions, {alike ? 1 : positions.size(0), positions.size(-1), 1, 1});
  const Tensor angle = cast(at, DType::f64) * frequency;
  return {cast(cos(angle), dtype), cast(sin(angle), dtype)};
}

}  // namespace

Tensor rotary(Tensor x, const RotaryOptions& options, Where where) {
  const Call call(where);
  check_rotary(x, options);
  const int64_t n = x.size(0), t = x.size(1), heads = options.heads, pairs = x.size(2) / (2 * heads);
  const Turn turn = options.positions.valid() ? turn_of(options.positions, pairs, options.base, x.dtype())
                                              : turn_of_all(x.graph(), t, pairs, options.base, x.dtype());
  const Dims split = options.adjacent ? Dims{n, t, heads, pairs, 2} : Dims{n, t, heads, 2, pairs};
  const int64_t axis = options.adjacent ? 4 : 3;
  const Tensor y = reshape(x, split);
  const auto half = [&](int64_t i) { return reshape(slice(y, axis, i, i + 1), {n, t, heads, pairs}); };
  const Tensor a = half(0), b = half(1);
  Dims one = split;
  one[static_cast<size_t>(axis)] = 1;
  const Tensor turned =
      concat({reshape(a * turn.cos - b * turn.sin, one), reshape(a * turn.sin + b * turn.cos, one)}, axis);
  return reshape(turned, x.shape());
}

}  // namespace kb
