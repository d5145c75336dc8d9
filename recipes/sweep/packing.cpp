#include "recipes/sweep/packing.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

#include "recipes/run/run_folder.h"
#include "recipes/trials/run_reader.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"
#include "runtime/process.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kMeasured{2};
constexpr std::chrono::milliseconds kLookForSteps{20};
constexpr double kLeastGain = 1.05;

// Returns the steps per second of a run in the last kMeasured of its time, by the seconds since its start that its
// metrics give for each step.
double steps_per_second(const fs::path& run) {
  std::vector<double> times;
  for_each_flat_json(read_file(run / kMetrics), [&](const FlatJson& line) {
    if (line.text("kind") == "step" && std::isfinite(line.number("wall_s"))) times.push_back(line.number("wall_s"));
  });
  if (times.size() < 2) return 0;
  const auto first = std::lower_bound(times.begin(), std::prev(times.end()), times.back() - kMeasured.count());
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

// Waits until all have trained for kMeasured since each made its first step, one has ended, or it is asked to stop.
void let_train(const std::vector<fs::path>& runs, const std::vector<std::unique_ptr<Process>>& processes,
               const std::function<bool()>& wants_to_stop) {
  const auto is_running = [](const auto& process) { return process->runs(); };
  const auto may_wait = [&] { return !wants_to_stop() && std::all_of(processes.begin(), processes.end(), is_running); };
  const auto have_stepped = [&] {
    return std::all_of(runs.begin(), runs.end(), [](const fs::path& run) { return steps_of_run(run) > 0; });
  };
  while (may_wait() && !have_stepped()) std::this_thread::sleep_for(kLookForSteps);
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
    if (!is_stopping && is_there(runs[i] / kMetrics)) speed += steps_per_second(runs[i]);
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

}  // namespace kb
