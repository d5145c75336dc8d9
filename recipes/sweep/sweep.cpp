#include "recipes/sweep/sweep.h"

#include <fmt/format.h>

#include <memory>

#include "recipes/run/console.h"
#include "recipes/run/interrupt.h"
#include "recipes/sweep/claims.h"
#include "recipes/sweep/gpu_share.h"
#include "recipes/sweep/sweep_console.h"
#include "recipes/sweep/sweep_index.h"
#include "recipes/sweep/sweep_resources.h"
#include "recipes/sweep/sweep_source.h"
#include "recipes/sweep/sweep_table.h"
#include "recipes/sweep/sweep_trials.h"

namespace kb {
namespace {

std::string what_is_done(const SweepView& view) {
  return fmt::format("{} minibatches, {} of at most {} trials done, in {}", view.definition().minibatches.size(),
                     view.plan().closed(), view.plan().most_trials(view.definition()), view.folder().string());
}

// Trains the trials that wait. Returns false if it was asked to stop.
bool train_waiting(const Recipe& recipe, const SweepWork& work, SweepView& view, SweepConsole& watch, SweepIndex& index,
                   Console& console) {
  if (view.plan().waiting().empty()) return true;
  const auto say = [&](const std::string& line) { console.line(line); };
  const std::unique_ptr<const GpuShare> share =
      may_share_gpu(recipe, view, work.jobs) ? std::make_unique<GpuShare>() : nullptr;
  std::vector<std::string> program = work.program;
  if (share) program.insert(program.begin(), share->words().begin(), share->words().end());
  if (share && !share->shortfall().empty()) say("trials take turns on the GPU: " + share->shortfall());
  const std::optional<TrialResources> resources =
      choose_resources(recipe, view, {program, work.jobs, [&] { return watch.wants_to_stop(); }, say});
  if (!resources) return false;
  say(fmt::format("{} at once, {} thread{} each", resources->jobs, resources->threads,
                  resources->threads == 1 ? "" : "s"));
  ClaimFolder claims(view.folder() / "claims", work.lease);
  SweepSource source(recipe, view, claims, index, say);
  return run_trials(source, {view.folder(), program, resources->jobs, resources->threads, view.definition().shards},
                    watch);
}

// Prints what to do next; returns the exit code.
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
  check_build(read_sweep(work.store), work.store.string());
  SweepView view(work.store, [&](const SweepDefinition& definition, const PlannedTrial& trial) {
    return refusal_of(recipe, definition, trial);
  });
  view.advance();
  console.line("sweep: " + what_is_done(view));
  for (const std::string& line : foreign_runs(view)) console.line("NOTE: " + line);
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
