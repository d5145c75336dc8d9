// How a run learns: its optimizer, the learning rate of every step, and where that rate comes from.
#pragma once
#include <span>
#include <string>
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
// Throws Error with the nearest name there is.
Optimizer find_optimizer(const std::vector<Optimizer>& own, const std::string& name);

// Sets the optimizer, its hyper-parameters and the learning rate to the defaults they have together: the recipe's
// where the recipe's optimizer usually takes the same learning rate, else the optimizer's own, for any minibatch. The
// schedule is the recipe's too, but constant for an optimizer that is schedule-free.
void use_optimizer(const Defaults& defaults, const std::vector<Optimizer>& own, Learning& learning,
                   const std::string& name);

// Returns the configuration that the defaults describe, for a recipe or a task with these rules of its own. Throws
// Error for an optimizer or a schedule that does not exist.
TrainConfig config_of(const Defaults& defaults, const Rules& own = {});

// Returns how each of the groups learns: as config.group_learning says, else as config.learning says. Throws Error
// where config.group_learning names one that is not in `groups`, or names one twice.
std::vector<GroupLearning> learning_of_groups(const TrainConfig& config, const std::vector<std::string>& groups);

inline constexpr const char* kBeta2Name = "beta2";

// Returns the optimizer's hyper-parameters in steps of `minibatch` samples: learning.hyper, but beta2 by half_life
// (Marek et al. 2025, "Small batch size training for language models": 2^(-minibatch / K), so that a squared gradient's
// share of its mean halves after K samples whatever the minibatch is).
std::vector<NamedScalar> hyper_of_run(const Learning& learning, int64_t minibatch);

// The warmup starts at the base minibatch's rate where there is a base; there is none where that rate is not exceeded
// (Goyal et al. 2017, section 5.1: warmup for kn > 256), unless learning.warmup_from names a start. With AdaScale it is
// the rate of the base minibatch's steps, without gains.
LearningRate make_rate(const Rules& own, const Learning& learning, const RunPlan& plan);
StepScalars make_scalars(const Rules& own, const Learning& learning, const RunPlan& plan);

// "lr 0.4 = 0.1 x 1024/256, gradual warmup over 5 epochs = 780 steps from 0.1, then cosine over 13260 steps".
std::string rate_derivation(const Rules& own, const Learning& learning, const RunPlan& plan);
// A line where the run is over before its warmup, or takes no step; else "".
std::string rate_note(const Rules& own, const Learning& learning, const RunPlan& plan);
// Returns "optimizer momentum: momentum 0.9, weight decay 0.0005", then clipping and averaging if they are on.
std::string optimizer_text(const Learning& learning, int64_t minibatch);
// Returns a sentence that tells which layers a layer-wise optimizer adapts and what rate the others have; "" for an
// optimizer without layer-wise rates.
std::string adaptation_text(const Learning& learning, const StepScalars& scalars, const ParameterSpace& space);

}  // namespace kb
