#include "recipes/sweep/trial_memory.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "recipes/run/run_folder.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"
#include "runtime/process.h"

namespace kb {
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

}  // namespace kb
