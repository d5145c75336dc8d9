#include "recipes/study/sweep.h"

#include <fmt/format.h>

#include "recipes/run/console.h"
#include "recipes/run/interrupt.h"
#include "recipes/study/claims.h"
#include "recipes/study/packing.h"
#include "recipes/study/study_process.h"
#include "recipes/study/sweep_console.h"
#include "recipes/study/sweep_index.h"
#include "recipes/study/sweep_source.h"
#include "recipes/study/sweep_table.h"
#include "recipes/study/sweep_trials.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// Threads and trials at once, by a measurement where nothing says so.
TrialResources choose_resources(const Recipe& recipe, const SweepWork& work, const SweepView& view, Console& console) {
  const SweepDefinition& definition = view.definition();
  const PlannedTrial& first = *view.plan().waiting().front();
  RunConfig config = config_of_trial(recipe, definition, first);
  config.jobs = work.jobs;
  const TrialResources usual = resources_of(config, view.plan().most_trials(definition));
  const bool is_known = work.jobs > 0 || usual.jobs < 2 || config.threads > 0;
  if (is_known) return usual;
  const Packing packing =
      measure_packing(work.program, trial_of(recipe, definition, first), usual.jobs, definition.shards);
  console.line(packing.text());
  if (packing.pays()) return usual;
  config.jobs = 1;
  return resources_of(config, 1);
}

std::string what_is_done(const SweepView& view) {
  return fmt::format("{} minibatches, {} of at most {} trials done, in {}", view.definition().minibatches.size(),
                     view.plan().closed(), view.plan().most_trials(view.definition()), view.folder().string());
}

// False where it was asked to stop.
bool train_waiting(const Recipe& recipe, const SweepWork& work, SweepView& view, SweepConsole& watch,
                   Console& console) {
  if (view.plan().waiting().empty()) return true;
  const TrialResources resources = choose_resources(recipe, work, view, console);
  console.line(fmt::format("{} at once, {} thread{} each", resources.jobs, resources.threads,
                           resources.threads == 1 ? "" : "s"));
  const ClaimFolder claims(view.folder() / "claims", work.lease);
  SweepSource source(recipe, view, claims);
  return run_trials(source, {view.folder(), work.program, resources.jobs, resources.threads, view.definition().shards},
                    watch);
}

}  // namespace

int run_sweep(const Recipe& recipe, const SweepWork& work) {
  Console console(work.quiet);
  SweepView view(work.store);
  view.refresh(true);
  console.line("sweep: " + what_is_done(view));
  const Interrupt interrupt;
  Interrupt::remember(false);
  SweepConsole watch(console, view, work.budget);
  const bool is_done = train_waiting(recipe, work, view, watch, console);
  view.refresh();
  write_index(view);
  console.line("\n" + sweep_table(view.plan()) + "store: " + view.folder().string() +
               " (index.sqlite, a run folder for each trial)");
  if (!is_done) {
    console.line((Interrupt::number() != 0 ? "stopped; to go on: " : "the budget is spent; to go on: ") + work.go_on);
    return Interrupt::number() != 0 ? 128 + Interrupt::number() : 0;
  }
  console.line("next: ./run study " + view.folder().string());
  return view.has_failed() ? 1 : 0;
}

}  // namespace kb
