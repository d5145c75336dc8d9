// The compiled programs of a recipe: the training step and the evaluation, which share parameters.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "compiler/pipeline.h"
#include "recipes/flags.h"

namespace kb {

// A file to write: its name in the run folder, and its text.
struct DumpFile {
  std::string name;
  std::string text;
};

struct Programs {
  Compiled training, inference;
  int64_t parameters = 0;       // elements
  std::string training_text;    // the graph of a step as the model gave it
  std::vector<DumpFile> dumps;  // as flags.dump asks
};

// Builds, checks and compiles both graphs. Throws Error for a mistake in the model.
Programs compile_programs(const Recipe& recipe, const Flags& flags, const InputSpec& input, const Target& target);

}  // namespace kb
