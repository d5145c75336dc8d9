// A compiled program on a backend: inputs to fill, scalars to set, a step to run, outputs to read. A training and an
// inference session share one StateStore, and so the parameters.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "runtime/backend.h"
#include "runtime/state_store.h"

namespace kb {

class Session {
 public:
  // Loads the programs, allocates the arena, the inputs and what the program computes for itself (prepared copies of
  // parameters, tables). Keeps references to backend and store. Error where the store's variables are others.
  Session(Backend& backend, StateStore& store, Compiled compiled);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Host memory of an input, to be filled whole before step(), until which it stays where it is; its type. An input
  // that is not asked for keeps its value. Error naming the inputs there are when there is none of that name. The step
  // throws Error naming input, sample and value where an index_input holds a number that it must not.
  std::byte* input(std::string_view name);
  const Type& input_type(std::string_view name) const;
  bool has_input(std::string_view name) const { return input_at_.contains(name); }
  // In place of input(), without a copy: the value of the next work() is at `from`, in memory of allocate_host(), and
  // stays there until work() was called depth() - 1 times more, or the outputs were read. Every later call must be
  // given the input anew.
  void lend(std::string_view name, const std::byte* from);
  int depth() const { return runner_->depth(); }
  std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) const { return backend_.allocate_host(bytes); }
  // A scalar input by its number, in the input's dtype; ignored when the program has no such input (a schedule may
  // offer more than a graph reads).
  void set_scalar(std::string_view name, double value);

  // A table without values of its own (InitKind::constant) holds what its user puts into its first bytes, zeros before.
  bool has_table(const std::string& name) const { return own_.contains(name); }
  void fill_table(const std::string& name, const void* data, int64_t bytes);

  // One step, every virtual worker with the inputs as they are: done at return on a CPU, else enqueued. Allocates
  // nothing and touches no new page once it has run twice.
  void step() {
    for (int64_t worker = 0; worker < virtual_workers(); ++worker) work(worker);
  }
  // Does the part of a step that falls to virtual worker `worker` of this process, with inputs of its own; workers are
  // called in order, and the last of them ends the step.
  void work(int64_t worker);
  int64_t virtual_workers() const { return compiled_.workers.virtual_workers; }
  // Waits for every step.
  void wait() { runner_->wait(); }
  // How many steps behind the last one outputs should be read so that no device waits for its host: 0 or 1.
  int lag() const { return runner_->lag(); }

  // The output's elements as doubles, into `values` (resized; no allocation when large enough), of the last step or,
  // with `age` 1 <= lag(), of the one before; waits for that step. Error naming the outputs there are when there is
  // none of that name.
  void read(std::string_view output, std::vector<double>& values, int age = 0) const;
  // Its bytes, in the output's type, until the next step; of a large output with `age` 0 alone.
  const std::byte* output(std::string_view name, int age = 0) const {
    return runner_->output(output_number(name), age);
  }
  // Its first element, Error where it is empty.
  double read_scalar(std::string_view output, int age = 0) const;
  const Type& output_type(std::string_view name) const;
  bool has_output(std::string_view name) const { return output_at_.contains(name); }

  const Compiled& compiled() const { return compiled_; }
  const LoadReport& load_report() const { return load_; }
  int64_t arena_bytes() const { return arena_->bytes(); }
  // Does the last virtual worker's part, to the bit as work() does, with a clock around each piece: the steps of
  // `prepare` (with one virtual worker), then those of `final`.
  Profile profile() {
    check_indices();
    return runner_->profile();
  }
  // The programs whose steps these are, in order.
  std::vector<const Schedule*> profiled() const { return compiled_.program.parts_of(compiled_.program.routines[0]); }

 private:
  using Places = std::map<std::string, size_t, std::less<>>;
  // An index_input (graph/functions.h), and where its values lie while they are known to.
  struct IndexInput {
    size_t number = 0;
    int64_t below = 0;
    const std::byte* values = nullptr;
    bool lent = false;
  };

  void allocate_own_variables();
  std::vector<RunnerParts::Input> find_inputs();
  std::vector<RunnerParts::Output> find_outputs();
  void load_programs();
  size_t program_of(const PartCall& call);
  std::byte* address(const PartCall& call, const Buffer& buffer) const;
  size_t input_number(std::string_view name) const;
  void note_values(size_t input, const std::byte* values, bool lent);
  void check_indices();
  size_t output_number(std::string_view name) const;

  Backend& backend_;
  StateStore& store_;
  Compiled compiled_;
  LoadReport load_;
  std::unique_ptr<DeviceMemory> arena_;                       // of all programs: they never run together
  std::map<std::string, std::unique_ptr<DeviceMemory>> own_;  // prepared copies, tables, partial sums
  std::vector<PartCall> calls_;                               // distinct ones, a program of the runner each
  Places input_at_, output_at_;
  std::vector<std::string> input_names_;
  std::vector<Type> input_types_, output_types_;
  std::vector<IndexInput> index_inputs_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kb
