// How a run learns: its optimizer, the learning rate of every step, and where that rate comes from.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optim/optimizer.h"
#include "optim/scaling.h"
#include "recipes/config/plan.h"
#include "recipes/config/train_config.h"
#include "recipes/task/rules.h"

namespace kb {

struct ParameterSpace;

// Returns the optimizers that a recipe or task with these of its own offers: its own, then the built-in ones.
std::vector<Optimizer> offered_optimizers(const std::vector<Optimizer>& own);
// Throws Error, which suggests the nearest name, if there is no such optimizer.
Optimizer find_optimizer(const std::vector<Optimizer>& own, const std::string& name);

// Sets the optimizer and the defaults that belong to it. If the optimizer usually takes the same learning rate as the
// recipe's optimizer, the defaults are the recipe's learning rate and those of its hyper-parameters that this optimizer
// has; else they are the optimizer's own, with a learning rate for any minibatch. The schedule is the recipe's, but
// constant for a schedule-free optimizer.
void use_optimizer(const Defaults& defaults, const std::vector<Optimizer>& own, Learning& learning,
                   const std::string& name);

// Returns the configuration that the defaults describe, for a recipe or a task with these rules of its own. Throws
// Error for an optimizer or a schedule that does not exist.
TrainConfig config_of(const Defaults& defaults, const Rules& own = {});

// Returns whether a group that learns so is frozen (kFrozen).
bool is_frozen(const Learning& learning);

// Returns whether losses that name these groups leave it to config.group_learning how the parameters are divided.
bool may_divide(const std::vector<std::string>& groups);

// Returns how each of the groups that losses name learns: by its entry in config.group_learning if it has one, else by
// config.learning. If they name none, returns the rest under the name "", then the entries of config.group_learning by
// name. Frozen groups come last. Throws Error if config.group_learning names a group that the losses do not name,
// though they name others, or names a group twice.
std::vector<GroupLearning> learning_of_groups(const TrainConfig& config, const std::vector<std::string>& groups);

inline constexpr const char* kBeta2Name = "beta2";

// Returns the value of a hyper-parameter; nothing if the optimizer has none of this name.
std::optional<double> find_hyper(const Learning& learning, std::string_view name);

// Returns the optimizer's hyper-parameters in steps of `minibatch` samples. They are learning.hyper; but if
// learning.half_life, K, is above 0, then beta2 is 2^(-minibatch / K), so that the share of a squared gradient in the
// moving average halves after K samples whatever the minibatch is (Marek et al. 2025, "Small batch size training for
// language models").
std::vector<NamedScalar> hyper_of_run(const Learning& learning, int64_t minibatch);

// Returns the learning rate of every step. The warmup starts at learning.warmup_from; if that is not given, at the rate
// of the base minibatch if there is one, else at learning.warmup_start. If warmup_from is not given and the scaled rate
// does not exceed the rate of the base minibatch, there is no warmup (Goyal et al. 2017, section 5.1, have a warmup for
// kn > 256 only). With AdaScale the rate is that of steps of the base minibatch, without the gains.
LearningRate make_rate(const Rules& own, const Learning& learning, const RunPlan& plan);
// Returns the scalars that the optimizer reads in every step, among them the learning rate.
StepScalars make_scalars(const Rules& own, const Learning& learning, const RunPlan& plan);

// Returns a text such as
// "lr 0.4 = 0.1 x 1024/256, gradual warmup over 5 epochs = 780 steps from 0.1, then cosine over 13260 steps".
std::string rate_derivation(const Rules& own, const Learning& learning, const RunPlan& plan);
// Returns a line that begins with NOTE if the run takes no step, or if it ends before its warmup does; else "".
std::string rate_note(const Rules& own, const Learning& learning, const RunPlan& plan);
// Returns "optimizer momentum: momentum 0.9, weight decay 0.0005", then clipping and averaging if they are on.
std::string optimizer_text(const Learning& learning, int64_t minibatch);
// Returns a line that says how a group learns: "matrices: lr 0.02, ...; optimizer muon: ...", or "matrices: frozen".
std::string group_text(const Rules& own, const GroupLearning& row, const RunPlan& plan);
// Returns a sentence that tells which layers a layer-wise optimizer adapts and what rate the others have; "" for an
// optimizer without layer-wise rates.
std::string adaptation_text(const Learning& learning, const StepScalars& scalars, const ParameterSpace& space);

}  // namespace kb
