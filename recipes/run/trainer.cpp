#include "recipes/run/trainer.h"

#include <fmt/format.h>

#include <csignal>

#include "recipes/config/run_plan.h"
#include "recipes/run/branch.h"
#include "recipes/run/command_words.h"
#include "recipes/run/interrupt.h"
#include "recipes/run/processes.h"
#include "recipes/run/run.h"
#include "recipes/run/schedule_text.h"
#include "runtime/process.h"

namespace kb {
namespace {

// Throws an error if a file cannot be written, before anything is compiled.
void check_files(const RunConfig& config, bool resumes) {
  check_picture_files(config);
  check_mlperf_file(config, resumes);
  const bool has_folder = !config.looking.dry_run || !config.looking.dump.empty();
  if (!resumes && has_folder && !config.out.folder.empty()) check_unused(config.out.folder);
}

int resume(const Recipe& recipe, const RunConfig& given, World& world, const std::vector<std::string>& arguments) {
  ResumedRun run = open_resumed(recipe, given, arguments, world.leads() ? RunFolder::Use::own : RunFolder::Use::share);
  run.config.machine.processes = world.size();
  if (!run.ended.empty()) {
    Console(run.config.out.quiet || !world.leads())
        .line(fmt::format("{} has ended: {}", run.folder.path().string(), run.ended));
    return 0;
  }
  const RunConfig config = run.config;
  std::optional<BranchPoint> branch = std::move(run.branch);
  return Run(recipe, config, world, std::move(run), std::move(branch)).go();
}

}  // namespace

int train_recipe(const Recipe& recipe, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& program) {
  std::optional<RunConfig> config = parse_with_origin(recipe, start_words(recipe), arguments);
  if (!config) return 0;
  if (!config->looking.print_schedule.empty()) {
    print_schedule(recipe, *config);
    return 0;
  }
  const bool resumes = goes_on(*config);
  if (config->resume.run.empty() && !config->resume.checkpoint.empty())
    throw UsageError("--checkpoint: it names what --resume goes on from; to begin with its weights: --init FILE");
  std::vector<std::string> command{own_program()};
  command.insert(command.end(), program.begin(), program.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (config->looking.dry_run && wants_picture(*config))
    throw UsageError("--picture, --trace: a dry run takes no step to time\n  hint:     ./run inspect RECIPE times one");
  if (const std::optional<int> code = launch_processes(*config, resumes, command)) return *code;
  const Interrupt interrupt;
  const std::unique_ptr<World> world = join_world(*config);
  if (world->leads()) check_files(*config, resumes);
  std::signal(SIGPIPE, SIG_IGN);  // a run goes on when the reader of its output has ended
  const bool all_resume = world->broadcast(resumes ? "resume" : "") == "resume";  // the leading process decides
  if (all_resume) return resume(recipe, *config, *world, arguments);
  std::optional<BranchPoint> branch;
  if (!config->resume.branch.empty()) branch = open_branch(with_absolute_paths(*config).resume.branch);
  return Run(recipe, *config, *world, std::nullopt, std::move(branch)).go();
}

}  // namespace kb
