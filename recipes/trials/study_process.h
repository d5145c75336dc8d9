// A trial as a process: the part of the machine that it has, and how it is started.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"

namespace kb {

struct TrialResources {
  int jobs = 1;     // trials at once
  int threads = 1;  // of a process of a trial
  int shards = 1;   // of a trial: as it would have them alone, so that its bits do not depend on the jobs
};

// True where a run of this configuration is on a GPU. Opens no device, which would take its memory for as long as the
// trials run.
bool takes_gpu(const RunConfig& config);

// Throws UsageError where a launcher started several of this process: each would run all trials.
void refuse_launcher();

// Throws UsageError for flags that ask something of one training alone. `study`: the flag or command that asks for
// several; `same`: what goes on with them, "the same --seeds and --out".
void refuse_flags_of_one(const std::string& study, const std::string& same, const RunConfig& config);

// Trials of this configuration share the processors that this process may use; on a GPU one runs at a time, unless
// config.looking.jobs says otherwise. A number of threads or shards that the configuration gives holds for each trial.
TrialResources resources_of(const RunConfig& config, size_t trials);

// Words that start a trial: this program, as it was when this process began and whatever was built since, "trial", this
// process's number, and a recipe's name where the program is none of a recipe.
std::vector<std::string> trial_program(const std::string& recipe = "");

// Called first by a process that is a trial of the process `executor`: Ctrl-C reaches that one alone, which asks its
// trials to end; where it is killed, or was before this call, they are asked too, by SIGTERM.
void become_trial(int64_t executor);

}  // namespace kb
