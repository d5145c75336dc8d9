// The command line of every recipe: one table of flags, with their defaults and units. Tools add a few of their own.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "graph/error.h"
#include "recipes/model.h"

namespace kb {

// A command line that cannot be understood; programs answer it with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

struct Flags {
  std::string data, dataset;  // data: the folder, "" = none given
  int64_t minibatch = 0, epochs = 0;
  int64_t steps = 0;  // 0 = as the epochs say
  double lr = 0;
  std::string schedule;
  double warmup_epochs = 0, momentum = 0, weight_decay = 0, label_smoothing = 0;
  std::string precision = "f32", device = "auto";
  int64_t threads = 0;  // 0 = all cores
  int64_t seed = 1;
  std::string out;         // "" = runs/RECIPE-TIME
  int64_t eval_every = 1;  // epochs; 0 = at the end only
  int64_t save_every = 0;  // steps; 0 = never
  std::vector<std::string> dump;
  bool dry_run = false, quiet = false;
  OptionValues options;  // of the recipe's own
};

// As the recipe has them, and --data from the environment.
Flags default_flags(const Recipe& recipe);

struct FlagText {
  std::string name;   // "--minibatch"
  std::string value;  // what stands behind it, "N"; empty for a switch
  std::string doc;
};

// A switch of a tool's own.
struct ToolSwitch {
  FlagText text;
  bool* set;
};

// The flags from a command line (without the program's name); nothing when --help was asked for and printed. Throws
// UsageError with the nearest right flag or value. `usage` stands behind "usage: ".
std::optional<Flags> parse_flags(const Recipe& recipe, const std::string& usage,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<ToolSwitch>& switches = {});

// Every flag but --out as words of a command line that gives the same run; in the order of the table.
std::vector<std::string> flag_words(const Recipe& recipe, const Flags& flags);
// {"minibatch", "64"}: every flag by its name without dashes.
std::vector<std::pair<std::string, std::string>> flag_values(const Recipe& recipe, const Flags& flags);

Precision parse_precision(const std::string& text);

}  // namespace kb
