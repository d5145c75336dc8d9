// Everything that a command line can say: how a task is trained, which task and machine, and what a person wants of the
// run. Only run/ and the commands above it know of the whole; a training takes a TrainConfig.
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
constexpr const char* kTableAlone = "table";  // Looking::print_schedule without a file

// Files of a run.
struct Out {
  std::string folder = {};
  int64_t keep = 2;  // checkpoints
  std::string picture = {}, trace = {}, mllog = {};
  bool quiet = false;
};

// State and flags that a run begins with.
struct Resume {
  std::string run = {};  // a folder or kResumeAuto
  std::string checkpoint = {};
  std::string branch = {};
  std::string config = {};  // file with flags
  std::string init = {};    // file with weights
  bool init_partial = false;
};

// A look inside.
struct Looking {
  std::string print_schedule = {};  // kTableAlone or an SVG file
  bool dry_run = false, memory_report = false, explain_overlap = false;
  std::vector<Dump> dump = {};
  std::vector<int64_t> seeds = {};  // one training under each; empty: a single training
  int64_t jobs = 0;                 // trainings at once
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
