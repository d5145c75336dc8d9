#include "recipes/train/train.h"

#include <fmt/format.h>

#include <future>

#include "recipes/config/check_recipe.h"
#include "recipes/task/checked_task.h"
#include "recipes/task/validation.h"
#include "recipes/train/device.h"
#include "recipes/train/finite_check.h"
#include "recipes/train/fit.h"
#include "recipes/train/gradient_server.h"
#include "recipes/train/join.h"
#include "recipes/train/load_state.h"
#include "recipes/train/ordered_steps.h"
#include "recipes/train/run_schedule.h"
#include "recipes/train/settle.h"
#include "recipes/train/training_loop.h"

namespace kb {
namespace {

// A task with its data, every choice, and the loaded programs.
struct Prepared {
  Task task;
  Settled settled;
  std::unique_ptr<LoadedPrograms> programs;
};

class Preparation {
 public:
  Preparation(const TrainConfig& config, Machine machine, Observer& observer)
      : config_(config), machine_(machine), observer_(observer), dumps_(observer.wants_dumps()) {}

  Prepared run(const Task& given) {
    const Task declared = complete(given);
    if (!declared.read) return compile_with_data(declared);
    // The samples of a ragged task decide the lengths for which programs are compiled.
    return declared.is_ragged() ? compile_with_data(complete(declared.read())) : compile_beside_reading(declared);
  }

 private:
  Task complete(const Task& task) const { return with_validation(checked_task(task), config_.judging.validation); }

  // May run in a thread of its own. Until it has returned, no other thread of this process may use the communicator.
  std::unique_ptr<LoadedPrograms> load(const Task& task, const Settled& settled) const {
    Programs programs =
        compile_alike(machine_.world, machine_.backend, [&] { return compile_programs(task, settled, dumps_); });
    const ParameterCopies copies = settled.plan.copies(machine_.world.rank());
    check_memory(programs, copies, settled.target.processor, config_.arithmetic.memory);
    return std::make_unique<LoadedPrograms>(machine_.backend, std::move(programs), weights_seed(config_.arithmetic),
                                            copies, machine_.world.rank(),
                                            settled.plan.ordered > 0 ? worker_part : replica_name);
  }

  Prepared compile_with_data(const Task& task) const {
    Prepared all{task, settle(task, config_, machine_), nullptr};
    observer_.settled(all.task, all.settled);
    check_data_alike(all);
    all.programs = load(all.task, all.settled);
    return all;
  }

  // Compiles in one thread while this thread reads the data. If both fail, the error of the data is thrown.
  Prepared compile_beside_reading(const Task& declared) const {
    std::optional<Settled> before;
    std::future<std::unique_ptr<LoadedPrograms>> compiling;
    try {
      before = settle(declared, config_, machine_);
    } catch (const Error&) {
      return compile_with_data(complete(declared.read()));  // the data may have other sample counts than declared
    }
    compiling = std::async(&Preparation::load, this, declared, *before);  // if no thread can be made, get() compiles
    Prepared all{complete(declared.read()), *before, nullptr};
    all.settled.plan = make_plan(config_, before->batch, all.task.train_count);
    all.settled.residency = choose_residency(config_.arithmetic.resident, all.task, before->target,
                                             run_memory(config_.arithmetic.memory, machine_.backend.memory_bytes()));
    if (config_.sync.policy != Policy::sync) all.settled.residency.train = 0;
    observer_.settled(all.task, all.settled);
    all.programs = compiling.get();
    check_data_alike(all);
    if (all.settled.residency == before->residency) return all;
    all.programs.reset();
    all.settled = settle(all.task, config_, machine_);
    all.programs = load(all.task, all.settled);
    return all;
  }

  // Throws Error unless all processes have the same data and residency. These facts decide whether programs are
  // compiled anew, which all processes must do alike.
  void check_data_alike(const Prepared& all) const {
    const Residency& on = all.settled.residency;
    machine_.world.check_alike(
        {{"data", all.task.data + " " + all.task.fingerprint},
         {"what is on the device", fmt::format("{} training and {} test samples", on.train, on.test)}});
  }

