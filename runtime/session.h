// A compiled program on a backend: inputs to fill, scalars to set, a step to run, outputs to read. A training and an
// inference session share one StateStore, and so the parameters.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/pipeline.h"
#include "runtime/backend.h"
#include "runtime/state_store.h"

namespace kb {

class Session {
 public:
  // Loads both programs, allocates the arena, the inputs and what the program computes for itself (prepared copies of
  // parameters, tables). Keeps references to backend and store. Error where the store's variables are others.
  Session(Backend& backend, StateStore& store, Compiled compiled);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Memory of an input, to be filled before step(); its type. Error naming the inputs there are when there is none of
  // that name.
  std::byte* input(std::string_view name);
  const Type& input_type(std::string_view name) const;
  bool has_input(std::string_view name) const { return inputs_.contains(name); }
  // A scalar input by its number, in the input's dtype; ignored when the program has no such input (a schedule may
  // offer more than a graph reads).
  void set_scalar(std::string_view name, double value);

  // One step. Allocates nothing and touches no new page once it has run twice.
  void step();

  // The output's elements as doubles, into `values` (resized; no allocation when large enough). Error naming the
  // outputs there are when there is none of that name.
  void read(std::string_view output, std::vector<double>& values) const;
  // Its first element, Error where it is empty.
  double read_scalar(std::string_view output) const;
  const Type& output_type(std::string_view name) const { return output(name).type; }
  bool has_output(std::string_view name) const { return outputs_.contains(name); }

  const Compiled& compiled() const { return compiled_; }
  const LoadReport& load_report() const { return load_; }
  int64_t arena_bytes() const { return arena_->bytes(); }
  // One step with a clock around each of its parts: times of the steps of `prepare`, then of `final`.
  std::vector<StepTime> profile();

 private:
  struct Input {
    Type type;
    std::unique_ptr<DeviceMemory> memory;
  };
  struct OutputPlace {
    Type type;
    const std::byte* data = nullptr;
  };

  void allocate_own_variables();
  void allocate_inputs(const Graph& graph);
  void load_programs();
  void find_outputs();
  std::byte* address(const Buffer& buffer) const;
  std::vector<std::byte*> addresses(const Schedule& schedule) const;
  const OutputPlace& output(std::string_view name) const;

  Backend& backend_;
  StateStore& store_;
  Compiled compiled_;
  LoadReport load_;
  std::unique_ptr<DeviceMemory> arena_;  // of both programs: they never run together
  std::map<std::string, Input, std::less<>> inputs_;
  std::map<std::string, OutputPlace, std::less<>> outputs_;
  std::map<std::string, std::unique_ptr<DeviceMemory>> own_;  // prepared copies and tables
  std::unique_ptr<Executable> prepare_, final_;
};

}  // namespace kb
