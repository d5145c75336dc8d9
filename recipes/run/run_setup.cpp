#include "recipes/run/run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "recipes/config/flags.h"
#include "recipes/config/preset.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_texts.h"
#include "recipes/task/validation.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/init_weights.h"

namespace kb {
namespace {

// Before anything that the processes do together.
World& with_equal_flags(World& world, const Recipe& recipe, const RunConfig& config) {
  world.check_alike({{"version", KB_VERSION}, {"recipe", recipe.name}, {"flags", shared_flags(recipe, config)}});
  return world;
}

RunConfig settled_config(const RunConfig& given, const Target& target) {
  RunConfig config = with_plan(with_absolute_paths(given));
  if (config.arithmetic.shards == 0) config.arithmetic.shards = target.shards;
  return config;
}

}  // namespace

RunSetup::RunSetup(const Recipe& of, const RunConfig& asked, World& all, Console& to, const Checkpoint* checkpoint)
    : recipe(of),
      given(asked),
      world(with_equal_flags(all, of, asked)),
      console(to),
      from(checkpoint),
      device(choose_device(own_part(asked), &all)),
      target(run_target(asked, device.backend->target())),
      config(settled_config(fitted_config(), target)) {
  tell_device();
  load_and_compile();
}

void RunSetup::tell_device() {
  const Backend& backend = *device.backend;
  console.line(fmt::format("{} on {} ({})", recipe.name, backend.description(), device.reason));
  for (const std::string& note : preset_notes(recipe, given)) console.line(note);
  if (fit) console.line(fit->text);
  if (world.size() > 1) console.line(world.communicator().description());
  if (!device.sums.empty()) console.line("GPUs sum their gradients: " + device.sums);
  const std::string choices = from ? use_algorithm_choices(*device.backend, from->fact(kAlgorithmChoices)) : "";
  for (const std::string& note : {world.note(), threads_note(given.machine.threads, world.processors()),
                                  precision_note(backend, given), without_effect_note(backend, given), choices})
    if (!note.empty()) console.line(note);
}

// Returns the flags with this process's share of the threads of a machine, which other processes may use too.
RunConfig RunSetup::own_part(RunConfig of) const {
  of.machine.threads = threads_of(of, world);
  return of;
}

RunConfig RunSetup::with_bucket() const {
  RunConfig result = config;
  result.arithmetic.bucket_mb = bucket_mb_;
  return result;
}

Residency RunSetup::residency_of(const Task& of, const RunConfig& with) const {
  return choose_residency(with, of, target, run_memory(with, device.backend->memory_bytes()));
}

// Before anything is compiled. A variant of a published set has other samples than are known: its data tell then.
void RunSetup::check_plan_for(const Task& known) const {
  try {
    check_plan(given, known.train_count);
  } catch (const Error&) {
    if (recipe.task) throw;
    check_plan(given, load_task(recipe, given).task.train_count);
  }
}

// Every process finds the same: they have the same task, and the least memory of all counts.
RunConfig RunSetup::fitted_config() {
  RunConfig result = given;
  if (!given.batch.fit) return result;
  if (given.batch.per_worker > 0 || given.batch.batch_norm != NormGroup{})
    throw UsageError("--fit: it chooses --per-worker itself: leave --per-worker and --batch-norm out");
  int64_t memory = run_memory(given, device.backend->memory_bytes());
  for (const std::string& other : world.communicator().all_gather(fmt::to_string(memory)))
    memory = std::min<int64_t>(memory, std::stoll(other));
  const Task known = with_validation(declared_task(recipe, given), given.judging.validation);
  check_plan_for(known);
  fit = fit_per_worker(known, given, target, residency_of(known, given), memory);
  result.batch.per_worker = fit->per_worker;
  return result;
}

void RunSetup::choose_bucket_size(const Task& of, const Residency& at) {
  const BucketChoice choice = bucket_of_run(of, own_part(config), target, at, world);
  bucket_mb_ = choice.megabytes;
  if (!choice.text.empty()) console.line(choice.text);
}

// At the same time where the programs follow from the data set's name. A fault of the data is told before
// one of the programs.
void RunSetup::load_and_compile() {
  const auto compile = [this](const Task& of, const Residency& at) {
    // Until this has ended no other thread of this process uses the communicator.
    Programs compiled =
        compile_alike(world, *device.backend, [&] { return compile_programs(of, with_bucket(), target, at); });
    check_memory(compiled, config);
    return std::make_unique<LoadedPrograms>(*device.backend, std::move(compiled), weights_seed(config.arithmetic));
  };
  std::future<std::unique_ptr<LoadedPrograms>> compiling;
  Residency expected;
  if (const std::optional<Task> known = task_before_data(recipe, config)) {
    check_plan_for(*known);
    expected = residency_of(*known, config);
    choose_bucket_size(*known, expected);
    compiling = std::async(compile, *known, expected);  // by get() where no thread can be made
  }
  LoadedTask loaded = load_task(recipe, config);
  task = std::move(loaded.task);
  data = std::move(loaded.data);
  loader_threads = choose_loader_threads(own_part(config), world.processors());
  residency = residency_of(task, config);
  plan = make_plan(config, task.train_count);
  for (const std::string& line : plan_lines(fit ? config : given, plan, task, data, residency, loader_threads))
    console.line(line);
  if (compiling.valid()) programs = compiling.get();
  // Whether they compile anew follows from these.
  const std::string resident = fmt::format("{} training and {} test samples", residency.train, residency.test);
  world.check_alike({{"data", data.name + " " + data.fingerprint}, {"what is on the device", resident}});
  if (!programs || residency != expected) {  // a variant of a published set has other rows
    programs.reset();
    choose_bucket_size(task, residency);
    programs = compile(task, residency);
  }
}

void RunSetup::load_state(const std::function<void(const std::string&)>& say) const {
  if (from)
    load_checkpoint(programs->store, *from);
  else if (!config.resume.init.empty())
    init_weights(programs->store, config.resume.init,
                 config.resume.init_partial ? InitExtent::partial : InitExtent::whole, say);
}

std::string RunSetup::algorithm_choices() const {
  const std::string own = algorithm_choices_text(*device.backend);
  return own.empty() && from ? from->fact(kAlgorithmChoices) : own;
}

void RunSetup::check_alike(const std::map<std::string, std::string>& facts) const {
  if (world.size() == 1) return;
  World::Facts all{{"shards", std::to_string(config.arithmetic.shards)},
                   {"the library of convolutions and matmuls", device.backend->library()},
                   {"graph", facts.at("graph")}};
  std::string schedule;
  for (const Schedule* program : programs->training.compiled().program.all()) schedule += to_text(*program);
  all.emplace_back("schedule", std::move(schedule));
  all.emplace_back("state", programs->store.state_sha256());
  if (device.backend->target().processor == Processor::gpu) all.emplace_back("device", device.backend->description());
  all.emplace_back("library's implementations", algorithm_choices());
  world.check_alike(all);
}

}  // namespace kb
