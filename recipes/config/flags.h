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
#include "optim/batch_plan.h"
#include "recipes/config/help.h"
#include "recipes/task/model.h"

namespace kb {

// A command line that cannot be understood; programs answer it with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

constexpr const char* kResumeAuto = "auto";
constexpr const char* kTableAlone = "table";  // --print-schedule table
constexpr int64_t kAutoThreads = -1;          // --loader-threads auto

struct Flags {
  std::string data, dataset;  // data: the folder, "" = none given
  int64_t minibatch = 0, epochs = 0;
  int64_t per_worker = 0;  // samples of a virtual worker; 0: one worker a process
  NormGroup batch_norm = {};
  int64_t processes = 1;
  std::string all_reduce = "halving-doubling", reduce_precision = "f32";
  std::string running_statistics = "first";
  int64_t recompute_bn = 0;  // minibatches of batch norm's statistics at evaluation; 0: as training left them
  double bucket_mb = 0;      // of the gradient, summed over processes together; 0: as a cost model says
  std::string net;           // network between processes, see recipes/config/network.h; "" = as it is
  int64_t steps = 0;         // 0 = as the epochs say
  std::string optimizer;
  std::vector<NamedScalar> hyper;  // all of the optimizer's
  double lr = 0;                   // --base-lr where there is a base_minibatch, else --lr
  int64_t base_minibatch = 0;      // samples; 0 = lr holds for any minibatch
  std::string scaling, schedule, warmup;
  std::vector<double> milestones;  // epochs
  double power = 0, end_lr = 0, warmup_epochs = 0, label_smoothing = 0;
  std::optional<double> warmup_from;  // learning rate of step 0; none: the base's, or as the recipe has it
  std::vector<Role> no_decay = kSkippedRoles, no_adapt = kSkippedRoles;
  double clip_norm = 0;  // of the gradient; 0 = no limit
  double ema = 0;        // share of the averaged parameters kept each step; 0 = no average
  bool eval_ema = false;
  std::string precision = "f32", device = "auto";
  int64_t threads = 0;  // 0 = all cores
  int64_t shards = 0;   // of library calls; 0 = number of cores
  int64_t seed = 1;
  std::string out;                 // "" = runs/RECIPE-TIME
  int64_t eval_every = 1;          // epochs; 0 = at the end only
  int64_t save_every = 0;          // steps; 0 = at evaluations alone
  int64_t keep = 2;                // checkpoints
  std::string init;                // file of weights to begin with, "" = none
  std::string resume, checkpoint;  // run folder to go on in or kResumeAuto, and the file to go on from: "" = the newest
  std::string log_layers;          // interval such as 50st, "" = never
  std::string stop_at;             // see recipes/config/duration.h, "" = at the end of the schedule
  std::string print_schedule;      // kTableAlone or an SVG file, "" = no
  std::vector<std::string> dump;
  bool eval_on_stop = false;
  bool dry_run = false, quiet = false;
  bool explain_overlap = false;
  std::string picture, trace;  // files, "" = none
  bool fast = false;           // bits may differ from run to run
  bool sync_steps = false;     // on a GPU
  bool check_finite = false;
  OptionValues options;               // of the recipe's own
  std::string augment = "none";       // kinds, separated by commas
  int64_t pad = 4, cutout_size = 16;  // pixels
  double mixup_alpha = 1;
  std::string augment_in = "graph";
  int64_t loader_threads = kAutoThreads;
  std::string resident = "auto";
};

// As the recipe has them, and --data from the environment.
Flags default_flags(const Recipe& recipe);

// Returns the source of a run's images.
ImageSource image_source(const Recipe& recipe, const Flags& flags);

// A flag of a tool's own: a switch, a whole number >= 1, or a word.
struct ToolSwitch {
  FlagText text;
  bool* set = nullptr;
  int64_t* number = nullptr;
  std::string* word = nullptr;
};

// The flags from a command line (without the program's name); nothing when --help was asked for and printed. Throws
// UsageError with the nearest right flag or value, and for a flag that has no effect beside the others. `usage` stands
// behind "usage: ". What is not given is as in `base`.
std::optional<Flags> parse_flags(const Recipe& recipe, const std::string& usage,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<ToolSwitch>& switches = {}, const Flags* base = nullptr);

// The text of --help: every flag, with its default, under headings.
std::string flags_help(const Recipe& recipe, const std::string& usage, const std::vector<ToolSwitch>& switches = {});

// Effect of a flag on a run that is resumed. computed: it changes what is computed, and is refused. length: how long
// the run is; taken where the steps done would have been the same. comfort: free to change. call: of one call alone,
// and no part of the command that repeats the run.
enum class FlagEffect : uint8_t { computed, length, comfort, call };

// Every flag that has an effect, but those of FlagEffect::call, as words of a command line that gives the same run; in
// the order of the table.
std::vector<std::string> flag_words(const Recipe& recipe, const Flags& flags);
// The flags that such words give. Throws UsageError for every other word: a manifest may come from anywhere, and its
// words are to write no file, print no help and start nothing.
Flags recorded_flags(const Recipe& recipe, const std::vector<std::string>& words);
// Those that all processes of a run must be given alike, a line each: how they speak with each other follows from them.
std::string shared_flags(const Recipe& recipe, const Flags& flags);
// A flag and its value: {"minibatch", "64", FlagEffect::computed}.
struct FlagValue {
  std::string name;  // without dashes
  std::string value;
  FlagEffect effect;
  bool operator==(const FlagValue&) const = default;
};
std::vector<FlagValue> flag_values(const Recipe& recipe, const Flags& flags);

Precision parse_precision(const std::string& text);
// In which a model is declared: bf16 is the compiler's rewriting of an f32 graph.
inline DType graph_dtype(Precision precision) { return precision == Precision::f64 ? DType::f64 : DType::f32; }

}  // namespace kb
