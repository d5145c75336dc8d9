#include "compiler/lower/monoid.h"
#include "compiler/lower/emit.h"

namespace kb {

using ir::Reg;

Monoid::Monoid(const Graph& graph, int32_t node) : node_(node) {
  const Node& reduction = graph.node(node);
  op_ = reduction.op;
  input_ = reduction.inputs[0];
  dtype_ = reduction.type().dtype;
  held_ = arithmetic_dtype(graph.type(input_).dtype);
  if (op_ == Op::argmax) index_axis_ = reduction.attrs.integer("axis");
}

int64_t Monoid::bytes() const {
  int64_t bytes = 0;
  for (size_t part = 0; part < parts(); ++part) bytes += size_of(part_type(part));
  return bytes;
}

Parts Monoid::initial(ir::Builder& b) const {
  switch (info(op_).neutral) {
    case Neutral::zero:
      return {b.constant(held_, 0)};
    case Neutral::one:
      return {b.constant(held_, 1)};
    case Neutral::lowest:
      return {emit_lowest(b, held_)};
    case Neutral::highest:
      return {emit_highest(b, held_)};
    case Neutral::none:
      break;
  }
  if (op_ == Op::argmax) return {emit_lowest(b, held_), b.constant(DType::i32, 2147483647.0)};
  return {b.constant(held_, 0), b.constant(held_, 0)};
}

Parts Monoid::step(ir::Builder& b, const Parts& parts, Reg x, Reg other) const {
  if (op_ != Op::moments) return combine(b, parts, op_ == Op::argmax ? Parts{x, other} : Parts{x});
  const Reg d = b.compute(Op::sub, x, other);
  return {b.compute(Op::add, parts[0], d), b.fma(d, d, parts[1])};
}

Parts Monoid::combine(ir::Builder& b, const Parts& left, const Parts& right) const {
  if (is_fold(op_)) return {b.compute(info(op_).combine, left[0], right[0])};
  if (op_ == Op::argmax) {
    const Reg less = emit_exceeds(b, left[0], right[0]);
    const Reg first = b.compute(Op::bit_and, b.compute(Op::logical_not, less), b.compute(Op::lt, right[1], left[1]));
    const Reg takes = b.compute(Op::bit_or, emit_exceeds(b, right[0], left[0]), first);
    return {b.compute(Op::select, takes, right[0], left[0]), b.compute(Op::select, takes, right[1], left[1])};
  }
  Parts sum;
  for (size_t i = 0; i < parts(); ++i) sum.push_back(b.compute(Op::add, left[i], right[i]));
  return sum;
}

Parts Monoid::close(ir::Builder& b, const Parts& parts, Reg shift, Reg count) const {
  if (op_ != Op::moments) return parts;
  const Reg offset = b.compute(Op::div, parts[0], count);
  const Reg square = b.compute(Op::sub, parts[1], b.compute(Op::mul, parts[0], offset));
  return {b.compute(Op::add, shift, offset), b.compute(Op::maximum, square, b.constant(held_, 0))};
}

Parts Monoid::merge(ir::Builder& b, const Parts& left, const Parts& right, Reg left_count, Reg right_count) const {
  if (op_ != Op::moments) return combine(b, left, right);
  const Reg total = b.compute(Op::add, left_count, right_count);
  const Reg weight = b.compute(Op::div, right_count, total);
  const Reg delta = b.compute(Op::sub, right[0], left[0]);
  const Reg between = b.compute(Op::mul, b.compute(Op::mul, delta, delta), b.compute(Op::mul, left_count, weight));
  return {b.compute(Op::add, left[0], b.compute(Op::mul, delta, weight)),
          b.compute(Op::add, b.compute(Op::add, left[1], right[1]), between)};
}

Parts Monoid::finish(ir::Builder& b, const Parts& parts, Reg count) const {
  if (op_ == Op::argmax) return {parts[1]};
  if (op_ == Op::moments) return {parts[0], b.compute(Op::div, parts[1], count)};
  return {is_low_precision(dtype_) ? emit_cast(b, dtype_, parts[0]) : parts[0]};
}

Reg Monoid::count(ir::Builder& b, Reg elements) const {
  return b.convert(op_ == Op::moments ? held_ : DType::f32, elements);
}

}  // namespace kb
