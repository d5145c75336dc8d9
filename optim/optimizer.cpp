#include "optim/optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "optim/layer_wise_rules.h"
#include "optim/matrix_rules.h"
#include "optim/shampoo.h"
#include "optim/update_rules.h"

namespace kb {
namespace {

constexpr std::string_view kCommon[] = {"learning_rate", "previous_learning_rate", "updates"};

constexpr HyperParameter kMomentum{"momentum", 0.9, "share of the velocity kept each step"};
constexpr HyperParameter kBeta1{"beta1", 0.9, "share of the mean gradient kept each step"};
constexpr HyperParameter kBeta2{"beta2", 0.999, "share of the mean squared gradient kept each step"};
constexpr HyperParameter kEpsilon{"epsilon", 1e-8, "added to the root of the mean square", kNoLimit};

constexpr HyperParameter weight_decay(double value) {
  return {"weight_decay", value, "pull towards 0, on weights; not on biases and norms", kNoLimit};
}

constexpr DerivedScalar kOneMinusMomentum{"one_minus_momentum", [](const StepFacts& at) { return 1 - at["momentum"]; }};
constexpr DerivedScalar kOneMinusBeta1{"one_minus_beta1", [](const StepFacts& at) { return 1 - at["beta1"]; }};
constexpr DerivedScalar kOneMinusBeta2{"one_minus_beta2", [](const StepFacts& at) { return 1 - at["beta2"]; }};
// A mean over t updates that began at zero has gathered this share of its weight (Kingma and Ba 2015, section 3).
constexpr DerivedScalar kBias1{"bias1", [](const StepFacts& at) { return 1 - std::pow(at["beta1"], at.updates); }};
constexpr DerivedScalar kBias2{"bias2", [](const StepFacts& at) { return 1 - std::pow(at["beta2"], at.updates); }};

// The trust coefficient, which You et al. 2017 call eta; 0.001 in their experiments.
constexpr HyperParameter trust(double value) {
  return {"trust", value, "trust coefficient: a layer moves by this share of its norm at a rate of 1", kNoLimit};
}
constexpr HyperParameter kSkipLr{
    "skip_lr", 0, "greatest rate of layers that are not adapted, before growths; 0: the others'", kNoLimit};
// The rate of these layers is 0, too, if all learning rates are.
constexpr DerivedScalar kSkipScale{
    "skip_scale", [](const StepFacts& at) { return at["skip_lr"] > 0 && at.peak > 0 ? at["skip_lr"] / at.peak : 1; }};

// LAMB's bias corrections, which `bias_correction` 0 switches off.
constexpr DerivedScalar kOwnBias1{
    "bias1", [](const StepFacts& at) { return at["bias_correction"] > 0 ? 1 - std::pow(at["beta1"], at.updates) : 1; }};
constexpr DerivedScalar kOwnBias2{
    "bias2", [](const StepFacts& at) { return at["bias_correction"] > 0 ? 1 - std::pow(at["beta2"], at.updates) : 1; }};

// The numbers of Defazio et al. 2024: their beta, which is beta_1 in AdamW, and their c_{t+1}.
constexpr HyperParameter kBeta{"beta", 0.9, "share of the mean point where the gradient is taken"};
constexpr DerivedScalar kOneMinusBeta{"one_minus_beta", [](const StepFacts& at) { return 1 - at["beta"]; }};
constexpr DerivedScalar kMeanShare{"mean_share", [](const StepFacts& at) { return at.rate_share; }};

// Returns the share of plain SGD by Akiba et al. 2017: exponential up to one half at the center, then linear to 1. The
// paper prints the slope 2 / period, which does not meet 1; their code has 1 / period.
double plain_share(const StepFacts& at) {
  const double center = at["center_epoch"], period = at["period_epochs"];
  if (at.epoch < center) return 0.5 * std::exp(2 * (at.epoch - center) / period);
  return at.epoch < center + period / 2 ? 0.5 + (at.epoch - center) / period : 1;
}
constexpr DerivedScalar kPlainShare{"plain_share", plain_share};
constexpr DerivedScalar kRmsRate{"rms_rate", [](const StepFacts& at) {
                                   return at.learning_rate > 0 ? (1 - plain_share(at)) * at["rms_lr"] / at.learning_rate
                                                               : 0;
                                 }};

using Update = Tensor (*)(UpdateContext&);
constexpr Optimizer with_momentum(std::string_view name, std::string_view doc, Update update) {
  return {name, doc, update, 0.1, {kMomentum, weight_decay(0)}};
}
constexpr Optimizer like_adam(std::string_view name, std::string_view doc, Update update, double decay) {
  return {name,
          doc,
          update,
          1e-3,
          {kBeta1, kBeta2, kEpsilon, weight_decay(decay)},
          {kOneMinusBeta1, kOneMinusBeta2, kBias1, kBias2}};
}

constexpr Optimizer kOptimizers[] = {
    {"sgd", "plain gradient descent", sgd_update, 0.1, {weight_decay(0)}},
    with_momentum("momentum", "velocity free of the learning rate (Goyal et al. 2017, eq. 9)", momentum_update),
    with_momentum("scaled-momentum",
                  "velocity with the learning rate in it, corrected where that changes (eq. 10, remark 2)",
                  scaled_momentum_update),
    with_momentum("uncorrected-momentum", "the same without the correction, what the paper warns of",
                  uncorrected_momentum_update),
    with_momentum("nesterov", "Nesterov's momentum, as PyTorch has it", nesterov_update),
    like_adam("adam", "Kingma and Ba 2015; weight decay as a part of the gradient", adam_update, 0),
    like_adam("adamw", "Loshchilov and Hutter 2019: weight decay beside Adam's step", adamw_update, 1e-2),
    like_adam("nadamw", "adamw with Nesterov's look ahead, AlgoPerf's baseline (Dahl et al. 2023)", nadamw_update,
              1e-2),
    {"lion",
     "the sign of a mean of gradients (Chen et al. 2023, algorithm 2)",
     lion_update,
     1e-4,
     {{"beta1", 0.9, "share of the kept mean in what is stepped by"},
      {"beta2", 0.99, "share of the mean gradient kept each step"},
      weight_decay(0)},
     {kOneMinusBeta1, kOneMinusBeta2}},
    {"muon",
     "orthogonalised momentum of matrices (Jordan et al. 2024): for a group of matrices, --optimizer.matrices muon",
     muon_update,
     0.02,
     {{"momentum", 0.95, "share of the mean gradient kept each step"},
      weight_decay(0),
      {"nesterov", 1, "1: Nesterov's step", 2},
      {"update_rms", 0,
       "root mean square of a step at a rate of 1, as 0.2 for AdamW's rates (Liu et al. 2025); 0: sqrt(max(1, rows / "
       "columns)) times the orthogonalised matrix (Jordan et al. 2024)",
       kNoLimit}},
     {kOneMinusMomentum},
     false,
     true},
    {"shampoo",
     "covariances of a matrix's rows and columns (Anil et al. 2020): for a group of matrices, --optimizer.matrices "
     "shampoo",
     shampoo_update,
     1e-3,
     {kBeta1,
      kBeta2,
      kEpsilon,
      weight_decay(0),
      {"ridge", 1e-6, "added to covariances before their inverse roots, as a share of their greatest eigenvalue", 1,
       1e-6}},
     {kOneMinusBeta1, kOneMinusBeta2, kBias1, kBias2},
     false,
     true},
    {"schedule-free",
     "SGD whose mean point needs no falling learning rate (Defazio et al. 2024)",
     schedule_free_update,
     1,
     {kBeta, weight_decay(0)},
     {kOneMinusBeta, kMeanShare},
     true},
    {"schedule-free-adamw",
     "AdamW whose mean point needs no falling learning rate (Defazio et al. 2024, algorithm 1)",
     schedule_free_adamw_update,
     2.5e-3,
     {kBeta, kBeta2, kEpsilon, weight_decay(0)},
     {kOneMinusBeta, kOneMinusBeta2, kBias2, kMeanShare},
     true},
    {"lars",
     "layer-wise rates, rate and trust inside the velocity (You et al. 2017, algorithm 1)",
     lars_update,
     2,
     {kMomentum, weight_decay(5e-4), trust(1e-3), kSkipLr},
     {kSkipScale}},
    {"lars-mlperf",
     "lars as the MLPerf reference has it: epsilon, Nesterov's step on request",
     lars_mlperf_update,
     2,
     {kMomentum,
      weight_decay(2e-4),
      trust(1e-3),
      kSkipLr,
      {"epsilon", 0, "added to the norms below", kNoLimit},
      {"nesterov", 0, "1: Nesterov's step", 2}},
     {kSkipScale}},
    {"lars-unscaled",
     "lars with the rate outside the velocity (Kumar et al. 2019)",
     lars_unscaled_update,
     2,
     {kMomentum, weight_decay(5e-4), trust(1e-3), kSkipLr},
     {kSkipScale}},
    {"lars-plain",
     "lars without a trust coefficient, as in replicas on small data sets",
     lars_plain_update,
     0.01,
     {kMomentum, weight_decay(5e-4), kSkipLr},
     {kSkipScale}},
    {"larc",
     "momentum with layer-wise rates clipped at the learning rate (NVIDIA's LARC)",
     larc_update,
     0.1,
     {kMomentum, weight_decay(0), trust(0.02), kSkipLr, {"epsilon", 1e-8, "added to the norms below", kNoLimit}},
     {kSkipScale}},
    {"lamb",
     "Adam's direction with layer-wise rates (You et al. 2019, arXiv 1904.00962)",
     lamb_update,
     5e-3,
     {kBeta1,
      kBeta2,
      {"epsilon", 1e-6, "added to the root of the mean square", kNoLimit},
      weight_decay(0.01),
      kSkipLr,
      {"phi_max", 0, "greatest norm of a layer that counts; 0: any", kNoLimit},
      {"bias_correction", 1, "0: moments as they are, for a run with warmup", 2}},
     {kOneMinusBeta1, kOneMinusBeta2, kOwnBias1, kOwnBias2, kSkipScale}},
    {"rmsprop-warmup",
     "from RMSprop to momentum over the first epochs (Akiba et al. 2017)",
     rmsprop_warmup_update,
     0.1,
     {kMomentum,
      weight_decay(0),
      {"beta2", 0.99, "share of the mean squared gradient kept each step"},
      {"epsilon", 1e-8, "added to the root of the mean square", kNoLimit},
      {"rms_lr", 3e-4, "learning rate of RMSprop", kNoLimit},
      {"center_epoch", 10, "epoch at which half of the step is plain", kNoLimit},
      {"period_epochs", 5, "length of the change, epochs", kNoLimit}},
     {kOneMinusBeta2, kPlainShare, kRmsRate}},
};

// Returns the rows of a fixed array up to the first that has no name.
template <class Row, size_t kRows>
std::span<const Row> filled(const Row (&rows)[kRows]) {
  const Row* end = std::find_if(rows, rows + kRows, [](const Row& row) { return row.name.empty(); });
  return {rows, end};
}

std::vector<std::string> scalar_names(const Optimizer& optimizer) {
  std::vector<std::string> names(std::begin(kCommon), std::end(kCommon));
  for (const HyperParameter& row : optimizer.hyper_parameters()) names.emplace_back(row.name);
  for (const DerivedScalar& row : optimizer.derived_scalars()) names.emplace_back(row.name);
  return names;
}

void check_value(const Optimizer& optimizer, const HyperParameter& row, double value) {
  if (value >= row.least && value < row.below) return;
  throw Error(fmt::format("optimizer {}: {}: expected a number in [{}, {}), got {}", optimizer.name, row.name,
                          row.least, row.below, value));
}

}  // namespace

std::span<const HyperParameter> Optimizer::hyper_parameters() const { return filled(hyper); }
std::span<const DerivedScalar> Optimizer::derived_scalars() const { return filled(derived); }

bool Optimizer::reads(std::string_view hyper_parameter) const {
  for (const HyperParameter& row : hyper_parameters())
    if (row.name == hyper_parameter) return true;
  return false;
}

double StepFacts::operator[](std::string_view hyper_parameter) const {
  for (const NamedScalar& scalar : hyper)
    if (scalar.name == hyper_parameter) return scalar.value;
  throw Error(fmt::format("a derived scalar depends on '{}', which the optimizer has not", hyper_parameter));
}

std::span<const Optimizer> optimizers() { return kOptimizers; }

std::vector<NamedScalar> hyper_values(const Optimizer& optimizer, std::span<const NamedScalar> given) {
  std::vector<NamedScalar> values;
  for (const HyperParameter& row : optimizer.hyper_parameters()) values.push_back({std::string(row.name), row.value});
  for (const NamedScalar& scalar : given) {
    auto at = std::find_if(values.begin(), values.end(), [&](const NamedScalar& v) { return v.name == scalar.name; });
    if (at == values.end())
      throw Error(fmt::format("optimizer {} has no hyper-parameter '{}'", optimizer.name, scalar.name));
    at->value = scalar.value;
  }
  for (size_t i = 0; i < values.size(); ++i) check_value(optimizer, optimizer.hyper[i], values[i].value);
  return values;
}

UpdateRule update_rule(const Optimizer& optimizer) {
  if (!optimizer.update)
    throw Error(fmt::format("optimizer {} has no update rule (Optimizer::update)", optimizer.name));
  return [optimizer](UpdateContext& context) {
    UpdateContext checked = context;
    checked.scalar = [&](const std::string& name) {
      const std::vector<std::string> names = scalar_names(optimizer);
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error(fmt::format("optimizer {} reads the scalar '{}', which nothing sets; it has {}", optimizer.name,
                                name, fmt::join(names, ", ")));
      return context.scalar(name);
    };
    return optimizer.update(checked);
  };
}

StepScalars::StepScalars(LearningRate rate, const Optimizer& optimizer, std::span<const NamedScalar> hyper)
    : rate_(std::move(rate)), optimizer_(optimizer) {
  for (std::string& name : scalar_names(optimizer)) scalars_.push_back({std::move(name), 0});
  size_t at = std::size(kCommon);
  for (const NamedScalar& scalar : hyper_values(optimizer, hyper)) scalars_[at++].value = scalar.value;
}

double StepScalars::rate_share(int64_t step) {
  if (step + 1 < summed_) summed_ = 0, squares_ = 0;
  for (; summed_ <= step; ++summed_) squares_ += rate_.at(summed_) * rate_.at(summed_);
  return squares_ > 0 ? rate_.at(step) * rate_.at(step) / squares_ : 1;
}

std::span<const NamedScalar> StepScalars::at(int64_t step) {
  return at(step, {.step = step}, {.step = step > 0 ? step - 1 : 0});
}

std::span<const NamedScalar> StepScalars::at(int64_t done, const SchedulePlace& place, const SchedulePlace& before) {
  const size_t common = std::size(kCommon), hyper = optimizer_.hyper_parameters().size();
  const ScheduleSpec& spec = rate_.spec();
  const StepFacts facts{place.gain * rate_.at(place.step),
                        before.gain * rate_.at(before.step),
                        static_cast<double>(done + 1),
                        spec.learning_rate,
                        rate_.epoch(place.step),
                        optimizer_.schedule_free ? rate_share(place.step) : 1,
                        std::span(scalars_).subspan(common, hyper)};
  scalars_[0].value = facts.learning_rate;
  scalars_[1].value = facts.previous_learning_rate;
  scalars_[2].value = facts.updates;
  size_t at = common + hyper;
  for (const DerivedScalar& row : optimizer_.derived_scalars()) scalars_[at++].value = row.value(facts);
  return scalars_;
}

}  // namespace kb
