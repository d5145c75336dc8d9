// The DSL's handle on a value of a graph. The functions and operators over tensors are in graph/functions.h; the
// layers, which own parameters, are in graph/layers.h.
#pragma once
#include <source_location>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace kb {

class Tensor {
 public:
  using Where = std::source_location;

  Tensor() = default;
  Tensor(Graph& graph, Value value) : graph_(&graph), value_(value) {}

  Value value() const { return value_; }
  bool valid() const { return graph_ != nullptr; }
  // Each of the other functions throws Error if the tensor was never assigned.
  Graph& graph(Where where = Where::current()) const { return *checked("graph", where).graph_; }
  const Type& type(Where where = Where::current()) const { return type_for("type", where); }
  const Dims& shape(Where where = Where::current()) const { return type_for("shape", where).shape; }
  DType dtype(Where where = Where::current()) const { return type_for("dtype", where).dtype; }
  int64_t rank(Where where = Where::current()) const { return type_for("rank", where).rank(); }
  // Returns the extent of an axis; a negative axis counts from the end. Throws Error when there is no such axis.
  int64_t size(int64_t axis, Where where = Where::current()) const;
  // Returns the extent of the axis that has this letter, as "C". Throws Error when no axis has it.
  int64_t dim(const char* letter, Where where = Where::current()) const;
  int64_t dim(int axis) const = delete;  // an axis has a size(axis)
  // Returns this tensor with its dimensions named by `letters`, one each. Throws Error when their number is not the
  // rank.
  Tensor named(const std::string& letters, Where where = Where::current()) const;

 private:
  const Tensor& checked(const char* function, Where where) const {
    if (!valid()) refuse_empty(function, where);
    return *this;
  }
  const Type& type_for(const char* function, Where where) const {
    return checked(function, where).graph_->type(value_);
  }
  [[noreturn]] static void refuse_empty(const char* function, Where where);

  Graph* graph_ = nullptr;
  Value value_;
};

// Throws Error in the name of `op` when `tensor` was never assigned.
void require_valid(std::string_view op, Tensor tensor);
// Returns the number of the axis in [0, rank) for `axis` in [-rank, rank): a negative one counts from the end. Throws
// Error in the name of `op` for other axes, and when x was never assigned.
int64_t real_axis(std::string_view op, Tensor x, int64_t axis);

// An argument of an operator: a tensor, or a number, which gets the other argument's dtype; and where it was written.
struct Operand {
  Operand(Tensor tensor, std::source_location where = std::source_location::current()) : tensor(tensor), where(where) {}
  Operand(double number, std::source_location where = std::source_location::current())
      : number(number), is_number(true), where(where) {}
  Tensor tensor;
  double number = 0;
  bool is_number = false;
  std::source_location where;
};

}  // namespace kb
