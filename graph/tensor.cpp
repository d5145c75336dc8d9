#include "graph/tensor.h"

#include "graph/report.h"
#include "graph/scope.h"

namespace kb {

int64_t Tensor::size(int64_t axis, std::source_location where) const {
  const Call call(where);
  const auto at = static_cast<size_t>(real_axis("size", *this, axis));
  return shape()[at];
}

int64_t Tensor::dim(const char* letter, std::source_location where) const {
  const Call call(where);
  require_valid("dim", *this);
  const Type& t = type();
  const size_t at = letter[0] != '\0' && letter[1] == '\0' ? t.names.find(letter[0]) : std::string::npos;
  if (at != std::string::npos && letter[0] != '_') return t.shape[at];
  report("dim", {"no dimension of that name", "one of the letters of " + shape_text(t), "'" + std::string(letter) + "'",
                 "name the dimensions with named(...), or use size(axis)"});
}

Tensor Tensor::named(const std::string& letters, std::source_location where) const {
  const Call call(where);
  require_valid("named", *this);
  if (letters.size() != shape().size())
    report("named", {"names do not fit the shape", "one letter a dimension of " + shape_text(type()),
                     "'" + letters + "'", "'_' stands for a dimension without a name"});
  // Letters are no part of a type's meaning, so giving them makes no node.
  graph_->nodes[static_cast<size_t>(value_.node)].outputs[static_cast<size_t>(value_.out)].names = letters;
  return *this;
}

void Tensor::refuse_empty(const char* function, Where where) {
  const Call call(where);
  report(function, {"an operand is empty", "a tensor of a graph", "a Tensor that was never assigned", ""});
}

void require_valid(std::string_view op, Tensor tensor) {
  if (!tensor.valid())
    report(op, {"an operand is empty", "a tensor of a graph", "a Tensor that was never assigned", ""});
}

int64_t real_axis(std::string_view op, Tensor x, int64_t axis) {
  require_valid(op, x);
  const int64_t rank = x.rank(), real = axis < 0 ? axis + rank : axis;
  if (real >= 0 && real < rank) return real;
  const std::string range =
      rank == 0 ? "none: x is a scalar"
                : std::to_string(-rank) + " to " + std::to_string(rank - 1) + " for x " + shape_text(x.type());
  report(op, {"axis out of range", range, std::to_string(axis), ""});
}

}  // namespace kb
