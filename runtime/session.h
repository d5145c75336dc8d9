// A compiled program on a backend: inputs to fill, scalars to set, a step to run, outputs to read. A training and an
// inference session share one StateStore, and so the parameters.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "runtime/backend.h"
#include "runtime/state_store.h"

namespace kb {

class Session {
 public:
  // Loads both programs, allocates the arena and the inputs. Keeps references to backend and store.
  Session(Backend& backend, StateStore& store, Compiled compiled);
  ~Session();

  // Memory of an input, to be filled before step(); its type. Error naming the inputs there are when there is none of
  // that name.
  std::byte* input(const std::string& name);
  const Type& input_type(const std::string& name) const;
  bool has_input(const std::string& name) const;
  // A scalar input by its number, in the input's dtype; ignored when the program has no such input (a schedule may
  // offer more than a graph reads).
  void set_scalar(const std::string& name, double value);

  void step();

  // The output's elements as doubles, into `values` (resized; no allocation when large enough).
  void read(const std::string& output, std::vector<double>& values) const;
  double read_scalar(const std::string& output) const;
  bool has_output(const std::string& name) const;

  const Compiled& compiled() const { return compiled_; }
  const LoadReport& load_report() const { return load_; }
  int64_t arena_bytes() const;
  // Times of every step of `prepare`, then of `final`.
  std::vector<StepTime> profile();

 private:
  std::vector<std::byte*> addresses(const Schedule& schedule);
  Backend& backend_;
  StateStore& store_;
  Compiled compiled_;
  LoadReport load_;
  std::unique_ptr<DeviceMemory> arena_;
  std::map<std::string, std::unique_ptr<DeviceMemory>> inputs_;
  std::map<std::string, Type> input_types_;
  std::unique_ptr<Executable> prepare_, final_;
};

}  // namespace kb
