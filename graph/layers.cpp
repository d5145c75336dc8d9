#include "graph/layers.h"

#include <cmath>

#include "graph/building.h"
#include "graph/infer_rules.h"
#include "graph/sub_network.h"

namespace kb {
namespace {

// The initial values of states, and of parameters that no option sets.
Init zero_init() { return resolve("", zeros, {}); }
Init one_init() { return resolve("", ones, {}); }

// Broadcasts a vector over the channels, axis 1 of x, to x's shape.
Tensor over_channels(Tensor vector, Tensor x) { return broadcast_axes(vector, x.shape(), {1}); }

// Returns the type of a vector with one value for each channel of x.
Type channel_vector(Tensor x) { return {x.dtype(), {x.size(1)}, "C"}; }

struct Statistics {
  Tensor mean, variance;
};

// Moves a running value towards the minibatch's by a share, statistics_share. At a share of 1 the running value is not
// used, since it may be no finite number.
void add_share(Tensor running, Tensor batch) {
  Tensor share = scalar_input(batch.graph(), kStatisticsShare, batch.dtype());
  write_state(running, select(ge(share, 1.0), batch, running * (1.0 - share) + batch * share));
}

// Returns the mean and variance of the minibatch, and moves the running ones. running_var gets the unbiased variance,
// as in PyTorch.
Statistics batch_statistics(Tensor x, const Ints& axes, Tensor running_mean, Tensor running_var, double momentum) {
  const Moments batch = moments(x, axes);
  Tensor n = count(x, axes);
  if (x.graph().mode == Mode::statistics) {
    add_share(running_mean, batch.mean);
    add_share(running_var, batch.variance * (n / (n - 1.0)));
  } else {
    write_state(running_mean, running_mean * (1 - momentum) + batch.mean * momentum);
    write_state(running_var, running_var * (1 - momentum) + batch.variance * (n / (n - 1.0) * momentum));
  }
  return {batch.mean, batch.variance};
}

}  // namespace

Tensor weight_for(Tensor x, const char* name, Role role, Dims shape, const char* letters, Init init, double rate) {
  Tensor w = parameter(x.graph(), name, role, {arithmetic_dtype(x.dtype()), std::move(shape), letters}, init, rate);
  return cast(w, x.dtype());
}

Tensor linear(const std::string& name, Tensor x, int64_t features, const LinearOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  require_float("linear", x);
  require_positive("linear", features, "features");
  if (x.rank() < 2)
    report("linear", {"too few dimensions", "x [..., I]: samples and features", shape_text(x.type()), ""});
  const int64_t in = x.size(-1);
  const Fans fans{static_cast<double>(in), static_cast<double>(features)};
  const Init init = resolve("linear", options.init.value_or(uniform_fan_in()), fans);
  const bool in_out = options.weight_in_out;
  Tensor w = in_out ? weight_for(x, "weight", Role::weight, {in, features}, "IO", init, options.rate)
                    : weight_for(x, "weight", Role::weight, {features, in}, "OI", init, options.rate);
  // The leading axes become rows of one matrix: there is one product, and the weight is not broadcast.
  Dims shape = x.shape();
  Tensor y = matmul(reshape(x, {-1, in}, x.rank() == 2 ? x.type().names : ""), w, false, !in_out);
  if (options.bias) y = y + weight_for(x, "bias", Role::bias, {features}, "C", options.init ? zero_init() : init);
  shape.back() = features;
  return reshape(y, shape);
}

namespace {

void require_epsilon(std::string_view op, double epsilon) {
  if (!(epsilon >= 0 && std::isfinite(epsilon)))
    report(op, {"epsilon out of range", "a finite number >= 0", number_text(epsilon), "it is added to the variance"});
}

}  // namespace

Tensor batch_norm(const std::string& name, Tensor x, const BatchNormOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  require_float("batch_norm", x);
  if (x.rank() < 2 || x.rank() > 4)
    report("batch_norm",
           {"wrong number of dimensions", "x [N, C], [N, C, L] or [N, C, H, W]", shape_text(x.type()), ""});
  require_epsilon("batch_norm", options.epsilon);
  if (!(options.momentum >= 0 && options.momentum <= 1))
    report("batch_norm", {"momentum out of range", "0 <= momentum <= 1", number_text(options.momentum),
                          "it is the minibatch's share of the running statistics"});
  const DType dtype = x.dtype();
  const int64_t channels = x.size(1);
  Ints axes{0};
  for (int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  const bool of_batch = x.graph().mode != Mode::inference;
  if (x.graph().mode == Mode::statistics && reuses_variables() && !replaces_parameters())
    report("batch_norm", {"a second call in a graph that averages statistics over minibatches",
                          "one call of each batch_norm in Mode::statistics", "another one, under Reuse",
                          "evaluate with the running statistics of the training"});
  if (of_batch && x.type().elements() <= channels)
    report("batch_norm", {"one value a channel has no variance", "more than one value a channel", shape_text(x.type()),
                          "a larger minibatch, or batch_norm before the spatial extents shrink to 1"});
  x = widened(x);
  Graph& graph = x.graph();
  const Init init = resolve("batch_norm", options.init.value_or(ones), {});
  Tensor weight = parameter(graph, "weight", Role::norm_scale, channel_vector(x), init);
  Tensor bias = parameter(graph, "bias", Role::norm_shift, channel_vector(x), zero_init());
  Tensor running_mean = state(graph, "running_mean", channel_vector(x), zero_init());
  Tensor running_var = state(graph, "running_var", channel_vector(x), one_init());
  const Statistics by = of_batch ? batch_statistics(x, axes, running_mean, running_var, options.momentum)
                                 : Statistics{running_mean, running_var};
  Tensor scale = weight * rsqrt(by.variance + options.epsilon);
  return cast((x - over_channels(by.mean, x)) * over_channels(scale, x) + over_channels(bias, x), dtype);
}

namespace {

// Checks the arguments of a norm over the last `axes` axes of x.
void check_norm_of_last(std::string_view op, Tensor x, int64_t axes, double epsilon) {
  require_float(op, x);
  require_epsilon(op, epsilon);
  if (axes < 1 || axes >= x.rank())
    report(op,
           {"wrong number of axes", "1 to " + std::to_string(x.rank() - 1) + " last axes of x " + shape_text(x.type()),
            std::to_string(axes), "the samples' axis stays"});
}

// Returns the type of a parameter over the last `axes` axes of x.
Type type_of_last(Tensor x, int64_t axes) { return {x.dtype(), Dims(x.shape().end() - axes, x.shape().end()), ""}; }

}  // namespace

Tensor layer_norm(const std::string& name, Tensor x, const LayerNormOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  const int64_t axes = options.axes;
  check_norm_of_last("layer_norm", x, axes, options.epsilon);
  const DType dtype = x.dtype();
  x = widened(x);
  Ints last, first;
  for (int64_t i = 0; i < x.rank(); ++i) (i < x.rank() - axes ? first : last).push_back(i);
  const Type type = type_of_last(x, axes);
  const Init init = resolve("layer_norm", options.init.value_or(ones), {});
  Tensor weight = parameter(x.graph(), "weight", Role::norm_scale, type, init);
  Tensor bias = parameter(x.graph(), "bias", Role::norm_shift, type, zero_init());
  const Moments row = moments(x, last);
  Tensor normalised = (x - broadcast_axes(row.mean, x.shape(), first)) *
                      broadcast_axes(rsqrt(row.variance + options.epsilon), x.shape(), first);
  return cast(normalised * weight + bias, dtype);
}

Tensor rms_norm(const std::string& name, Tensor x, const RmsNormOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  check_norm_of_last("rms_norm", x, options.axes, options.epsilon);
  const DType dtype = x.dtype();
  x = widened(x);
  Ints last;
  for (int64_t i = x.rank() - options.axes; i < x.rank(); ++i) last.push_back(i);
  const Init init = resolve("rms_norm", options.init.value_or(ones), {});
  Tensor weight = parameter(x.graph(), "weight", Role::norm_scale, type_of_last(x, options.axes), init);
  return cast(x * rsqrt(mean(x * x, last, true) + options.epsilon) * weight, dtype);
}

namespace {

// Returns mean and variance, (N, C), of the group of each channel. The variance of a group is the mean of its channels'
// variances and of the squared distances of their means: the channels of a sample are read where they are, in whatever
// layout, and groups are made of their moments alone.
Statistics group_statistics(Tensor x, int64_t groups) {
  const int64_t samples = x.size(0), channels = x.size(1);
  if (x.rank() == 2) x = reshape(x, {samples, channels, 1});
  Ints axes;
  for (int64_t axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  const Moments channel = moments(x, axes);
  const Dims in_groups{samples, groups, channels / groups};
  const auto over_group = [&](Tensor t) { return broadcast_axes(t, in_groups, {0, 1}); };
  const Tensor means = reshape(channel.mean, in_groups);
  const Tensor group_mean = mean(means, {2}), distance = means - over_group(group_mean);
  const Tensor variance = mean(reshape(channel.variance, in_groups) + distance * distance, {2});
  const auto of_channels = [&](Tensor t) { return reshape(over_group(t), {samples, channels}); };
  return {of_channels(group_mean), of_channels(variance)};
}

}  // namespace

Tensor group_norm(const std::string& name, Tensor x, const GroupNormOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  require_float("group_norm", x);
  if (x.rank() < 2) report("group_norm", {"too few dimensions", "x [N, C, ...]", shape_text(x.type()), ""});
  require_epsilon("group_norm", options.epsilon);
  if (options.groups < 1 || x.size(1) % options.groups != 0)
    report("group_norm", {"groups do not divide the channels", "a divisor of C = " + std::to_string(x.size(1)),
                          std::to_string(options.groups), "{.groups = G}"});
  const DType dtype = x.dtype();
  x = widened(x);
  const Init init = resolve("group_norm", options.init.value_or(ones), {});
  Tensor weight = parameter(x.graph(), "weight", Role::norm_scale, channel_vector(x), init);
  Tensor bias = parameter(x.graph(), "bias", Role::norm_shift, channel_vector(x), zero_init());
  const Statistics by = group_statistics(x, options.groups);
  Tensor scale = rsqrt(by.variance + options.epsilon);
  scale = scale * broadcast_axes(weight, scale.shape(), {1});
  const auto over_all = [&](Tensor t) { return broadcast_axes(t, x.shape(), {0, 1}); };
  return cast((x - over_all(by.mean)) * over_all(scale) + over_channels(bias, x), dtype);
}

Tensor embedding(const std::string& name, Tensor indices, int64_t rows, int64_t features,
                 const EmbeddingOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  require_same_graph("embedding", {indices});
  require_positive("embedding", rows, "rows");
  require_positive("embedding", features, "features");
  const Fans fans{static_cast<double>(features), static_cast<double>(rows)};
  const Init init = resolve("embedding", options.init.value_or(normal(1)), fans);
  return gather(parameter(indices.graph(), "weight", Role::embedding, {options.dtype, {rows, features}, ""}, init),
                indices);
}

Tensor dropout(const std::string& name, Tensor x, double p, Where where) {
  const Call call(where);
  require_float("dropout", x);
  if (!(p >= 0 && p < 1)) report("dropout", {"p out of range", "0 <= p < 1", number_text(p), "p is what is zeroed"});
  if (x.rank() < 1) report("dropout", {"x has no axis of samples", "x [N, ...]", "a scalar", ""});
  if (p == 0 || x.graph().mode != Mode::training) return x;
  Tensor kept = ge(random_bits(x.graph(), name, x.shape()), std::floor(p * 4294967296.0));
  return select(kept, x * (1 / (1 - p)), 0.0);
}

}  // namespace kb
