#include "recipes/sweep/packing.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <system_error>
#include <thread>

#include "graph/error.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/run/run_folder.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/trials/run_reader.h"
#include "runtime/file_error.h"
#include "runtime/flat_json.h"
#include "runtime/host_name.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"
#include "runtime/process.h"
#include "runtime/usable_memory.h"
#include "runtime/usable_processors.h"

namespace kb {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const fs::path& store) {
  for (int number = 1; !lock_ || !lock_->has_it(); ++number) {
    path_ = store / fmt::format("packing-{}-{}", host_name(), number);
    make_folder(path_);
    lock_ = std::make_unique<FolderLock>(path_);
  }
  empty();
}

ScratchFolder::~ScratchFolder() { empty(); }

// Removes what the folder holds. The folder itself stays, since another process may be about to lock it.
void ScratchFolder::empty() const {
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error))
    fs::remove_all(at->path(), error);
}

namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kMeasured{2};
constexpr std::chrono::milliseconds kLookForSteps{20};
constexpr double kLeastGain = 1.05;

// Returns the steps per second of a run in the last kMeasured of its time, or of its last two steps if these took
// longer, by the seconds since its start that its metrics give for each step. Returns 0 before its second step.
double steps_per_second(const fs::path& run) {
  if (!is_there(run / kMetrics)) return 0;
  std::vector<double> times;
  for_each_flat_json(read_file(run / kMetrics), [&](const FlatJson& line) {
    if (line.text("kind") == "step" && std::isfinite(line.number("wall_s"))) times.push_back(line.number("wall_s"));
  });
  if (times.size() < 2) return 0;
  const auto first = std::lower_bound(times.begin(), std::prev(times.end(), 2), times.back() - kMeasured.count());
  const auto steps = static_cast<double>(std::prev(times.end()) - first);
  return times.back() > *first ? steps / (times.back() - *first) : 0;
}

std::vector<std::string> command_of(const PackingTrial& measured) {
  std::vector<std::string> words = measured.trial.words;
  for (const auto& [flag, value] : {std::pair{"--threads", fmt::to_string(measured.resources.threads)},
                                    {"--shards", fmt::to_string(measured.resources.shards)},
                                    {"--eval-every", std::string("0")}})
    set_word(words, flag, value);
  words.insert(words.begin(), measured.program.begin(), measured.program.end());
  words.push_back("--quiet");
  return words;
}

// Waits until all have trained for kMeasured since each made its second step, one has ended, or it is asked to stop.
void let_train(const std::vector<fs::path>& runs, const std::vector<std::unique_ptr<Process>>& processes,
               const std::function<bool()>& wants_to_stop) {
  const auto is_running = [](const auto& process) { return process->runs(); };
  const auto may_wait = [&] { return !wants_to_stop() && std::all_of(processes.begin(), processes.end(), is_running); };
  const auto have_speeds = [&] {
    return std::all_of(runs.begin(), runs.end(), [](const fs::path& run) { return steps_per_second(run) > 0; });
  };
  while (may_wait() && !have_speeds()) std::this_thread::sleep_for(kLookForSteps);
  for (const auto end = std::chrono::steady_clock::now() + kMeasured;
       may_wait() && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(kLookForSteps);
}

}  // namespace

std::optional<double> packed_speed(const PackingTrial& measured, const fs::path& folder,
                                   const std::function<bool()>& wants_to_stop) {
  const int count = measured.resources.jobs;
  std::vector<fs::path> runs;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < count; ++i) {
    runs.push_back(folder / fmt::format("{}-of-{}", i, count));
    std::vector<std::string> words = command_of(measured);
    words.insert(words.end(), {"--out", runs.back().string()});
    processes.push_back(std::make_unique<Process>(words));
  }
  let_train(runs, processes, wants_to_stop);
  const bool is_stopping = wants_to_stop();
  // Only a process that ended by itself tells why it did not train. Others without metrics were just not given enough
  // time.
  for (size_t i = 0; i < processes.size() && !is_stopping; ++i)
    if (!processes[i]->runs() && !is_there(runs[i] / kMetrics)) throw Error(processes[i]->wait().output);
  for (const auto& process : processes)
    if (process->runs()) process->signal(SIGTERM);
  double speed = 0;
  for (size_t i = 0; i < processes.size(); ++i) {
    processes[i]->wait();
    if (!is_stopping) speed += steps_per_second(runs[i]);
  }
  return is_stopping ? std::nullopt : std::optional(speed);
}

std::vector<int> packings_to_try(int most, bool on_gpu) {
  if (most < 2) return {};
  if (!on_gpu) return {most};
  std::vector<int> packings;
  for (int jobs = 2; jobs <= most; jobs *= 2) packings.push_back(jobs);
  return packings;
}

std::optional<int> best_packing(const std::vector<int>& packings,
                                const std::function<std::optional<double>(int)>& speed,
                                const std::function<void(const std::string&)>& say) {
  const std::optional<double> alone = speed(1);
  if (!alone) return std::nullopt;
  int best = 1;
  double best_speed = *alone;
  for (const int jobs : packings) try {
      const std::optional<double> together = speed(jobs);
      if (!together) return std::nullopt;
      say(fmt::format("{} side by side train {:.2g} x what one after another would", jobs,
                      *alone > 0 ? *together / *alone : 1));
      if (*together < kLeastGain * best_speed) break;
      best = jobs;
      best_speed = *together;
    } catch (const Error& error) {
      say(fmt::format("{} side by side fail: {}", jobs, error.what()));
      break;
    }
  return best;
}

namespace {

constexpr std::chrono::milliseconds kLookForEnd{20};
constexpr double kUsable = 0.9;  // usable share of the memory, as for --fit
// Bytes that CUDA's context, its libraries' workspaces and the kernels' code take in the memory of a data centre's GPU.
constexpr int64_t kContextBytes = 1'000'000'000;

int holds(int64_t memory_bytes, int64_t trial_bytes) {
  const double trials =
      kUsable * static_cast<double>(memory_bytes) / static_cast<double>(std::max<int64_t>(1, trial_bytes));
  return static_cast<int>(std::clamp(trials, 1.0, 1.0 * std::numeric_limits<int>::max()));
}

}  // namespace

std::optional<TrialMemory> trial_memory(const std::vector<std::string>& program, const Trial& trial,
                                        const std::filesystem::path& folder,
                                        const std::function<bool()>& wants_to_stop) {
  const std::filesystem::path run = folder / "dry-run";
  std::vector<std::string> words = trial.words;
  set_word(words, "--threads", "1");
  words.insert(words.begin(), program.begin(), program.end());
  words.insert(words.end(), {"--quiet", "--dry-run", "--dump", "graph", "--out", run.string()});
  Process process(words);
  while (process.runs()) {
    if (wants_to_stop()) return std::nullopt;
    std::this_thread::sleep_for(kLookForEnd);
  }
  const ProcessResult result = process.wait();
  if (result.status != 0) throw Error(result.output);
  const JsonValue memory = read_json(run / kManifest).at("memory");
  const auto gpu_size = memory.get<int64_t>("device");
  return TrialMemory{memory.get<int64_t>("process"), gpu_size > 0 ? memory.get<int64_t>("programs") : 0, gpu_size};
}

int trials_in_memory(const TrialMemory& trial, int64_t processes, int64_t machine_bytes) {
  const int in_machine = holds(machine_bytes, processes * trial.process);
  return trial.gpu_size == 0 ? in_machine : std::min(in_machine, holds(trial.gpu_size, trial.on_gpu + kContextBytes));
}

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
