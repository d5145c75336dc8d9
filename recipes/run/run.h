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

// One run of a command line: the observer of its training, with the run folder and the state that it goes on from.
class Run : public RunObserver {
 public:
  // `resumed`: the run to go on with, whose flags these are; `branch`: the state that a new run, or one without a
  // checkpoint, begins with.
  Run(const Recipe& recipe, const RunConfig& config, World& world, std::optional<ResumedRun> resumed,
      std::optional<BranchPoint> branch = std::nullopt);

  // Returns the exit code of the process.
  int go();
  std::vector<Dump> wants_dumps() override { return given_.looking.dump; }
  void settled(const Task& task, const Settled& settled) override;
  bool ready(const Ready& ready, LoopStart& start) override;
  void ended(const Ready& ready, const LoopResult& result) override;

 private:
  const Checkpoint* checkpoint() const { return resumed_ && resumed_->checkpoint ? &*resumed_->checkpoint : nullptr; }
  // State that the first step begins with; null: the run's initial one.
  const Checkpoint* origin() const { return branch_ ? &branch_->checkpoint : checkpoint(); }
  std::string schedule_state() const { return origin() ? origin()->fact(kScheduleState) : ""; }
  int64_t first_step(const RunPlan& plan) const;
  RunSchedule first_schedule(const Ready& ready) const;
  void tell_device();
  ProcessMemory tell_programs(const Ready& ready);
  // Puts the checkpoint's state, or that of --init, over the initial values that the store has.
  void load_state(StateStore& store, const std::function<void(const std::string&)>& say) const;
  // Returns the choices of this device; where it makes none, those of the one that the run comes from, and may go back
  // to.
  std::string algorithm_choices() const;
  // Throws Error in every process of the run where they would not take the same steps.
  void check_alike(const Ready& ready, const std::map<std::string, std::string>& facts) const;
  // The flags that the manifest has, and the recipe.
  Hyperparameters hyperparameters() const;
  void begin_at(const Ready& ready, LoopStart& start);
  void open_record(const Ready& ready, const LoopStart& start, std::map<std::string, std::string> facts);
  // Logs the settings; a process that does not lead logs nothing.
  MlperfLog mlperf_log(const Ready& ready) const;
  void check_resumable(const Ready& ready, const std::map<std::string, std::string>& facts) const;
  void open_folder(const Ready& ready, int64_t process_bytes);
  // Says what goes on; returns the manifest's new text.
  std::string describe_resumed(const ManifestFacts& facts);
  void record_end(const Ready& ready, const LoopResult& result);
  void tell_end(const Ready& ready, const LoopResult& result);
  // Tells why the run diverged, if it ended so.
  int exit_code(const LoopResult& result) const;
  // Each process has read other samples; the console is the leading one's, and silent under --quiet.
  void say_of_this_process(const std::string& line);
  std::string closing_advice(const LoopResult& result, const RunPlan& plan) const;
  void draw_layers(const Ready& ready);
  // `flags`: those that the run did not have.
  std::string how_to_go_on(const std::string& flags = "") const;

  const Recipe& recipe_;
  const RunConfig given_;
  RunConfig recorded_;  // as_settled, once it is
  World& world_;
  std::optional<ResumedRun> resumed_;
  std::optional<BranchPoint> branch_;
  Device device_;
  DataFacts data_;
  std::optional<RunFolder> folder_;
  int code_ = 0;
};

}  // namespace kb
