// A Session runs a compiled program on a backend: the caller fills inputs, sets scalars, runs a step and reads outputs.
// A training session and an inference session share one StateStore, and so the parameters.
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

// The memory of activations, gradients and workspace, by lane (compiler/step_programs.h). Sessions whose steps never
// overlap may share it.
using Arena = std::vector<std::shared_ptr<DeviceMemory>>;
// Allocates an arena that is large enough for each of the programs.
Arena allocate_arena(Backend& backend, std::span<const Program* const> programs);

class Session {
 public:
  // Loads the programs; allocates the arena, the inputs, and the memory of what the program computes for itself
  // (prepared copies of parameters, tables). Keeps references to backend and store. `arena`: that of sessions which
  // share one; a session overwrites what another left there, outputs included. Empty: the session has its own. `among`:
  // the ranks with which a program for several processes sums. Throws Error if variables of the store differ.
  Session(Backend& backend, StateStore& store, Compiled compiled, Arena arena = {}, const RankGroup& among = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Returns the host memory of an input, and its type. The caller fills it whole before step(); the address is valid
  // until then. An input that is not asked for keeps its value. Throws Error listing the inputs if none has this name.
  // The step throws Error, naming input, sample and value, if an index_input holds an index out of range.
  std::byte* input(std::string_view name);
  const Type& input_type(std::string_view name) const;
  bool has_input(std::string_view name) const { return input_at_.contains(name); }
  // Replaces input() without a copy: the next work() reads the value at `from`, which lies in memory of
  // allocate_host(). It must stay there until work() was called depth() - 1 times more or the outputs were read. Every
  // later call needs lend() or input() again for this input.
  void lend(std::string_view name, const std::byte* from);
  int depth() const { return runner_->depth(); }
  std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) const { return backend_.allocate_host(bytes); }
  // Sets a scalar input, converted to the input's dtype. Does nothing if the program has no such input, because a
  // schedule may offer more scalars than a graph reads.
  void set_scalar(std::string_view name, double value);

  // Returns whether the session has a table of this name. A table without values of its own (InitKind::constant) is
  // zero until its user fills its first bytes. So is a cache (graph/functions.h).
  bool has_table(const std::string& name) const { return own_.contains(name); }
  void fill_table(const std::string& name, const void* data, int64_t bytes);

  // Runs one step, in which every virtual worker takes the inputs as they are. On a CPU the step is done at return; a
  // GPU has it enqueued. After two steps it allocates nothing and touches no new page.
  void step() {
    for (int64_t worker = 0; worker < virtual_workers(); ++worker) work(worker);
  }
  // Does one virtual worker's part of a step, with inputs of its own. `worker` counts the virtual workers of this
  // process; they are called in order, and the last one ends the step.
  void work(int64_t worker);
  int64_t virtual_workers() const { return compiled_.workers.virtual_workers; }
  // Waits until every step is done.
  void wait() { runner_->wait(); }
  // Returns how many steps late outputs should be read, so that no device waits for its host: 0 or 1.
  int lag() const { return runner_->lag(); }

  // Reads the output's elements as doubles into `values`, which is resized (without allocating if it is large enough).
  // They are of the last step or, if `age` is 1 (at most lag()), of the one before; waits for that step. Throws Error
  // listing the outputs if none has this name.
  void read(std::string_view output, std::vector<double>& values, int age = 0) const;
  // Returns the output's bytes, in the output's type; they are valid until the next step. A large output has `age` 0
  // only.
  const std::byte* output(std::string_view name, int age = 0) const {
    return runner_->output(output_number(name), age);
  }
  // Returns the output's first element. Throws Error if the output is empty.
  double read_scalar(std::string_view output, int age = 0) const;
  const Type& output_type(std::string_view name) const;
  bool has_output(std::string_view name) const { return output_at_.contains(name); }

  const Compiled& compiled() const { return compiled_; }
  const LoadReport& load_report() const { return load_; }
  int64_t arena_bytes() const;
  // Does the last virtual worker's part with the same bits as work(), and measures the time of each piece: the steps of
  // `prepare` (if there is one virtual worker), then those of `final`.
  Profile profile() {
    check_indices();
    return runner_->profile();
  }
  // Returns the programs whose steps profile() measures, in order.
  std::vector<const Schedule*> profiled() const { return compiled_.program.parts_of(compiled_.program.routines[0]); }

 private:
  using Places = std::map<std::string, size_t, std::less<>>;
  // An index_input (graph/functions.h), with the address of its values while that is known.
  struct IndexInput {
    size_t number = 0;
    int64_t below = 0;
    const std::byte* values = nullptr;
    bool lent = false;
  };

  void allocate_own_variables();
  std::vector<RunnerParts::Input> find_inputs();
  std::vector<RunnerParts::Output> find_outputs();
  void load_programs(const RankGroup& among);
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
  Arena arena_;  // all programs of a lane share its memory, since they never run at the same time
  std::map<std::string, std::unique_ptr<DeviceMemory>> own_;  // prepared copies, tables and partial sums
  std::vector<PartCall> calls_;                               // each call once; the runner has one program for each
  Places input_at_, output_at_;
  std::vector<std::string> input_names_;
  std::vector<Type> input_types_, output_types_;
  std::vector<IndexInput> index_inputs_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kb
