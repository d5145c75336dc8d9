#include "recipes/trials/study_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/trainer.h"
#include "recipes/trials/executor.h"
#include "runtime/input_file.h"
#include "runtime/options.h"
#include "runtime/process.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// Makes this process a trial of the process `executor`; it must call this first. Ctrl-C then reaches the executor
// alone, which asks its trials to end. If the executor is killed, or was before this call, this process gets SIGTERM.
void become_trial(int64_t executor) {
  ::prctl(PR_SET_NAME, "trial");  // it was started through /proc/self/exe, so ps would show "exe"
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != executor) ::raise(SIGTERM);
}

}  // namespace

std::string TrialResources::text() const {
  return fmt::format("{} at once, {} thread{} each", jobs, threads, threads == 1 ? "" : "s");
}

bool takes_gpu(const RunConfig& config) {
  return config.machine.device == DeviceChoice::cuda ||
         (config.machine.device == DeviceChoice::automatic && is_there("/proc/driver/nvidia/version"));
}

void refuse_launcher() {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  if (options.launcher.processes == 1) return;
  throw UsageError(
      fmt::format("a study: expected one process, which starts its trainings itself, got {} by {}\n  hint:     "
                  "start it without the launcher; --processes P is of each training",
                  options.launcher.processes, options.launcher.name));
}

void refuse_flags_of_one(const std::string& study, const std::string& same, const RunConfig& config) {
  const bool looks_inside = config.looking.dry_run || config.looking.explain_overlap || config.machine.sync_steps ||
                            config.judging.check_finite || !config.looking.dump.empty() ||
                            !config.out.picture.empty() || !config.out.trace.empty();
  if (looks_inside)
    throw UsageError(
        fmt::format("{0}: expected no flag that looks inside one training (--dry-run, --dump, --picture, --trace, "
                    "--explain-overlap, --sync-steps, --check-finite)\n  hint:     the same command without {0}",
                    study));
  if (config.batch.fit)
    throw UsageError(fmt::format(
        "--fit: expected no {}, whose trainings have one n\n  hint:     --fit --dry-run names it: --per-worker N",
        study));
  if (!config.out.mllog.empty())
    throw UsageError(fmt::format("--mllog: expected no {}: it is the log of one training", study));
  if (!config.resume.run.empty())
    throw UsageError(fmt::format("{}: expected no --resume: {} go on with what was stopped", study, same));
}

TrialResources resources_of(const RunConfig& config, size_t trials) {
  const int processors = usable_processors();
  TrialResources resources;
  resources.jobs =
      choose_jobs(config.looking.jobs, trials, static_cast<int>(config.machine.processes), takes_gpu(config));
  resources.threads = config.machine.threads > 0
                          ? static_cast<int>(config.machine.threads)
                          : std::max(1, processors / (resources.jobs * static_cast<int>(config.machine.processes)));
  resources.shards = config.arithmetic.shards > 0 ? static_cast<int>(config.arithmetic.shards) : processors;
  return resources;
}

std::vector<std::string> trial_program(const std::string& recipe) {
  std::vector<std::string> words = {running_program(), "trial", fmt::to_string(::getpid())};
  if (!recipe.empty()) words.push_back(recipe);
  return words;
}

int trial_command(const ToolArguments& arguments) {
  std::vector<std::string> words = arguments.words;
  const auto next = [&](const char* expected) {
    if (words.empty()) throw UsageError(fmt::format("trial: expected {}", expected));
    const std::string word = words.front();
    words.erase(words.begin());
    return word;
  };
  constexpr const char* kExecutor = "the number of the process that started it";
  become_trial(parse_whole("trial", next(kExecutor), kExecutor, 1));
  if (arguments.recipe) return train_recipe(*arguments.recipe, words);
  const Recipe recipe = find_recipe(next("a recipe"));
  return train_recipe(recipe, words, {"rank", recipe.name});
}

int rank_command(const ToolArguments& arguments) {
  if (arguments.words.empty()) throw UsageError("rank: expected a recipe");
  return train_recipe(find_recipe(arguments.words.front()), {arguments.words.begin() + 1, arguments.words.end()});
}

std::optional<int> trial_or_rank(const ToolArguments& arguments) {
  const std::string first = arguments.recipe || arguments.words.empty() ? "" : arguments.words.front();
  if (first != "trial" && first != "rank") return std::nullopt;
  const ToolArguments rest{first, {}, {arguments.words.begin() + 1, arguments.words.end()}};
  return guarded_main(first, [&] { return first == "trial" ? trial_command(rest) : rank_command(rest); });
}

}  // namespace kb
