#include "graph/tensor.h"

#include "graph/building.h"

namespace kb {

int64_t Tensor::size(int64_t axis, std::source_location where) const {
  const Call call(where);
  require_same_graph("size", {*this});
  return shape()[static_cast<size_t>(real_axis("size", type(), axis))];
}

int64_t Tensor::dim(const char* letter, std::source_location where) const {
  const Call call(where);
  require_same_graph("dim", {*this});
  const Type& t = type();
  const size_t at = letter[0] != '\0' && letter[1] == '\0' ? t.names.find(letter[0]) : std::string::npos;
  if (at != std::string::npos && letter[0] != '_') return t.shape[at];
  report("dim", {"no dimension of that name", "one of the letters of " + shape_text(t), "'" + std::string(letter) + "'",
                 "name the dimensions with named(...), or use size(axis)"});
}

Tensor Tensor::named(const std::string& letters, std::source_location where) const {
  const Call call(where);
  require_same_graph("named", {*this});
  if (letters.size() != shape().size())
    report("named", {"names do not fit the shape", "one letter a dimension of " + shape_text(type()),
                     "'" + letters + "'", "'_' stands for a dimension without a name"});
  // Names are no part of a type's meaning: giving them makes no node.
  graph_->nodes[static_cast<size_t>(value_.node)].outputs[static_cast<size_t>(value_.out)].names = letters;
  return *this;
}

Tensor operator+(Operand a, Operand b) { return pointwise(Op::add, {a, b}, a.where); }
Tensor operator-(Operand a, Operand b) { return pointwise(Op::sub, {a, b}, a.where); }
Tensor operator*(Operand a, Operand b) { return pointwise(Op::mul, {a, b}, a.where); }
Tensor operator/(Operand a, Operand b) { return pointwise(Op::div, {a, b}, a.where); }
Tensor operator-(Operand a) { return pointwise(Op::neg, {a}, a.where); }
Tensor operator<(Operand a, Operand b) { return pointwise(Op::lt, {a, b}, a.where); }
Tensor operator<=(Operand a, Operand b) { return pointwise(Op::le, {a, b}, a.where); }
Tensor operator>(Operand a, Operand b) { return pointwise(Op::gt, {a, b}, a.where); }
Tensor operator>=(Operand a, Operand b) { return pointwise(Op::ge, {a, b}, a.where); }

}  // namespace kb
