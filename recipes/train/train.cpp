#include "recipes/train/train.h"

#include <fmt/format.h>

#include "recipes/config/config_check.h"
#include "recipes/config/learning.h"
#include "recipes/task/checked_task.h"
#include "recipes/task/validation.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/finite_check.h"
#include "recipes/train/fit.h"
#include "recipes/train/load_state.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

RunConfig with_names(RunConfig config, const Task& task, Machine machine) {
  config.data.dataset = task.data.empty() ? task.name : task.data;  // for messages
  config.machine.processes = machine.world.size();
  return config;
}

// Returns the configuration with what it leaves open: parts of library calls, samples of a worker, size of buckets.
RunConfig settled(RunConfig config, const Task& task, const Residency& residency, const Target& target,
                  Machine machine) {
  if (config.arithmetic.shards == 0) config.arithmetic.shards = target.shards;
  config.machine.threads = threads_of(config, machine.world);
  if (config.batch.fit)
    config.batch.per_worker =
        fit_per_worker(task, config, target, residency, run_memory(config, machine.backend.memory_bytes())).per_worker;
  config.arithmetic.bucket_mb = bucket_of_run(task, config, target, residency, machine.world).megabytes;
  return config;
}

std::unique_ptr<LoadedPrograms> load(const Task& task, const RunConfig& config, const Residency& residency,
                                     const Target& target, Machine machine) {
  Programs programs =
      compile_alike(machine.world, machine.backend, [&] { return compile_programs(task, config, target, residency); });
  check_memory(programs, config);
  return std::make_unique<LoadedPrograms>(machine.backend, std::move(programs), weights_seed(config.arithmetic));
}

void check_step(const TrainingState& from, const RunPlan& plan) {
  if (from.step < 0 || from.step > plan.steps)
    throw Error(
        fmt::format("the state to go on from: expected one after 0 to {} steps, the length of the training, "
                    "got one after {}",
                    plan.steps, from.step));
}

}  // namespace

LocalMachine::LocalMachine(int threads)
    : world_(make_local_communicator()),
      backend_(make_cpu_backend(
          {.threads = threads, .shards = 0, .cache_directory = "", .communicator = &world_.communicator()})) {}

namespace {

std::vector<Session*> training_sessions(LoadedPrograms& programs) {
  std::vector<Session*> sessions = {&programs.training};
  for (const std::unique_ptr<Session>& session : programs.grown) sessions.push_back(session.get());
  return sessions;
}

}  // namespace

LoopResult run_loop(const Prepared& prepared, const LoopStart& start, Observer& observer) {
  const auto& [task, config, plan, machine, programs, loader_threads, load_state] = prepared;
  const auto make_check = [&prepared](const LoopParts& parts) {
    Backend& backend = prepared.machine.backend;
    const ParameterSpace& space = prepared.programs.training.compiled().space;
    return std::make_unique<FiniteCheck>(parts, backend,
                                         compile_check(prepared.task, prepared.config, backend.target(), space));
  };
  const auto restore = [&prepared] {
    prepared.programs.store.initialise(weights_seed(prepared.config.arithmetic));
    prepared.load_state();
  };
  TrainingLoop loop({config, plan, batch_plan(config),
                     make_run_schedule(task.optimizers, config, plan, start.step, start.schedule_state), task,
                     loader_threads, training_sessions(programs), programs.inference, programs.metrics, programs.store,
                     machine.world, observer, start, programs.statistics.get(), programs.averaged.get(), make_check,
                     restore});
  return loop.run();
}

Result train(const Task& asked, const RunConfig& given, Machine machine, Observer& observer,
             const TrainingState* from) {
  check_values(given, asked.optimizers);
  const Task task = with_validation(checked_task(asked), given.judging.validation);
  const RunConfig here = with_names(given, task, machine);
  check_plan(here, task.train_count);
  const Target target = run_target(here, machine.backend.target());
  const Residency residency = choose_residency(here, task, target, run_memory(here, machine.backend.memory_bytes()));
  const RunConfig config = settled(here, task, residency, target, machine);
  const RunPlan plan = make_plan(config, task.train_count);
  if (from) check_step(*from, plan);
  const std::unique_ptr<LoadedPrograms> programs = load(task, config, residency, target, machine);
  const auto begin_with = [&] {
    if (from)
      load_state(programs->store, from->tensors,
                 "the state to go on from holds other tensors than the training (- the state, + the training)");
  };
  begin_with();
  LoopStart start;
  if (from) start.step = from->step, start.schedule_state = from->schedule;
  const int loader_threads = choose_loader_threads(config, machine.world.processors());
  const LoopResult loop =
      run_loop({task, config, plan, machine, *programs, loader_threads, begin_with}, start, observer);
  return {loop, {loop.steps, programs->store.canonical(), loop.schedule_state}};
}

}  // namespace kb
