// Runs a single graph: it takes values of the inputs by name, and gives the outputs as vectors of C++ elements. It
// needs no data set, loss or optimizer. recipes/tutorial/bare_graph.cpp shows it.
#pragma once
#include <concepts>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "graph/array.h"
#include "graph/element.h"
#include "runtime/backend.h"
#include "runtime/state_store.h"

namespace kb {

// The values of one tensor, row-major: contiguous elements in the caller's memory, or one number, which becomes the
// dtype of the scalar that gets it.
class TensorValues {
 public:
  // Refers to the elements of a vector, array or span; they must outlive the run.
  template <std::ranges::contiguous_range Range>
  requires Element<std::ranges::range_value_t<Range>> TensorValues(const Range& elements)
      : dtype_(dtype_of<std::ranges::range_value_t<Range>>()),
        data_(std::ranges::data(elements)),
        size_(static_cast<int64_t>(std::ranges::size(elements))) {}
  TensorValues(double number) : number_(number), is_number_(true) {}
  // Refers to a tensor of a file or of a training's state, which must outlive the run. Only a tensor of its shape takes
  // it.
  TensorValues(const NamedTensor& tensor)
      : dtype_(tensor.type.dtype),
        data_(tensor.data.data()),
        size_(tensor.type.elements()),
        shape_(&tensor.type.shape) {}

  bool is_number() const { return is_number_; }
  DType dtype() const { return dtype_; }
  int64_t size() const { return size_; }
  const Dims* shape() const { return shape_; }  // null: elements in a row, for a tensor of any shape
  double operator[](int64_t i) const { return is_number_ ? number_ : load_element(dtype_, data_, i); }

 private:
  DType dtype_ = DType::f64;
  const void* data_ = nullptr;
  int64_t size_ = 1;
  const Dims* shape_ = nullptr;
  double number_ = 0;
  bool is_number_ = false;
};

using NamedValues = std::map<std::string, TensorValues>;

// The results of a run by name. Each function throws Error when there is no such name, or when T is not the element
// type of the result.
class GraphResults {
 public:
  GraphResults(std::map<std::string, Array> outputs, std::map<std::string, Array> states)
      : outputs_(std::move(outputs)), states_(std::move(states)) {}

  // Returns an output, row-major.
  template <Element T>
  std::vector<T> values(const std::string& output) const {
    return elements<T>(find("output", outputs_, output), output);
  }
  // Returns the first element of an output of any dtype. Throws Error when it is empty.
  double number(const std::string& output) const;
  const Type& type(const std::string& output) const { return find("output", outputs_, output).type; }
  // Returns a state that the graph writes (running statistics), after the run.
  template <Element T>
  std::vector<T> state(const std::string& variable) const {
    return elements<T>(find("written state", states_, variable), variable);
  }

 private:
  using Arrays = std::map<std::string, Array>;
  static const Array& find(std::string_view kind, const Arrays& arrays, const std::string& name);
  static void check_dtype(DType wanted, const Array& array, const std::string& name);
  template <Element T>
  static std::vector<T> elements(const Array& array, const std::string& name) {
    check_dtype(dtype_of<T>(), array, name);
    std::vector<T> result(array.data.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<T>(array.data[i]);
    return result;
  }

  Arrays outputs_, states_;
};

struct EvaluateOptions {
  uint32_t seed = 0;           // seed of the initial values of parameters and states, as in a training
  Backend* backend = nullptr;  // must outlive the compiled graph; null: a CPU backend with all cores
};

// A graph that is compiled once for many runs.
class CompiledGraph {
 public:
  // Throws Error when the graph has no output.
  explicit CompiledGraph(const Graph& graph, const EvaluateOptions& options = {});
  ~CompiledGraph();
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  // Runs the graph. `values` has a value for every input ("seed", "step" and "worker" too if the graph has dropout),
  // and for parameters and states that shall change; at first these have the values that the seed gives. A state that
  // the graph writes keeps the new value for the next run. Throws Error, and changes nothing, for an input without a
  // value, a name that the graph does not have, a wrong dtype or number of elements, and a number of an index_input
  // that is out of range.
  GraphResults run(const NamedValues& values);

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
};

// Runs a graph once: `evaluate(graph, {{"x", pixels}, {"rate", 0.1}}).values<float>("y")`. Each call compiles the
// graph, though its kernels stay in the disk cache; a CompiledGraph compiles it once.
GraphResults evaluate(const Graph& graph, const NamedValues& values, const EvaluateOptions& options = {});

}  // namespace kb
