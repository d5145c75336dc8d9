// How a task is trained: all values that decide what is computed. A program or the command line sets them once; nothing
// changes them afterwards. Steps, workers and sizes, which follow from them and from the machine, are a value of their
// own, Settled (recipes/train/settled.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/arithmetic.h"
#include "compiler/target.h"
#include "graph/update_rule.h"
#include "optim/batch_plan.h"
#include "recipes/config/growth.h"
#include "recipes/config/period.h"
#include "recipes/config/synchronising.h"
#include "recipes/config/target_figure.h"
#include "recipes/config/values.h"
#include "recipes/task/model.h"

namespace kb {

inline constexpr auto kPrecisions = choices<Precision>({"f32", "tf32", "bf16", "f16", "f64"});

inline constexpr Choice<DType> kReducePrecisions[] = {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}};

// Convolutions that a GPU computes in kernels of our own (compiler/target.h).
inline constexpr Choice<Products> kProducts[] = {
    {"picked", Products::picked}, {"none", Products::none}, {"all", Products::all}};

// Virtual workers whose running statistics of batch norm a run keeps: the first one, or all, whose mean is taken.
enum class StatisticsOf : uint8_t { first, mean };
inline constexpr auto kStatisticsOf = choices<StatisticsOf>({"first", "mean"});

// Whether the data set lives in the device's memory. automatic: it does on a GPU, if it takes at most 1 GiB
// (recipes/train/residency.h).
enum class ResidentChoice : uint8_t { automatic, on, off };
inline constexpr auto kResidentChoices = choices<ResidentChoice>({"auto", "on", "off"});

// Samples of a step, and how workers share them.
struct Batching {
  int64_t minibatch = 0;             // samples of one step, kn of Goyal et al. 2017: k workers with n samples each
  std::vector<Growth> growths = {};  // points from which on the minibatch is larger
  int64_t per_worker = 0;            // samples of one virtual worker, n; 0: each process is one worker
  bool fit = false;                  // choose per_worker as large as the memory allows
  NormGroup batch_norm = {};         // samples that share the statistics of batch norm
  // How ragged fields are padded (recipes/config/buckets.h).
  std::vector<int64_t> bucket = {};  // rising lengths of the buckets; empty: bucket_count of them that pad least
  int64_t bucket_count = 6;
  int64_t tokens = 0;  // padded positions of a step, from which the samples of each bucket follow; 0: minibatch samples
};

// Length of a training.
struct Length {
  int64_t epochs = 0;
  int64_t steps = 0;                        // in place of epochs; 0: the epochs decide
  StopAt stop_at = {};                      // ends the training before its schedule does
  std::optional<TargetFigure> target = {};  // ends it at the first evaluation that is better
};

// Optimizer, learning rate and loss.
struct Learning {
  std::string optimizer = {};
  double lr = 0;               // rate for base_minibatch samples if that is above 0, else for any minibatch
  int64_t base_minibatch = 0;  // samples for which lr holds
  std::string scaling = {};    // how the rate follows from base_minibatch to the minibatch
  std::string schedule = {};   // name of the shape that the rate has after the warmup
  std::vector<double> milestones = {};
  double power = 0, decay_share = 0, end_lr = 0;
  std::string warmup = {};
  double warmup_epochs = 0;
  int64_t warmup_steps = 0;                // in place of warmup_epochs; 0: the epochs decide
  std::optional<double> warmup_from = {};  // learning rate of step 0
  double warmup_start = 0;              // learning rate of step 0 if neither warmup_from nor base_minibatch gives one
  std::vector<NamedScalar> hyper = {};  // hyper-parameters of the optimizer
  double half_life = 0;                 // samples; sets beta2
  std::vector<Role> no_decay = kSkippedRoles, no_adapt = kSkippedRoles;
  double clip_norm = 0;
  double ema = 0;
  double label_smoothing = 0;
};

// Returns the epochs of the warmup where an epoch has so many steps, one or more.
inline double warmup_epochs_of(const Learning& learning, int64_t steps_per_epoch) {
  return learning.warmup_steps > 0 ? static_cast<double>(learning.warmup_steps) / static_cast<double>(steps_per_epoch)
                                   : learning.warmup_epochs;
}

// Dtypes, random streams, and how the training uses processor and memory.
struct Arithmetic {
  Precision precision = Precision::f32;
  Products products = Products::picked;
  DType reduce_precision = DType::f32;  // dtype to which sums of gradients over workers are rounded
  StatisticsOf running_statistics = StatisticsOf::first;
  int64_t shards = 0;    // parts of a minibatch in library calls; 0: one a core
  double memory = 0;     // units of 1e9 bytes that programs may fill; 0: all of the device
  double bucket_mb = 0;  // units of 1e6 bytes of the gradient that processes sum together; 0: a cost model decides
  ResidentChoice resident = ResidentChoice::automatic;
  std::optional<int64_t> loader_threads = {};
  int64_t seed = 1;
  std::optional<int64_t> seed_weights = {}, seed_order = {};
};

// Evaluations, checkpoints and logs of a training, and when a training that goes wrong is ended.
struct Judging {
  Period eval_every = {1, Period::Unit::epochs};
  Period save_every = {0, Period::Unit::steps};
  int64_t validation = 0;  // training samples that are held out to judge by
  int64_t recompute_bn = 0;
  bool eval_ema = false, eval_on_stop = false, train_metrics = false, noise_scale = false;
  std::optional<Period> log_layers = {};
  bool check_finite = false, keep_going = false;
};

// Learning::optimizer of a group that stays as it begins: nothing updates it, and it has no gradient.
inline constexpr const char* kFrozen = "none";

// How the parameters of one group learn. Losses name the groups (recipes/task/task.h: Loss::group); if all losses move
// all parameters, the groups are those of recipes/config/parameter_division.h.
struct GroupLearning {
  std::string group = {};
  Learning learning = {};
};

// The members' units and meaning are those of the flags that set them (recipes/config/flags.inc).
struct TrainConfig {
  Batching batch = {};
  Length length = {};
  Learning learning = {};
  Arithmetic arithmetic = {};
  Judging judging = {};
  Synchronising sync = {};
  std::vector<GroupLearning> group_learning = {};  // groups that do not learn as `learning` says
};

inline uint32_t weights_seed(const Arithmetic& arithmetic) {
  return static_cast<uint32_t>(arithmetic.seed_weights.value_or(arithmetic.seed));
}
inline uint64_t order_seed(const Arithmetic& arithmetic) {
  return static_cast<uint64_t>(arithmetic.seed_order.value_or(arithmetic.seed));
}

// Returns the dtype in which a model is declared. It is f32 for tf32, bf16 and f16, too: the compiler lowers the
// precision of the f32 graph.
inline DType graph_dtype(Precision precision) { return precision == Precision::f64 ? DType::f64 : DType::f32; }

}  // namespace kb