  const TrainConfig& config_;
  const Machine machine_;
  Observer& observer_;
  const std::vector<Dump> dumps_;
};

LoopStart start_at(const TrainingState* from, StateStore& store) {
  LoopStart start;
  if (!from) return start;
  start.step = from->step;
  start.schedule_state = from->schedule;
  start.load_state = [from, &store] {
    load_state(store, from->tensors,
               "the state to go on from holds other tensors than the training (- the state, + the training)");
  };
  start.load_state();
  return start;
}

void check_step(const LoopStart& start, const RunPlan& plan) {
  if (start.step < 0 || start.step > plan.steps)
    throw Error(
        fmt::format("the state to go on from: expected one after 0 to {} steps, the length of the training, "
                    "got one after {}",
                    plan.steps, start.step));
}

// The scalars of a run: the schedule gives them to its steps, and `join` to the joins of its replicas.
struct CourseScalars {
  RunSchedule schedule;
  std::optional<JoinScalars> join;
};

// Throws the errors of the schedule, of the outer optimizer and of the order of gradients, which need no state.
CourseScalars make_course(const Ready& ready) {
  const Settled& settled = ready.settled;
  const Rules rules = rules_of(ready.task);
  const std::vector<std::string>& groups = ready.programs.metrics.groups;
  CourseScalars course{
      make_run_schedule(rules, learning_of_groups(settled.config, groups), settled.batch, settled.plan), {}};
  if (ready.programs.find(Use::join)) course.join.emplace(rules, settled.config, groups, settled.plan);
  if (settled.plan.ordered > 0) check_gradient_order(settled, ready.machine.world.size());
  return course;
}

CopyPrograms copy_programs(const Ready& ready, std::optional<JoinScalars> scalars) {
  const RunPlan& plan = ready.settled.plan;
  const ParameterCopies number = plan.copies(ready.machine.world.rank());
  if (number.all == 0) return {};
  CopyPrograms copies{.sessions = ready.programs.all(Use::replica),
                      .join = ready.programs.find(Use::join),
                      .scalars = std::move(scalars),
                      .apply = ready.programs.find(Use::apply)};
  StateStore& store = ready.programs.store;
  const auto name = copies.join ? replica_name : worker_part;
  for (int64_t copy = 0; copy < number.all && ready.machine.world.leads(); ++copy)
    copies.gathered.push_back(number.has(copy) ? &store.part(name(copy)) : &store.host_part(name(copy)));
  for (int64_t own = 0; own < number.own; ++own) copies.stores.push_back(&store.part(name(number.first + own)));
  copies.first = number.first;
  return copies;
}

// Returns the programs of an evaluation for each phase of the plan and bucket; none if there are none of this use.
std::vector<Session*> evaluations_of(const Ready& ready, Use use) {
  std::vector<Session*> all;
  const RunPlan& plan = ready.settled.plan;
  for (size_t phase = 0; phase < plan.phase_count(); ++phase)
    for (size_t bucket = 0; bucket < ready.settled.buckets.size(); ++bucket)
      if (Session* session = ready.programs.find(use, plan.judging_phase(phase), bucket)) all.push_back(session);
  return all;
}

// The processes of an ordered training: while it lives, each is a world of its own, and what they tell each other are
// messages between two.
class PartedTeam {
 public:
  PartedTeam(World& world, const RunPlan& plan)
      : world_(world), team_(plan.ordered > 0 && world.size() > 1 ? &world.part() : nullptr) {}
  ~PartedTeam() {
    if (team_) world_.rejoin();
  }
  PartedTeam(const PartedTeam&) = delete;
  PartedTeam& operator=(const PartedTeam&) = delete;
  Communicator* communicator() const { return team_; }

 private:
  World& world_;
  Communicator* team_;
};

LoopResult run_loop(const Ready& ready, const LoopStart& start, CourseScalars course, Observer& observer) {
  const auto& [task, settled, machine, programs] = ready;
  const auto make_check = [&](const LoopParts& parts, size_t phase, size_t bucket) {
    const ParameterSpace& space = programs.update().compiled().space;
    return std::make_unique<FiniteCheck>(parts, machine.backend, compile_check(task, settled, phase, bucket, space));
  };
  const auto restore = [&] {
    programs.store.initialise(weights_seed(settled.config.arithmetic));
    if (start.load_state) start.load_state();
  };
  course.schedule.go_to(start.step, start.schedule_state, start.updates_ahead);
  CopyPrograms copies = copy_programs(ready, std::move(course.join));  // numbered by the rank among all processes
  const PartedTeam team(machine.world, settled.plan);
  LoopParts parts{settled,
                  settled.config,
                  settled.plan,
                  settled.batch,
                  std::move(course.schedule),
                  task,
                  settled.loader_threads,
                  programs.all(Use::update),
                  evaluations_of(ready, Use::evaluate),
                  programs.metrics,
                  programs.store,
                  machine.world,
                  observer,
                  start,
                  programs.find(Use::estimate),
                  evaluations_of(ready, Use::evaluate_averages),
                  make_check,
                  restore,
                  std::move(copies),
                  team.communicator()};
  if (machine.world.leads() || !parts.team) return run_training_loop(std::move(parts));
  set_phase(parts, 0, start.step);
  compute_gradients(parts, *parts.team);
  LoopResult result;
  result.steps = start.step;
  return result;
}

}  // namespace

Result train(const Task& given, const TrainConfig& config, Machine machine, Observer& observer,
             const TrainingState* from) {
  check_values(config, rules_of(given));
  const Prepared all = Preparation(config, machine, observer).run(given);
  StateStore& store = all.programs->store;
  const Ready ready{all.task, all.settled, machine, *all.programs};
  LoopStart start = start_at(from, store);
  CourseScalars course = make_course(ready);
  if (!observer.ready(ready, start)) return {};
  check_step(start, all.settled.plan);
  Result result{run_loop(ready, start, std::move(course), observer), {}};
  observer.ended(ready, result.loop);
  if (observer.wants_state()) result.state = {result.loop.steps, store.canonical(), result.loop.schedule_state};
  return result;
}

}  // namespace kb
