// A trial as a process: the part of the machine that it has, and how it is started.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"

namespace kb {

struct TrialResources {
  int jobs = 1;     // number of trials that run at once
  int threads = 1;  // threads of each process of a trial
  int shards = 1;   // shards of a trial, whose number does not depend on jobs, so that its bits do not either
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

// Makes this process a trial of the process `executor`; it must call this first. Ctrl-C then reaches the executor
// alone, which asks its trials to end. If the executor is killed, or was before this call, this process gets SIGTERM.
void become_trial(int64_t executor);

}  // namespace kb
