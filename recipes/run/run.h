// One run of a command line, from its flags to its exit code.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "recipes/config/run_task.h"
#include "recipes/run/process_memory.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_observer.h"
#include "recipes/train/device.h"
#include "recipes/train/train.h"

namespace kb {

// Observes the training of the run, and has the run folder and the state that the training goes on from.
class Run : public RunObserver {
 public:
  // `resumed`: the run to go on with, whose flags `config` has. `branch`: the state that a new run, or one without a
  // checkpoint, begins with.
  Run(const Recipe& recipe, const RunConfig& config, World& world, std::optional<ResumedRun> resumed,
      std::optional<BranchPoint> branch = std::nullopt);

  // Trains and returns the exit code of the process.
  int go();
  std::vector<Dump> wants_dumps() override { return given_.looking.dump; }
  bool wants_state() override { return false; }  // checkpoints have it
  void settled(const Task& task, const Settled& settled) override;
  bool ready(const Ready& ready, LoopStart& start) override;
  void ended(const Ready& ready, const LoopResult& result) override;

 private:
  const Checkpoint* checkpoint() const { return resumed_ && resumed_->checkpoint ? &*resumed_->checkpoint : nullptr; }
  // Returns the state that the first step begins with; null if it is the run's initial one.
  const Checkpoint* origin() const { return branch_ ? &branch_->checkpoint : checkpoint(); }
  std::string schedule_state() const { return origin() ? origin()->fact(kScheduleState) : ""; }
  int64_t first_step(const RunPlan& plan) const;
  int64_t updates_ahead(const RunPlan& plan) const;  // RunSchedule::ahead()
  RunSchedule first_schedule(const Ready& ready) const;
  void tell_device();
  ProcessMemory tell_programs(const Ready& ready);
  // Loads the checkpoint's state, or that of --init, in place of the initial values in the store.
  void load_state(StateStore& store, const std::function<void(const std::string&)>& say) const;
  // Returns the choices of algorithms on this device. If it makes none, returns those of the device that the run comes
  // from, and to which it may go back.
  std::string algorithm_choices() const;
  // Throws Error in every process of the run if they would not take the same steps.
  void check_alike(const Ready& ready, const std::map<std::string, std::string>& facts) const;
  // Returns the recipe and the flags that the manifest has.
  Hyperparameters hyperparameters() const;
  void begin_at(const Ready& ready, LoopStart& start);
  void open_record(const Ready& ready, const LoopStart& start, std::map<std::string, std::string> facts);
  // Returns the log, with the settings logged; that of a process that does not lead writes nothing.
  MlperfLog mlperf_log(const Ready& ready) const;
  void check_resumable(const Ready& ready, const std::map<std::string, std::string>& facts) const;
  void open_folder(const Ready& ready, int64_t process_bytes);
  // Notes what the run goes on from; returns the manifest's new text.
  std::string describe_resumed(const ManifestFacts& facts);
  void record_end(const Ready& ready, const LoopResult& result);
  void tell_end(const Ready& ready, const LoopResult& result);
  // Returns the exit code. If the run diverged, prints why.
  int exit_code(const LoopResult& result) const;
  // Prints a line about this process, which has read other samples than the others. The leading process prints to the
  // console, other processes, and all with --quiet, to standard error.
  void say_of_this_process(const std::string& line);
  std::string closing_advice(const LoopResult& result, const Ready& ready) const;
  std::string command_that_writes(const Task& task) const;
  void draw_layers(const Ready& ready);
  // Returns the command that goes on with the run. `flags`: further ones that the run did not have.
  std::string how_to_go_on(const std::string& flags = "") const;

  const Recipe& recipe_;
  const RunConfig given_;
  RunConfig recorded_;  // flags under which it is recorded; set by settled()
  World& world_;
  std::optional<ResumedRun> resumed_;
  std::optional<BranchPoint> branch_;
  Device device_;
  DataFacts data_;
  std::optional<RunFolder> folder_;
  int code_ = 0;
};

}  // namespace kb
