// All of a run that is there before step 0: its device, its task with the data, its plan and its compiled programs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "recipes/config/plan.h"
#include "recipes/config/run_task.h"
#include "recipes/run/console.h"
#include "recipes/train/device.h"
#include "recipes/train/fit.h"
#include "recipes/train/programs.h"
#include "recipes/train/world.h"
#include "runtime/checkpoint.h"

namespace kb {

constexpr const char* kAlgorithmChoices = "picks";  // in a checkpoint

class RunSetup {
 public:
  // Chooses the device, reads the data and compiles, and tells the console of it. Collective call. `from`: the
  // checkpoint that the run goes on from, or branches from; null: it begins. All arguments must outlive it.
  RunSetup(const Recipe& recipe, const RunConfig& given, World& world, Console& console, const Checkpoint* from);

  // Puts the checkpoint's state, or that of --init, over the initial values that the store has.
  void load_state(const std::function<void(const std::string&)>& say) const;
  // Throws Error in every process of the run where they would not take the same steps. `facts`: of a checkpoint.
  void check_alike(const std::map<std::string, std::string>& facts) const;
  // Returns the choices of this device; where it makes none, those of the one that the run comes from, and may go back
  // to.
  std::string algorithm_choices() const;
  // Returns the configuration with the size of buckets that was chosen.
  RunConfig with_bucket() const;

  const Recipe& recipe;
  const RunConfig& given;
  World& world;
  Console& console;
  const Checkpoint* from;
  Device device;
  const Target target;     // of the device, as --memory asks
  std::optional<Fit> fit;  // as --fit asks
  const RunConfig config;  // that leaves nothing of the run's bits open
  Task task;
  DataFacts data;
  Residency residency;
  RunPlan plan;
  int loader_threads = 0;
  std::unique_ptr<LoadedPrograms> programs;

 private:
  void tell_device();
  void load_and_compile();
  void check_plan_for(const Task& known) const;
  void choose_bucket_size(const Task& of, const Residency& at);
  Residency residency_of(const Task& of, const RunConfig& with) const;
  RunConfig fitted_config();
  RunConfig own_part(RunConfig of) const;

  double bucket_mb_ = 0;  // as given, or chosen for this network
};

}  // namespace kb
