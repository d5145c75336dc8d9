#include <limits>

#include "graph/building.h"
#include "graph/index_range.h"

namespace kb {
namespace {

void check_classification(std::string_view op, Tensor logits, Tensor labels) {
  require_same_graph(op, {logits, labels});
  require_rank(op, logits.type(), 2, "logits [N, K]");
  require_float(op, logits.type());
  if (labels.rank() != 1 || labels.size(0) != logits.size(0))
    report(op, {"labels do not fit the logits", "labels [N=" + std::to_string(logits.size(0)) + "]",
                "labels " + shape_text(labels.type()), "one class number a sample"});
  if (labels.dtype() != DType::i32)
    report(op, {"labels have the wrong dtype", "i32", to_string(labels.type()), "cast(labels, DType::i32)"});
  const int64_t classes = declared_below(labels.graph(), labels.value());
  if (classes != 0 && classes != logits.size(1))
    report(op, {"the logits are not one a class",
                "logits [N=" + std::to_string(logits.size(0)) + ", " + std::to_string(classes) +
                    "]: the labels are 0 to " + std::to_string(classes - 1),
                "logits " + shape_text(logits.type()), "the last layer has as many outputs as the data have classes"});
}

// 1 at each sample's class, else 0; a row of NaN where a label is none of the classes. Labels are spread before they
// are compared, so that all of it is part of the launch that reads it.
Tensor targets(Tensor labels, int64_t classes, DType dtype) {
  const Tensor hot = one_hot(labels, classes, dtype);
  if (indexes_within(labels.graph(), labels.value(), classes)) return hot;
  const Tensor wide = broadcast_axes(labels, hot.shape(), {0});
  const Tensor known = bit_and(wide >= 0.0, wide < static_cast<double>(classes));
  return select(known, hot, std::numeric_limits<double>::quiet_NaN());
}

// x - max(x) along an axis. The shift changes no softmax, so no gradient flows through the maximum.
Tensor shifted(Tensor x, int64_t axis) { return x - stop_gradient(max(x, {axis}, true)); }

}  // namespace

Tensor one_hot(Tensor indices, int64_t classes, DType dtype, Where where) {
  const Call call(where);
  require_same_graph("one_hot", {indices});
  if (classes < 1) report("one_hot", {"no classes", "1 or more", std::to_string(classes), ""});
  if (!is_integer(indices.dtype()))
    report("one_hot",
           {"indices are no integers", "i32, u32 or u8", to_string(indices.type()), "cast(indices, DType::i32)"});
  Dims shape = indices.shape();
  Ints axes;
  for (int64_t i = 0; i < indices.rank(); ++i) axes.push_back(i);
  shape.push_back(classes);
  Tensor wide = broadcast_axes(cast(indices, DType::i32), std::move(shape), std::move(axes));
  return cast(eq(wide, iota(indices.graph(), DType::i32, classes)), dtype);
}

Tensor gather(Tensor table, Tensor indices, Where where) {
  const Call call(where);
  return make(Op::gather, {table, indices});
}

Tensor scatter_add(Tensor indices, Tensor updates, int64_t rows, Where where) {
  const Call call(where);
  return make(Op::scatter_add, {indices, updates}, {{"rows", rows}});
}

Tensor crop(Tensor x, Tensor window, Ints size, Where where) {
  const Call call(where);
  return make(Op::crop, {x, window}, {{"size", std::move(size)}});
}

Tensor argmax_equals(Tensor logits, Tensor labels, Where where) {
  const Call call(where);
  check_classification("argmax_equals", logits, labels);
  return cast(eq(argmax(logits, 1), labels), DType::f32);
}

Tensor softmax(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("softmax", {x});
  require_float("softmax", x.type());
  axis = real_axis("softmax", x.type(), axis);
  Tensor e = exp(shifted(x, axis));
  return e / sum(e, {axis}, true);
}

Tensor log_softmax(Tensor x, int64_t axis, Where where) {
  const Call call(where);
  require_same_graph("log_softmax", {x});
  require_float("log_softmax", x.type());
  axis = real_axis("log_softmax", x.type(), axis);
  Tensor z = shifted(x, axis);
  return z - log(sum(exp(z), {axis}, true));
}

Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing, Where where) {
  const Call call(where);
  check_classification("cross_entropy", logits, labels);
  const int64_t classes = logits.size(1);
  Tensor z = shifted(logits, 1);
  Tensor target = targets(labels, classes, logits.dtype());
  if (smoothing.tensor.valid()) {
    Tensor s = smoothing.tensor;
    require_same_graph("cross_entropy", {logits, s});
    if (s.rank() != 0 || !is_float(s.dtype()))
      report("cross_entropy", {"smoothing is no scalar", "a number or a float scalar", to_string(s.type()),
                               "scalar_input(graph, \"label_smoothing\")"});
    s = cast(s, logits.dtype());
    target = target * (1.0 - s) + s / static_cast<double>(classes);
  } else if (smoothing.number != 0) {
    if (!(smoothing.number > 0 && smoothing.number < 1))
      report("cross_entropy", {"smoothing out of range", "0 <= smoothing < 1", number_text(smoothing.number), ""});
    target = target * (1.0 - smoothing.number) + smoothing.number / static_cast<double>(classes);
  }
  // The target sums to 1, so -sum(target * log_softmax(logits)) = log(sum(exp(z))) - sum(target * z): two sums over one
  // pass, and none of the logarithms is stored. Where the target is 0, z may be minus infinity.
  Tensor terms = select(eq(target, 0.0), 0.0, target * z);
  return log(sum(exp(z), {1})) - sum(terms, {1});
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
