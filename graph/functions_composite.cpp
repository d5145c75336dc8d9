#include <limits>
#include <optional>

#include "graph/building.h"
#include "graph/index_range.h"

namespace kb {
namespace {

// Returns the type that labels of these logits have: one label a row.
Type label_type(const Type& logits) {
  Type labels{DType::i32, Dims(logits.shape.begin(), logits.shape.end() - 1), "N"};
  labels.names.resize(labels.shape.size(), '_');
  return labels;
}

// Returns a hint for labels [N] beside logits of more than two axes: those are images that were never flattened. Other
// shapes get an empty text.
std::string flatten_hint(const Type& logits, const Type& labels) {
  const bool is_label_a_sample = labels.rank() == 1 && logits.rank() > 2 && labels.shape[0] == logits.shape[0];
  return is_label_a_sample ? "flatten(x) before the last linear layer makes logits [N, K]: one class number a sample"
                           : "";
}

// Returns a hint for labels [N, H, W] beside logits [N, K, H, W], as PyTorch takes them. Other shapes get an empty
// text.
std::string classes_last_hint(const Type& logits, const Type& labels) {
  Dims without = logits.shape;
  without.erase(without.begin() + 1);
  if (logits.rank() < 3 || labels.shape != without) return "";
  std::string axes = "0";
  for (int64_t axis = 2; axis < logits.rank(); ++axis) axes += ", " + std::to_string(axis);
  return "the classes come last: transpose(logits, {" + axes + ", 1})";
}

// Throws Error unless logits are [N, ..., K] and labels [N, ...] lie below K or equal `ignored`.
void check_classification(std::string_view op, Tensor logits, Tensor labels, std::optional<int64_t> ignored = {}) {
  require_same_graph(op, {logits, labels});
  if (logits.rank() < 2)
    report(op, {"too few dimensions", "logits [N, ..., K]: a number a class", shape_text(logits.type()), ""});
  require_float(op, logits);
  const Type expected = label_type(logits.type());
  if (labels.shape() != expected.shape) {
    const std::string hint =
        classes_last_hint(logits.type(), labels.type()) + flatten_hint(logits.type(), labels.type());
    report(op, {"labels do not fit the logits", "labels " + shape_text(expected),
                "labels " + shape_text(labels.type()) + ", logits " + shape_text(logits.type()),
                hint.empty() ? "one class number a sample" : hint});
  }
  if (labels.dtype() != DType::i32)
    report(op, {"labels have the wrong dtype", "i32", to_string(labels.type()), "cast(labels, DType::i32)"});
  const int64_t numbers = declared_below(labels.graph(), labels.value());
  const int64_t classes =
      numbers != 0 && ignored == numbers - 1 && logits.size(-1) == numbers - 1 ? numbers - 1 : numbers;
  if (classes != 0 && classes != logits.size(-1))
    report(op, {"the number of logits is not that of the classes",
                "logits [N=" + std::to_string(logits.size(0)) + ", " + std::to_string(classes) +
                    "]: the labels are 0 to " + std::to_string(classes - 1),
                "logits " + shape_text(logits.type()), "the last layer has as many outputs as the data have classes"});
}

// Throws Error unless logits are [N, K] and labels [N].
void check_label_a_sample(std::string_view op, Tensor logits, Tensor labels) {
  require_same_graph(op, {logits, labels});
  if (logits.rank() != 2)
    report(op, {"wrong number of dimensions", "logits [N, K]", shape_text(logits.type()),
                flatten_hint(logits.type(), labels.type())});
  check_classification(op, logits, labels);
}

// Returns a matrix with 1 at each sample's class and 0 elsewhere; a label that is no class gives a row of NaN. The
// labels are broadcast before they are compared, so that everything fuses into the launch that reads the result.
Tensor targets(Tensor labels, int64_t classes, DType dtype) {
  const Tensor hot = one_hot(labels, classes, dtype);
  if (indexes_within(labels.graph(), labels.value(), classes)) return hot;
  const Tensor wide = broadcast_axes(labels, hot.shape(), {0});
  const Tensor known = bit_and(wide >= 0.0, wide < static_cast<double>(classes));
  return select(known, hot, std::numeric_limits<double>::quiet_NaN());
}

// Returns target * x, and 0 where the target is 0, whatever x is there.
Tensor at_target(Tensor target, Tensor x) { return select(eq(target, 0.0), 0.0, target * x); }

// Returns x - max(x) along an axis. The shift changes no softmax, so no gradient flows through the maximum.
Tensor shifted(Tensor x, int64_t axis) { return x - stop_gradient(max(x, {axis}, true)); }

// Returns the target of a loss with label smoothing s: (1 - s) target + s / classes.
Tensor smoothed(Tensor target, const Operand& smoothing, int64_t classes) {
  if (smoothing.tensor.valid()) {
    Tensor s = smoothing.tensor;
    require_same_graph("cross_entropy", {target, s});
    if (s.rank() != 0 || !is_float(s.dtype()))
      report("cross_entropy", {"smoothing is no scalar", "a number or a float scalar", to_string(s.type()),
                               "scalar_input(graph, \"label_smoothing\")"});
    s = cast(s, target.dtype());
    return target * (1.0 - s) + s / static_cast<double>(classes);
  }
  if (smoothing.number == 0) return target;
  if (!(smoothing.number > 0 && smoothing.number < 1))
    report("cross_entropy", {"smoothing out of range", "0 <= smoothing < 1", number_text(smoothing.number), ""});
  return target * (1.0 - smoothing.number) + smoothing.number / static_cast<double>(classes);
}

// Makes one axis of x's leading axes and keeps the last `kept`.
Tensor as_rows(Tensor x, int64_t kept) {
  if (x.rank() == 1 + kept) return x;
  Dims shape{-1};
  shape.insert(shape.end(), x.shape().end() - kept, x.shape().end());
  return reshape(x, shape);
}

// Takes logits [R, K] and labels [R]; gives losses [R].
Tensor cross_entropy_of_rows(Tensor logits, Tensor labels, const Operand& smoothing) {
  const int64_t classes = logits.size(1);
  const Tensor z = shifted(logits, 1);
  const Tensor target = smoothed(targets(labels, classes, logits.dtype()), smoothing, classes);
  // The target sums to 1, so -sum(target * log_softmax(logits)) = log(sum(exp(z))) - sum(target * z): two sums over one
  // pass, and none of the logarithms is stored.
  return log(sum(exp(z), {1})) - sum(at_target(target, z), {1});
}

}  // namespace

Tensor argmax_equals(Tensor logits, Tensor labels, Where where) {
  const Call call(where);
  check_label_a_sample("argmax_equals", logits, labels);
  return cast(eq(argmax(logits, 1), labels), DType::f32);
}

Tensor in_top_k(Tensor logits, Tensor labels, int64_t k, Where where) {
  const Call call(where);
  check_label_a_sample("in_top_k", logits, labels);
  const int64_t classes = logits.size(1);
  if (k < 1 || k > classes)
    report("in_top_k",
           {"k out of range", "1 to " + std::to_string(classes) + ", the number of classes", std::to_string(k), ""});
  const Tensor own = sum(at_target(targets(labels, classes, logits.dtype()), logits), {1}, true);
  const Tensor is_later = broadcast_axes(labels, logits.shape(), {0}) >
                          broadcast_axes(iota(logits.graph(), DType::i32, classes), logits.shape(), {1});
  // No logit is <= a NaN, which `own` is too for a label that is no class: all classes are ahead.
  const Tensor is_ahead = bit_or(logical_not(logits <= own), bit_and(eq(logits, own), is_later));
  return cast(sum(cast(is_ahead, DType::f32), {1}) < static_cast<double>(k), DType::f32);
}

Tensor softmax(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  require_float("softmax", x);
  axis = real_axis("softmax", x, axis);
  Tensor e = exp(shifted(x, axis));
  return e / sum(e, {axis}, true);
}

Tensor log_softmax(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  require_float("log_softmax", x);
  axis = real_axis("log_softmax", x, axis);
  Tensor z = shifted(x, axis);
  return z - log(sum(exp(z), {axis}, true));
}

Tensor logsumexp(Tensor x, Ints axes, bool keep_dims, Where where) {
  const Call call(where);
  require_float("logsumexp", x);
  axes = real_axes("logsumexp", x, std::move(axes));
  // An infinite maximum is no shift: infinity less itself is no number.
  Tensor shift = stop_gradient(max(x, axes, true));
  shift = select(eq(abs(shift), std::numeric_limits<double>::infinity()), 0.0, shift);
  Tensor total = sum(exp(x - shift), axes, keep_dims);
  return log(total) + reshape(shift, total.shape());
}

Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing, Where where) {
  const Call call(where);
  check_classification("cross_entropy", logits, labels);
  const Dims shape = labels.shape();
  return reshape(cross_entropy_of_rows(as_rows(logits, 1), as_rows(labels, 0), smoothing), shape);
}

Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing, int64_t ignore_index, Where where) {
  const Call call(where);
  check_classification("cross_entropy", logits, labels, ignore_index);
  const Dims shape = labels.shape();
  const Tensor rows = as_rows(logits, 1), classes = as_rows(labels, 0);
  // The logits of an ignored row are replaced too: whatever stands there, the gradient is 0.
  const Tensor ignored = eq(classes, number_in("cross_entropy", DType::i32, static_cast<double>(ignore_index)));
  const Tensor known_rows = select(broadcast_axes(ignored, rows.shape(), {0}), 0.0, rows);
  const Tensor losses = cross_entropy_of_rows(known_rows, select(ignored, 0.0, classes), smoothing);
  return reshape(select(ignored, 0.0, losses), shape);
}

Tensor divisor_of(Tensor count, Where where) {
  constexpr double kLeast = 0x1p-100;  // its inverse is a number of f32 and of bf16, too
  const Call call(where);
  return maximum(count, kLeast);
}

Tensor mse(Tensor prediction, Tensor target, Where where) {
  const Call call(where);
  require_same_graph("mse", {prediction, target});
  if (prediction.rank() < 1 || prediction.shape() != target.shape())
    report("mse", {"shapes differ", "prediction and target of one shape [N, ...]",
                   "prediction " + shape_text(prediction.type()) + ", target " + shape_text(target.type()),
                   "reshape one of them: broadcasting here is seldom meant"});
  Tensor difference = prediction - target;
  Tensor squares = difference * difference;
  if (squares.rank() == 1) return squares;
  Ints axes;
  for (int64_t i = 1; i < squares.rank(); ++i) axes.push_back(i);
  return mean(squares, std::move(axes));
}

}  // namespace kb
