#include "recipes/config/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "recipes/config/flag_names.h"

namespace kb {

ReferenceRate reference_rate(const Learning& learning) {
  return {learning.lr, learning.base_minibatch, learning.scaling};
}

bool reads_gradient_norms(const TrainConfig& config) {
  return config.judging.noise_scale || reference_rate(config.learning).has_gains();
}

int64_t sharing_processes(const TrainConfig& config, int64_t processes) {
  return config.sync.is_ordered() ? 1 : processes;
}

BatchPlan batch_plan(const Batching& batch, int64_t processes) {
  try {
    return make_batch_plan(batch.minibatch, batch.per_worker, processes, batch.batch_norm);
  } catch (const Error& error) {
    throw Error(with_members(error.what()));  // it names flags
  }
}

int64_t bucket_bytes(double megabytes) {
  constexpr double kUsualMb = 25;
  return std::llround(1e6 * (megabytes > 0 ? megabytes : kUsualMb));
}

namespace {

// Tolerance of numbers of epochs and of periods: rounding may leave them a hair short of a whole number.
constexpr double kHair = 1e-9;

// Returns the progress after `done` steps in the unit, which must not be geometric.
double position(Period::Unit unit, const RunPlan& plan, int64_t done) {
  if (unit == Period::Unit::epochs) return plan.epochs(done);
  return unit == Period::Unit::steps ? static_cast<double>(done) : static_cast<double>(plan.samples_in(done)) / 1000;
}

// Returns the smallest number of steps, at least 1, that reaches or passes `at`.
int64_t steps_to(const Period& at, const RunPlan& plan) {
  const auto is_before = [&](int64_t done) { return position(at.unit, plan, done) + kHair < at.count; };
  int64_t before = 0, enough = 1;
  for (; is_before(enough); enough *= 2) before = enough;
  while (enough - before > 1) {
    const int64_t middle = before + (enough - before) / 2;
    (is_before(middle) ? before : enough) = middle;
  }
  return enough;
}

std::string growths_member(const TrainConfig& config) {
  return "batch.growths = " + growths_text(config.batch.growths);
}

// Returns the epoch in which the last warmup of these phases ends.
double warmup_end(const TrainConfig& config, const RunPlan& plan) {
  for (size_t number = plan.grown.size(); number > 0; --number)
    if (const MinibatchPhase now = plan.phase(number); now.restarts)
      return now.epochs(now.begin_step) + now.warmup_epochs;
  return warmup_epochs_of(config.learning, plan.steps_per_epoch);
}

// Throws Error unless the minibatch may grow after `begin` steps of a run whose earlier phases are those of `plan`.
void check_growth(const TrainConfig& config, const RunPlan& plan, int64_t begin, int64_t minibatch) {
  const double epoch = plan.epochs(begin);
  if (!plan.grown.empty() && begin <= plan.grown.back().begin_step)
    throw Error(fmt::format("{}: expected growths in their order, got one at step {} behind one at step {}",
                            growths_member(config), begin, plan.grown.back().begin_step));
  const double warmup = warmup_end(config, plan);
  if (config.learning.warmup != "none" && epoch < warmup)
    throw Error(
        fmt::format("{}: expected growths after the warmup, which ends at epoch {:.6g}, got one at epoch {:.6g}",
                    growths_member(config), warmup, epoch));
  if (config.batch.growths[plan.grown.size()].warmup && config.learning.warmup == "none")
    throw Error(
        fmt::format("{}: expected no warmup beside learning.warmup = none, got one at epoch {:.6g}\n"
                    "  hint:     learning.warmup = gradual, learning.warmup_epochs = 0",
                    growths_member(config), epoch));
  if (minibatch > plan.samples)
    throw Error(fmt::format("{}: expected minibatches of at most the {} training samples, got {} from epoch {:.6g} on",
                            growths_member(config), plan.samples, minibatch, epoch));
}

// Returns buckets of as many samples, numbered from 0.
std::vector<OrderBucket> counted(const std::vector<BucketSize>& buckets) {
  std::vector<OrderBucket> all;
  for (const auto& [samples, minibatch] : buckets) all.push_back({samples, minibatch, nullptr});
  return all;
}

Order enlarged_order(uint64_t seed, std::vector<OrderBucket> buckets, int64_t factor) {
  for (OrderBucket& bucket : buckets) bucket.minibatch *= factor;
  return Order::training(seed, std::move(buckets));
}

// Returns the phase that begins after `begin` steps, where `before` is the order of the phase before.
MinibatchPhase grown_phase(const RunPlan& plan, const Order& before, int64_t begin, const Growth& growth) {
  const MinibatchPhase last = plan.phase(plan.grown.size());
  const int64_t factor = last.factor * growth.factor, minibatch = last.minibatch * growth.factor;
  const Order order = enlarged_order(before.seed(), counted(plan.buckets), factor).after(before, begin);
  const auto warmup_epochs = [&](const Period& warmup) {
    return warmup.unit == Period::Unit::epochs ? warmup.count
                                               : warmup.count / static_cast<double>(order.steps_per_epoch());
  };
  return {.begin_step = begin,
          .begin_epoch = order.first_epoch(),
          .minibatch = minibatch,
          .steps_per_epoch = order.steps_per_epoch(),
          .begin_sample = order.drawn_before(),
          .rest_steps = order.rest_steps(),
          .rate = last.rate * ReferenceRate{1, last.minibatch, growth.rule}.at(minibatch) * growth.rate,
          .factor = factor,
          .pieces = last.pieces / growth.longer,
          .restarts = growth.restarts,
          .warmup_epochs = growth.warmup ? warmup_epochs(*growth.warmup) : 0};
}

std::vector<MinibatchPhase> grown_phases(const TrainConfig& config, RunPlan plan) {
  const uint64_t seed = order_seed(config.arithmetic);
  for (const Growth& growth : config.batch.growths) {
    const int64_t begin = steps_to(growth.at, plan);
    check_growth(config, plan, begin, plan.phase(plan.grown.size()).minibatch * growth.factor);
    const Order order = order_in_phase(plan, plan.grown.size(), seed, counted(plan.buckets));
    const MinibatchPhase now = grown_phase(plan, order, begin, growth);
    if (config.length.steps == 0 && now.epochs(begin) >= static_cast<double>(config.length.epochs))
      throw Error(
          fmt::format("{}: expected growths before the end of the run, after {} epochs, got one at epoch {:.6g}",
                      growths_member(config), config.length.epochs, now.epochs(begin)));
    plan.grown.push_back(now);
  }
  return plan.grown;
}

// Returns the member that makes reads_gradient_norms() true.
const char* norms_member(const TrainConfig& config) {
  return config.judging.noise_scale ? "judging.noise_scale" : "learning.scaling = adascale";
}

void check_workers(const TrainConfig& config, int64_t per_worker) {
  if (!reads_gradient_norms(config) || per_worker < config.batch.minibatch) return;
  throw Error(
      fmt::format("{}: expected two workers or more, whose gradients it compares, got one of {} samples\n"
                  "  hint:     batch.per_worker = {}",
                  norms_member(config), per_worker, per_worker % 2 == 0 ? per_worker / 2 : 1));
}

void check_gains(const TrainConfig& config) {
  if (!reference_rate(config.learning).has_gains()) return;
  if (config.batch.minibatch < config.learning.base_minibatch)
    throw Error(fmt::format(
        "learning.scaling = adascale: expected batch.minibatch to be at least learning.base_minibatch, {}, got {}\n"
        "  hint:     learning.scaling = linear",
        config.learning.base_minibatch, config.batch.minibatch));
  constexpr const char* kWhy = "learning.scaling = adascale, whose gains are averages over steps of one minibatch";
  if (!config.batch.growths.empty())
    throw Error(
        fmt::format("batch.growths: expected none beside {}, got {}", kWhy, growths_text(config.batch.growths)));
  if (config.batch.tokens > 0)
    throw Error(fmt::format("batch.tokens: expected none beside {}, got {}", kWhy, config.batch.tokens));
}

std::vector<const Learning*> learnings_of(const TrainConfig& config) {
  std::vector<const Learning*> all = {&config.learning};
  for (const GroupLearning& group : config.group_learning) all.push_back(&group.learning);
  return all;
}

void check_half_life(const TrainConfig& config) {
  for (const Learning* learning : learnings_of(config))
    if (learning->half_life > 0 && !config.batch.growths.empty())
      throw Error(
          "learning.half_life, batch.growths: expected one of them, got both\n  hint:     beta2 follows from one "
          "minibatch");
}

int64_t sum_of_samples(const std::vector<BucketSize>& buckets) {
  int64_t samples = 0;
  for (const BucketSize& bucket : buckets) samples += bucket.samples;
  return samples;
}

// Returns the mean minibatch of an epoch's steps.
int64_t mean_minibatch(const std::vector<BucketSize>& buckets) {
  if (buckets.size() == 1) return buckets.front().minibatch;
  const Order order = Order::training(0, counted(buckets));
  return std::llround(static_cast<double>(sum_of_samples(buckets) - order.left_out()) /
                      static_cast<double>(order.steps_per_epoch()));
}

void check_minibatch(const std::vector<BucketSize>& buckets, int64_t held_out) {
  const int64_t samples = sum_of_samples(buckets), most = buckets.back().minibatch;
  if (most > samples)
    throw Error(
        fmt::format("batch.minibatch: expected at most the {} training samples, got {}{}", samples, most,
                    held_out > 0 ? fmt::format("\n  hint:     judging.validation holds out {} more", held_out) : ""));
}

// Returns a function that throws Error for a member which does not go with the policy.
auto refusal_beside_policy(const TrainConfig& config) {
  return [policy = word_of(kPolicies, config.sync.policy)](const std::string& member, const std::string& why) {
    throw Error(fmt::format("{}: expected none beside sync.policy = {}, {}", member, policy, why));
  };
}

// Throws Error for members that do not go with copies of the parameters.
void check_copies(const TrainConfig& config) {
  const auto refuse = refusal_beside_policy(config);
  if (!config.batch.growths.empty()) refuse("batch.growths", "whose steps have one minibatch");
  if (reads_gradient_norms(config)) refuse(norms_member(config), "whose workers have other parameters");
  if (config.judging.log_layers) refuse("judging.log_layers", "whose workers have layers of their own");
  if (config.judging.check_finite) refuse("judging.check_finite", "whose workers have parameters of their own");
  if (config.arithmetic.resident == ResidentChoice::on)
    refuse("arithmetic.resident = on", "whose workers are sent data");
}

// Returns the number of replicas of local training: sync.replicas, or one a worker if that is 0.
int64_t replicas_of(const TrainConfig& config, const BatchPlan& batch) {
  return config.sync.replicas > 0 ? config.sync.replicas : batch.workers();
}

void check_local(const TrainConfig& config, const BatchPlan& batch) {
  check_copies(config);
  const int64_t replicas = replicas_of(config, batch);
  if (replicas % batch.processes != 0 && batch.processes % replicas != 0)
    throw Error(
        fmt::format("sync.replicas = {}: expected a multiple or a divisor of the {} processes, which have equal shares "
                    "of the replicas, got neither",
                    replicas, batch.processes));
  if (batch.workers() % replicas == 0) return;
  const std::string hint =
      batch.global % replicas == 0
          ? fmt::format("batch.per_worker = {}, a worker a replica", batch.global / replicas)
          : fmt::format("sync.replicas = {}, or 0, one a worker", std::gcd(batch.workers(), replicas));
  throw Error(
      fmt::format("sync.replicas = {}: expected a divisor of the {} workers of a step, got none\n  hint:     {}",
                  replicas, batch.workers(), hint));
}

// Throws Error for members that need all gradients of a step at once, where an order applies them.
void check_ordered(const TrainConfig& config) {
  check_copies(config);
  const auto refuse = refusal_beside_policy(config);
  if (config.arithmetic.precision == Precision::f16)
    refuse("arithmetic.precision = f16", "whose loss scale follows from all gradients of a step");
  const bool is_backup = config.sync.policy == Policy::backup;
  for (const Learning* learning : learnings_of(config)) {
    if (learning->half_life > 0) refuse("learning.half_life", "whose updates are not of a whole minibatch");
    if (learning->clip_norm > 0 && !is_backup)
      refuse("learning.clip_norm", "where no update has the mean gradient of a step");
    if (config.sync.momentum_at == MomentumAt::worker && learning->optimizer != "momentum")
      throw Error(fmt::format("sync.momentum_at = worker: expected learning.optimizer = momentum, got {}",
                              learning->optimizer));
  }
}

int64_t ordered_workers(const TrainConfig& config, const BatchPlan& batch) {
  if (!config.sync.is_ordered()) return 0;
  check_ordered(config);
  return batch.workers() + (config.sync.policy == Policy::backup ? config.sync.backups : 0);
}

Rounds make_rounds(const TrainConfig& config, const BatchPlan& batch, const RunPlan& plan) {
  if (config.sync.policy != Policy::local) return {};
  check_local(config, batch);
  Rounds rounds{replicas_of(config, batch), config.sync.every, 0, plan.steps, batch.processes};
  if (config.sync.from) rounds.first = plan.steps_in(*config.sync.from);
  if (rounds.first >= plan.steps && plan.steps > 0)
    throw Error(fmt::format("sync.from = {}: expected replicas before the end of the run, after {} steps, got step {}",
                            config.sync.from->text(), plan.steps, rounds.first));
  return rounds;
}

}  // namespace

RunPlan schedule_plan(const Learning& learning, const RunPlan& plan) {
  if (!reference_rate(learning).has_gains()) return plan;
  return {plan.samples, learning.base_minibatch, plan.samples / learning.base_minibatch, plan.steps};
}

RunPlan make_plan(const TrainConfig& config, const BatchPlan& batch, int64_t samples) {
  return make_plan(config, batch, {{samples, config.batch.minibatch}});
}

RunPlan make_plan(const TrainConfig& config, const BatchPlan& batch, const std::vector<BucketSize>& buckets) {
  check_minibatch(buckets, config.judging.validation);
  const int64_t samples = sum_of_samples(buckets);
  const int64_t n = batch.per_worker;
  if (config.judging.recompute_bn > samples / n)
    throw Error(fmt::format(
        "judging.recompute_bn: expected at most {} minibatches of {}, which the {} training samples hold, got {}",
        samples / n, n, samples, config.judging.recompute_bn));
  check_workers(config, n);
  check_gains(config);
  check_half_life(config);
  const int64_t steps_per_epoch = Order::training(0, counted(buckets)).steps_per_epoch();
  RunPlan plan{samples, mean_minibatch(buckets), steps_per_epoch, config.length.steps, {}, buckets};
  for (const Growth& growth : config.batch.growths) plan.pieces *= growth.longer;
  plan.grown = grown_phases(config, plan);
  if (plan.steps == 0)
    plan.steps = schedule_plan(config.learning, plan).steps_in(static_cast<double>(config.length.epochs));
  plan.rounds = make_rounds(config, batch, plan);
  plan.ordered = ordered_workers(config, batch);
  return plan;
}

namespace {

// Returns whether `done` is ceil(ratio^k) for a k >= 0.
bool is_power(double ratio, int64_t done) {
  const double nearest = std::round(std::log(static_cast<double>(done)) / std::log(ratio));
  for (const double k : {nearest - 1, nearest, nearest + 1})
    if (k >= 0 && std::ceil(std::pow(ratio, k)) == static_cast<double>(done)) return true;
  return false;
}

// Returns a text such as
// "; AdaScale: 6 epochs x 937 steps of 64 = 5622 scale-invariant iterations, in 703 to 5622 steps".
std::string gains_derivation(const TrainConfig& config, const RunPlan& plan) {
  const RunPlan base = schedule_plan(config.learning, plan);
  const std::string iterations =
      config.length.steps > 0
          ? fmt::format("length.steps = {} of {}", plan.steps, base.minibatch)
          : fmt::format("{} epochs x {} steps of {}", config.length.epochs, base.steps_per_epoch, base.minibatch);
  return fmt::format("; AdaScale: {} = {} scale-invariant iterations, in {} to {} steps", iterations, plan.steps,
                     least_steps(config.learning, plan), plan.steps);
}

}  // namespace

bool is_due(const Period& every, const RunPlan& plan, int64_t done) {
  if (every.count == 0 || done <= 0) return false;
  if (every.unit == Period::Unit::geometric) return is_power(every.count, done);
  const auto passed = [&](int64_t steps) {
    return std::floor(position(every.unit, plan, steps) / every.count + kHair);
  };
  return passed(done) > passed(done - 1);
}

int64_t last_step(const StopAt& stop, const RunPlan& plan) {
  if (!stop.duration) return plan.steps;
  return std::min(std::max<int64_t>(1, plan.steps_in(*stop.duration)), plan.steps);
}

int64_t least_steps(const Learning& learning, const RunPlan& plan) {
  const int64_t base = schedule_plan(learning, plan).minibatch;
  return (plan.steps * base + plan.minibatch - 1) / plan.minibatch;
}

ParameterCopies RunPlan::copies(int64_t rank) const {
  if (ordered > 0 && rank > 0) return {ordered, rank - 1, 1};  // rank 0 serves workers, each in a process of its own
  if (ordered > 0) return {ordered, 0, ordered};
  if (rounds.replicas == 0) return {};
  const int64_t shared = rounds.processes_a_replica(), own = std::max<int64_t>(1, rounds.replicas / rounds.processes);
  return {rounds.replicas, rank / shared * own, own, shared};
}

int64_t RunPlan::left_out() const {
  return buckets.size() > 1 ? Order::training(0, counted(buckets)).left_out() : samples % minibatch;
}

Order order_in_phase(const RunPlan& plan, size_t phase, uint64_t seed, const std::vector<OrderBucket>& buckets) {
  Order order = Order::training(seed, buckets);
  for (size_t number = 1; number <= phase; ++number) {
    const MinibatchPhase now = plan.phase(number);
    order = enlarged_order(seed, buckets, now.factor).after(order, now.begin_step);
  }
  return order;
}

std::string RunPlan::derivation(const TrainConfig& config) const {
  std::string text = fmt::format("{} samples / {} = {} steps an epoch", samples, minibatch, steps_per_epoch);
  if (buckets.size() > 1)
    text = fmt::format("{} samples in {} buckets, {} a step on average = {} steps an epoch", samples, buckets.size(),
                       minibatch, steps_per_epoch);
  if (int64_t rest = left_out(); rest > 0) text += fmt::format(" ({} left out, others each time)", rest);
  for (const MinibatchPhase& now : grown) {
    const std::string begin = now.rest_steps == 0
                                  ? fmt::format("epoch {}", now.begin_epoch)
                                  : fmt::format("epoch {:.4g} = step {}", now.epochs(now.begin_step), now.begin_step);
    text += fmt::format("; from {} on {} / {} = {}", begin, samples, now.minibatch, now.steps_per_epoch);
  }
  if (reference_rate(config.learning).has_gains()) return text + gains_derivation(config, *this);
  if (config.length.steps > 0) return text + fmt::format("; length.steps = {}, {:.3g} epochs", steps, epochs(steps));
  return text + fmt::format("; x {} epochs = {} steps", config.length.epochs, steps);
}

}  // namespace kb
