// A trial as a process: the part of the machine that it has, and how it is started.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/run/tool.h"

namespace kb {

struct TrialResources {
  int jobs = 1;     // number of trials that run at once
  int threads = 1;  // threads of each process of a trial
  int shards = 1;   // shards of a trial, whose number does not depend on jobs, so that its bits do not either

  std::string text() const;  // "2 at once, 1 thread each"
};

// Returns true if a run of this configuration is on a GPU. Opens no device, which would take GPU memory for as long as
// the trials run.
bool takes_gpu(const RunConfig& config);

// Throws UsageError if a launcher started several copies of this process, since each would run all trials.
void refuse_launcher();

// Throws UsageError for flags that are meant for one training alone. `study`: the flag or command that asks for several
// trainings. `same`: the flags which a user repeats to go on with them: "the same --seeds and --out".
void refuse_flags_of_one(const std::string& study, const std::string& same, const RunConfig& config);

// Returns what each trial of this configuration gets: the trials share the processors that this process may use, and on
// a GPU one runs at a time unless config.looking.jobs says otherwise. A number of threads or shards that the
// configuration gives holds for each trial.
TrialResources resources_of(const RunConfig& config, size_t trials);

// Returns the words that start a trial: this program, in the version that this process runs even if it was rebuilt
// since, "trial", this process's number, and the recipe's name if the program is not a recipe's own.
std::vector<std::string> trial_program(const std::string& recipe = "");

// Runs one training of a study in this process: PROGRAM trial PROCESS [flags] of a recipe's program, TOOL trial PROCESS
// RECIPE [flags] of a tool; PROCESS is the executor's process number. Returns the exit code; throws UsageError for
// words that it cannot understand.
int trial_command(const ToolArguments& arguments);
// Runs one process of a trial that has several processes, which mpirun starts: TOOL rank RECIPE [flags].
int rank_command(const ToolArguments& arguments);

// Runs `trial` or `rank` if this is the first word of a tool whose trials are processes of its own program. Returns the
// exit code; nothing for other words.
std::optional<int> trial_or_rank(const ToolArguments& arguments);

}  // namespace kb
