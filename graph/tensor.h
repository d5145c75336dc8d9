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
  Tensor() = default;
  Tensor(Graph& graph, Value value) : graph_(&graph), value_(value) {}

  Graph& graph() const { return *graph_; }
  Value value() const { return value_; }
  bool valid() const { return graph_ != nullptr; }
  const Type& type() const { return graph_->type(value_); }
  const Dims& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return type().rank(); }
  // Returns the extent of an axis; a negative axis counts from the end. Throws Error when there is no such axis.
  int64_t size(int64_t axis, std::source_location where = std::source_location::current()) const;
  // Returns the extent of the axis that has this letter, as "C". Throws Error when no axis has it.
  int64_t dim(const char* letter, std::source_location where = std::source_location::current()) const;
  // Returns this tensor with its dimensions named by `letters`, one each. Throws Error when their number is not the
  // rank.
  Tensor named(const std::string& letters, std::source_location where = std::source_location::current()) const;

 private:
  Graph* graph_ = nullptr;
  Value value_;
};

// Throws Error in the name of `op` when `tensor` was never assigned.
void require_valid(std::string_view op, Tensor tensor);

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
