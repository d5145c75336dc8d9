#include "recipes/study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "recipes/perf/memory_answer.h"
#include "recipes/run/console.h"
#include "recipes/run/interrupt.h"
#include "recipes/study/claims.h"
#include "recipes/study/packing.h"
#include "recipes/study/scratch_folder.h"
#include "recipes/study/study_process.h"
#include "recipes/study/sweep_console.h"
#include "recipes/study/sweep_index.h"
#include "recipes/study/sweep_source.h"
#include "recipes/study/sweep_table.h"
#include "recipes/study/sweep_trials.h"
#include "recipes/study/trial_memory.h"
#include "runtime/usable_memory.h"

namespace kb {
namespace {

// How many trials the machine's memory holds, were all of the largest minibatch; nothing where it was asked to stop.
std::optional<int> jobs_in_memory(const Recipe& recipe, const SweepWork& work, const SweepView& view,
                                  SweepConsole& watch, Console& console) {
  const SweepDefinition& definition = view.definition();
  PlannedTrial largest = *view.plan().waiting().front();
  largest.minibatch = definition.minibatches.back();
  // Then the largest minibatch has other trials, and nothing is known of them.
  if (!refusal_of(recipe, definition, largest).empty()) return std::numeric_limits<int>::max();
  const int64_t processes = config_of_trial(recipe, definition, largest).processes;
  const ScratchFolder scratch(view.folder());
  const std::optional<int64_t> bytes = trial_memory(work.program, trial_of(recipe, definition, largest), scratch.path(),
                                                    [&] { return watch.wants_to_stop(); });
  if (!bytes) return std::nullopt;
  const int jobs = trials_in_memory(processes * *bytes, usable_memory());
  console.line(fmt::format("a trial of minibatch {} takes {}: the memory holds {}", largest.minibatch,
                           bytes_text(processes * *bytes), jobs));
  return jobs;
}

// Threads and trials at once, by memory and a measurement where nothing says so; nothing where it was asked to stop.
std::optional<TrialResources> choose_resources(const Recipe& recipe, const SweepWork& work, const SweepView& view,
                                               SweepConsole& watch, Console& console) {
  const SweepDefinition& definition = view.definition();
  const PlannedTrial& first = *view.plan().waiting().front();
  const size_t most = view.plan().most_trials(definition);
  RunConfig config = config_of_trial(recipe, definition, first);
  config.jobs = work.jobs;
  const TrialResources usual = resources_of(config, most);
  if (work.jobs > 0 || usual.jobs < 2) return usual;
  const std::optional<int> in_memory = jobs_in_memory(recipe, work, view, watch, console);
  if (!in_memory) return std::nullopt;
  config.jobs = std::min(usual.jobs, *in_memory);
  const TrialResources packed = resources_of(config, most);
  if (packed.jobs < 2 || config.threads > 0) return packed;
  config.jobs = 1;
  const TrialResources alone = resources_of(config, most);
  const std::optional<Packing> packing =
      measure_packing({work.program, trial_of(recipe, definition, first), packed.jobs, packed.threads, alone.threads,
                       definition.shards},
                      view.folder(), [&] { return watch.wants_to_stop(); });
  if (!packing) return std::nullopt;
  console.line(packing->text());
  return packing->pays() ? packed : alone;
}

std::string what_is_done(const SweepView& view) {
  return fmt::format("{} minibatches, {} of at most {} trials done, in {}", view.definition().minibatches.size(),
                     view.plan().closed(), view.plan().most_trials(view.definition()), view.folder().string());
}

// False where it was asked to stop.
bool train_waiting(const Recipe& recipe, const SweepWork& work, SweepView& view, SweepConsole& watch, SweepIndex& index,
                   Console& console) {
  if (view.plan().waiting().empty()) return true;
  const std::optional<TrialResources> resources = choose_resources(recipe, work, view, watch, console);
  if (!resources) return false;
  console.line(fmt::format("{} at once, {} thread{} each", resources->jobs, resources->threads,
                           resources->threads == 1 ? "" : "s"));
  const ClaimFolder claims(view.folder() / "claims", work.lease);
  SweepSource source(recipe, view, claims, index);
  return run_trials(
      source, {view.folder(), work.program, resources->jobs, resources->threads, view.definition().shards}, watch);
}

// Says what comes next; returns the exit code.
int conclude(const SweepView& view, const SweepWork& work, bool has_stopped, Console& console) {
  if (has_stopped) {
    console.line((Interrupt::number() != 0 ? "stopped; to go on: " : "the budget is spent; to go on: ") + work.go_on);
    return Interrupt::number() != 0 ? 128 + Interrupt::number() : 0;
  }
  if (!view.plan().is_done()) {
    const size_t failed = view.plan().count(TrialState::failed);
    console.line(fmt::format(
        "not done: {} trial{} failed here, and larger minibatches wait for them; to go on, once the reason is gone: {}",
        failed, failed == 1 ? "" : "s", work.go_on));
    return 1;
  }
  console.line("next: ./run study " + view.folder().string());
  return 0;
}

}  // namespace

int run_sweep(const Recipe& recipe, const SweepWork& work) {
  Console console(work.quiet);
  SweepView view(work.store, [&](const SweepDefinition& definition, const PlannedTrial& trial) {
    return refusal_of(recipe, definition, trial);
  });
  view.advance();
  console.line("sweep: " + what_is_done(view));
  const Interrupt interrupt;
  Interrupt::remember(false);
  SweepConsole watch(console, view, work.budget);
  SweepIndex index;
  const bool has_stopped = !train_waiting(recipe, work, view, watch, index, console);
  view.refresh();
  if (const std::string reason = index.write(view); !reason.empty()) console.line("NOTE: " + reason);
  console.line("\n" + sweep_table(view.plan()) + "store: " + view.folder().string() +
               " (index.sqlite, a run folder for each trial)");
  return conclude(view, work, has_stopped, console);
}

}  // namespace kb
