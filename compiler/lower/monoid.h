// A Monoid is a reduction node as a monoid over a tuple of parts: {initial, step, combine, finish}. Folds (sums, max,
// min, products) have one part. argmax has (value, index), the first of equals. moments have the sum and the sum of
// squares of (x - shift) over one chunk of the domain, which `close` turns into (mean, M2); `merge` then joins chunks
// (Chan, Golub, LeVeque 1979), so that memory is read once.
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
  int64_t bytes() const;  // bytes of all parts
  // Returns the axis whose index argmax gives; -1 for other ops.
  int64_t index_axis() const { return index_axis_; }

  // Returns the parts of no elements.
  Parts initial(ir::Builder& b) const;
  // Adds the element `x`, in register form, to the parts; `other` is argmax's index or moments' shift.
  Parts step(ir::Builder& b, const Parts& parts, ir::Reg x, ir::Reg other) const;
  // Combines two partial results of one chunk.
  Parts combine(ir::Builder& b, const Parts& left, const Parts& right) const;
  // Closes a chunk of `count` elements: moments become (mean, M2), parts of other ops stay as they are.
  Parts close(ir::Builder& b, const Parts& parts, ir::Reg shift, ir::Reg count) const;
  // Combines two closed chunks that hold `left_count` and `right_count` elements.
  Parts merge(ir::Builder& b, const Parts& left, const Parts& right, ir::Reg left_count, ir::Reg right_count) const;
  // Returns the node's outputs from all chunks' merged parts; `count` elements were reduced.
  Parts finish(ir::Builder& b, const Parts& parts, ir::Reg count) const;
  // Returns a number of elements in the type that close, merge and finish take it in.
  ir::Reg count(ir::Builder& b, ir::Reg elements) const;

 private:
  int32_t node_;
  Op op_;
  Value input_;
  DType dtype_;  // type of the results
  DType held_;   // type of the parts
  int64_t index_axis_ = -1;
};

}  // namespace kb
