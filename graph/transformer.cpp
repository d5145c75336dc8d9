#include "graph/transformer.h"

#include <cmath>
#include <numbers>

#include "graph/building.h"
#include "graph/layers.h"

namespace kb {
namespace {

constexpr double kWavelengths = 10000;  // Vaswani et al. 2017, section 3.5: they lie between 2 pi and this times 2 pi

void check_tokens(std::string_view op, const char* what, Tensor x) {
  require_same_graph(op, {x});
  require_float(op, x.type());
  require_rank(op, x.type(), 3, (std::string(what) + " [N, T, features]").c_str());
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

}  // namespace kb
