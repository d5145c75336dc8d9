// A reduction node as a monoid over a tuple of parts: {initial, step, combine, finish}. Sums, max, min: one part;
// argmax: (value, index), the first of equals; moments: (sum, sum of squares) of x - shift over one chunk of the
// domain, `close`d to (mean, M2), which chunks then `merge` (Chan, Golub, LeVeque 1979), so that memory is read once.
#pragma once
#include <vector>

#include "compiler/lower/expression.h"

namespace kb {

using Parts = std::vector<ir::Reg>;

class Monoid {
 public:
  Monoid(const Graph& graph, int32_t node);

  int32_t node() const { return node_; }
  Op op() const { return op_; }
  Value input() const { return input_; }
  bool shifted() const { return op_ == Op::moments; }
  size_t parts() const { return op_ == Op::argmax || op_ == Op::moments ? 2 : 1; }
  DType part_type(size_t part) const { return part == 1 && op_ == Op::argmax ? DType::i32 : held_; }
  // Axis whose index argmax gives; -1 for others.
  int64_t index_axis() const { return index_axis_; }

  Parts initial(ir::Builder& b) const;
  // `x` in register form; `other` is argmax's index, moments' shift.
  Parts step(ir::Builder& b, const Parts& parts, ir::Reg x, ir::Reg other) const;
  // Combines two partial results of one chunk.
  Parts combine(ir::Builder& b, const Parts& left, const Parts& right) const;
  // A chunk of `count` elements is done: moments become (mean, M2).
  Parts close(ir::Builder& b, const Parts& parts, ir::Reg shift, ir::Reg count) const;
  // Combines two closed chunks that hold `left_count` and `right_count` elements.
  Parts merge(ir::Builder& b, const Parts& left, const Parts& right, ir::Reg left_count, ir::Reg right_count) const;
  // The node's outputs from all chunks' merged parts; `count` elements were reduced.
  Parts finish(ir::Builder& b, const Parts& parts, ir::Reg count) const;
  // A count of elements as the merge wants it.
  ir::Reg count(ir::Builder& b, ir::Reg elements) const;

 private:
  int32_t node_;
  Op op_;
  Value input_;
  DType dtype_;  // of the results
  DType held_;   // of the parts
  int64_t index_axis_ = -1;
};

}  // namespace kb
