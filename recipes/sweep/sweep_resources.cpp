#include "recipes/sweep/sweep_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "recipes/perf/memory_answer.h"
#include "recipes/sweep/packing.h"
#include "recipes/sweep/scratch_folder.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/sweep/trial_memory.h"
#include "runtime/usable_memory.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

const PlannedTrial& first_trial(const SweepView& view) { return *view.plan().waiting().front(); }

RunConfig first_config(const Recipe& recipe, const SweepView& view) {
  return config_of_trial(recipe, view.definition(), first_trial(view));
}

// Returns how many trials the memory holds if all are of the largest minibatch; nothing if it was asked to stop.
std::optional<int> jobs_in_memory(const Recipe& recipe, const SweepView& view, const SweepMachine& machine) {
  const SweepDefinition& definition = view.definition();
  PlannedTrial largest = first_trial(view);
  largest.minibatch = definition.minibatches.back();
  // The recipe refuses this trial at the largest minibatch, which will have other trials; nothing is known of their
  // memory.
  if (!refusal_of(recipe, definition, largest).empty()) return std::numeric_limits<int>::max();
  const int64_t processes = config_of_trial(recipe, definition, largest).machine.processes;
  const ScratchFolder scratch(view.folder());
  const std::optional<TrialMemory> memory =
      trial_memory(machine.program, trial_of(recipe, definition, largest), scratch.path(), machine.wants_to_stop);
  if (!memory) return std::nullopt;
  const int jobs = trials_in_memory(*memory, processes, usable_memory());
  const std::string on_gpu = memory->gpu_size > 0 ? " and " + bytes_text(memory->on_gpu) + " of the GPU's" : "";
  machine.say(fmt::format("a trial of minibatch {} takes {}{}: the memory holds {}", largest.minibatch,
                          bytes_text(processes * memory->process), on_gpu, jobs));
  return jobs;
}

// Returns how many trials can run at once if each of their processes has a processor.
int most_jobs(const RunConfig& config, size_t trials) {
  const int64_t processors = std::max<int64_t>(1, usable_processors() / config.machine.processes);
  return static_cast<int>(std::min<int64_t>(processors, static_cast<int64_t>(trials)));
}

}  // namespace

// A trial with several processes has one GPU for each, so that it shares none.
bool may_share_gpu(const Recipe& recipe, const SweepView& view, int64_t jobs) {
  const RunConfig config = first_config(recipe, view);
  return takes_gpu(config) && config.machine.processes == 1 && jobs != 1;
}

std::optional<TrialResources> choose_resources(const Recipe& recipe, const SweepView& view,
                                               const SweepMachine& machine) {
  const size_t trials = view.plan().most_trials(view.definition());
  RunConfig config = first_config(recipe, view);
  const auto resources = [&](int64_t jobs) {
    config.looking.jobs = jobs;
    return resources_of(config, trials);
  };
  if (machine.jobs > 0) return resources(machine.jobs);
  const bool on_gpu = takes_gpu(config);
  int most = on_gpu && config.machine.processes > 1 ? 1 : most_jobs(config, trials);
  if (most < 2) return resources(1);
  const std::optional<int> in_memory = jobs_in_memory(recipe, view, machine);
  if (!in_memory) return std::nullopt;
  most = std::min(most, *in_memory);
  if (config.machine.threads > 0 && !on_gpu) return resources(most);
  const ScratchFolder scratch(view.folder());
  const Trial trial = trial_of(recipe, view.definition(), first_trial(view));
  const std::vector<int> packings = packings_to_try(most, on_gpu);
  if (packings.empty()) return resources(1);
  const auto speed = [&](int jobs) {
    TrialResources packed = resources(jobs);
    packed.shards = view.definition().shards;
    return packed_speed({machine.program, trial, packed}, scratch.path(), machine.wants_to_stop);
  };
  const std::optional<int> best = best_packing(packings, speed, machine.say);
  return best ? std::optional(resources(*best)) : std::nullopt;
}

}  // namespace kb
