// The configuration of a run, which holds all that a command line can say: how a task is trained, on which data and
// machine, and which files and reports a person wants. Only run/ and the commands above it use the whole; a training
// takes a TrainConfig.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/data_options.h"
#include "recipes/config/dump.h"
#include "recipes/config/machine_options.h"
#include "recipes/config/train_config.h"

namespace kb {

constexpr const char* kResumeAuto = "auto";
constexpr const char* kTableAlone = "table";  // Looking::print_schedule if only a table is wanted

// Files that a run writes.
struct Out {
  std::string folder = {};
  int64_t keep = 2;  // number of checkpoints that are kept
  std::string picture = {}, trace = {}, mllog = {};
  bool quiet = false;
};

// Paths from which a run takes its initial state or its flags.
struct Resume {
  std::string run = {};         // folder of the run that goes on, or kResumeAuto
  std::string checkpoint = {};  // file in `run`; empty: the newest
  std::string branch = {};      // "RUN@20ep": state of another run to begin with
  std::string config = {};      // manifest, or run folder, with flags
  std::string init = {};        // file, or run folder, with initial weights
  bool init_partial = false;
  std::string init_scope = {};  // scope of the model's part that `init` is of; empty: all of the model
};

// Reports about a run, and runs that are only planned or repeated under several seeds.
struct Looking {
  std::string print_schedule = {};  // kTableAlone or the path of an SVG file
  bool dry_run = false, memory_report = false, explain_overlap = false;
  std::vector<Dump> dump = {};
  std::vector<int64_t> seeds = {};  // seeds of one training each; empty: a single training
  int64_t jobs = 0;                 // number of trainings at once; 0: one per core, or one on a GPU
};

struct RunOptions {
  Out out = {};
  Resume resume = {};
  Looking looking = {};
};

struct RunConfig : TrainConfig, RunOptions {
  DataOptions data = {};
  MachineOptions machine = {};
};

}  // namespace kb
