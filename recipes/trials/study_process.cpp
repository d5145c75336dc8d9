#include "recipes/trials/study_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "recipes/trials/executor.h"
#include "runtime/input_file.h"
#include "runtime/options.h"
#include "runtime/process.h"
#include "runtime/usable_processors.h"

namespace kb {
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

void become_trial(int64_t executor) {
  ::prctl(PR_SET_NAME, "trial");  // it was started through /proc/self/exe, so ps would show "exe"
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != executor) ::raise(SIGTERM);
}

}  // namespace kb
