// Runs a bare graph: values of its inputs by name in, its outputs in typed vectors out. No data set, loss or optimizer
// is needed. recipes/tutorial/bare_graph.cpp shows it.
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

namespace kb {

// The values of one tensor, row-major: elements that lie one behind the other in memory of the caller, or one number,
// which takes the dtype of the scalar that it is given to.
class TensorValues {
 public:
  // Borrows a vector, array or span: its elements must outlive the run.
  template <std::ranges::contiguous_range Range>
  requires Element<std::ranges::range_value_t<Range>> TensorValues(const Range& elements)
      : dtype_(dtype_of<std::ranges::range_value_t<Range>>()),
        data_(std::ranges::data(elements)),
        size_(static_cast<int64_t>(std::ranges::size(elements))) {}
  TensorValues(double number) : number_(number), is_number_(true) {}

  bool is_number() const { return is_number_; }
  DType dtype() const { return dtype_; }
  int64_t size() const { return size_; }
  double operator[](int64_t i) const { return is_number_ ? number_ : load_element(dtype_, data_, i); }

 private:
  DType dtype_ = DType::f64;
  const void* data_ = nullptr;
  int64_t size_ = 1;
  double number_ = 0;
  bool is_number_ = false;
};

using NamedValues = std::map<std::string, TensorValues>;

// Results of a run, by name. Each function throws Error where there is none of that name; a vector of another element
// type than the result's is an Error too.
class GraphResults {
 public:
  GraphResults(std::map<std::string, Array> outputs, std::map<std::string, Array> states)
      : outputs_(std::move(outputs)), states_(std::move(states)) {}

  // An output, row-major.
  template <Element T>
  std::vector<T> values(const std::string& output) const {
    return elements<T>(find("output", outputs_, output), output);
  }
  // The first element of an output of any dtype. Error where it is empty.
  double number(const std::string& output) const;
  const Type& type(const std::string& output) const { return find("output", outputs_, output).type; }
  // A state that the graph writes (running statistics), after the run.
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
  uint32_t seed = 0;           // of the parameters' and states' initial values, as in a training
  Backend* backend = nullptr;  // outlives the compiled graph; null: the CPU's, all cores
};

// A graph compiled once for many runs.
class CompiledGraph {
 public:
  // Throws Error where the graph has no output.
  explicit CompiledGraph(const Graph& graph, const EvaluateOptions& options = {});
  ~CompiledGraph();
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  // `values`: one for every input ("seed", "step" and "worker" too where it has dropout), and for those parameters and
  // states that shall have others than they have, which are the seed's at first. A state that the graph writes keeps
  // for the next run what it was written. Throws Error, and has changed nothing, for an input that is missing, a name
  // that the graph does not have, another dtype, another number of elements, and a number of an index_input that is out
  // of range.
  GraphResults run(const NamedValues& values);

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
};

// One run: `evaluate(graph, {{"x", pixels}, {"rate", 0.1}}).values<float>("y")`. Compiles the graph each time (its
// kernels once: they stay in the disk cache); a CompiledGraph does not.
GraphResults evaluate(const Graph& graph, const NamedValues& values, const EvaluateOptions& options = {});

}  // namespace kb
