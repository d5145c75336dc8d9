#include "recipes/train/ordered_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "recipes/train/applied_gradient.h"

namespace kb {
namespace {

constexpr double kNsOfSecond = 1e9;

OrderKind kind_of(Policy policy) {
  return policy == Policy::async ? OrderKind::async : policy == Policy::stale ? OrderKind::stale : OrderKind::backup;
}

void check_file(const OrderPlan& file, const OrderPlan& wanted, const std::string& path) {
  if (file.policy == wanted.policy && file.pieces == wanted.pieces) return;
  throw Error(fmt::format(
      "sync.order = {}: expected an order of {} workers, {} backups and {} gradients, got one of {}, {} and "
      "{}\n  hint:     the settings of the run that wrote it",
      path, wanted.policy.workers, wanted.policy.backups, wanted.pieces, file.policy.workers, file.policy.backups,
      file.pieces));
}

// Returns the order that the settings ask for: of the workers of a step, up to the end of the plan. Throws Error for
// times or numbers that make none.
OrderPlan order_plan(const Settled& settled) {
  const Synchronising& sync = settled.config.sync;
  OrderPlan plan;
  plan.policy = {kind_of(sync.policy), settled.batch.workers(), sync.policy == Policy::stale ? sync.bound : 0,
                 sync.policy == Policy::backup ? sync.backups : 0, sync.late};
  plan.seed = static_cast<uint64_t>(settled.config.arithmetic.seed);
  plan.pieces = settled.plan.steps * settled.batch.workers();
  check_order(plan.policy, plan.pieces);
  plan.times = read_times(parse_times("--times", sync.times), plan.policy.all_workers());
  return plan;
}

// Returns whether a scalar is a learning rate, of one group or of all.
bool is_rate(const std::string& name) { return name.ends_with("learning_rate"); }

}  // namespace

OrderedSteps::OrderedSteps(const LoopParts& parts)
    : parts_(parts),
      plan_(order_plan(parts.settled)),
      batch_(parts.copies.sessions, parts.task.fields),
      fill_(training_fill(parts)) {
  const std::string& path = parts.config.sync.order;
  if (path.empty()) {
    made_.emplace(plan_);
  } else {
    file_.emplace(path);
    check_file(file_->plan(), plan_, path);
  }
  set_constants(*parts.copies.apply, parts);
  const int64_t done = parts.start.step * plan_.policy.workers;
  int64_t decided = 0, applied = 0;
  if (done == 0) start_workers();
  for (; applied < done; ++decided) {
    const GradientRecord gradient = next();
    if (gradient.fate != GradientFate::applied) continue;
    ++applied;
    rate_before_ = rate_of(gradient);
  }
  parts.observer.order_begins(file_ ? file_->plan() : plan_, decided);
}

GradientRecord OrderedSteps::next() {
  const std::optional<GradientRecord> gradient = file_ ? file_->next() : made_->next();
  if (!gradient)
    throw Error(fmt::format("sync.order = {}: expected {} gradients, got an end before", parts_.config.sync.order,
                            plan_.pieces));
  return *gradient;
}

void OrderedSteps::start_workers() {
  if (rules().started().empty()) return;
  parts_.copies.apply->wait();
  for (const int64_t worker : rules().started())
    parts_.copies.stores[static_cast<size_t>(worker)]->take(parts_.store, false);
}

OrderedStep OrderedSteps::take(int64_t step, RunSchedule& schedule) {
  OrderedStep taken;
  taken.figures.resize(1 + parts_.metrics.training.size());
  for (int64_t applied = 0; applied < plan_.policy.workers;) {
    const GradientRecord gradient = next();
    parts_.observer.ordered(gradient);
    if (gradient.fate == GradientFate::applied) {
      compute(gradient, taken);
      apply(gradient, step, schedule);
      taken.staleness += static_cast<double>(gradient.staleness()) / static_cast<double>(plan_.policy.workers);
      taken.clock_s = static_cast<double>(gradient.end_ns) / kNsOfSecond;
      ++applied;
    }
    start_workers();
  }
  return taken;
}

void OrderedSteps::compute(const GradientRecord& gradient, OrderedStep& taken) {
  using Clock = std::chrono::steady_clock;
  const int64_t workers = plan_.policy.workers, step = gradient.piece / workers, part = gradient.piece % workers;
  const size_t bucket = parts_.order.bucket(step), all = parts_.copies.stores.size();
  Session& session = *parts_.copies.sessions[bucket * all + static_cast<size_t>(gradient.worker)];
  const Clock::time_point begin = Clock::now();
  batch_.fit(session);
  batch_.fill(fill_, gradient.piece, {kTrainingPart, parts_.task.train.get()});
  batch_.feed(session);
  taken.wait_ms += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  // Random numbers of a sample are those of its place in the run, whoever computes it when.
  session.set_scalar("step", static_cast<double>(step));
  for (const char* name : {"worker", "first_worker"}) session.set_scalar(name, static_cast<double>(part));
  session.step();
  const auto add = [&](double& figure, const std::string& output) {
    session.read(output, value_);
    figure += value_.at(0) / static_cast<double>(workers);
  };
  add(taken.figures[0], "loss");
  for (size_t i = 0; i < parts_.metrics.training.size(); ++i)
    add(taken.figures[i + 1], parts_.metrics.training[i].name);
}

// Returns the rate of an update over that of a step.
double OrderedSteps::rate_of(const GradientRecord& gradient) {
  if (plan_.policy.kind == OrderKind::backup) return 1;
  const double alone = 1 / static_cast<double>(plan_.policy.workers);
  if (parts_.config.sync.stale_rate == StaleRate::plain) return alone;
  return alone / static_cast<double>(std::max<int64_t>(1, gradient.staleness()));
}

void OrderedSteps::apply(const GradientRecord& gradient, int64_t step, RunSchedule& schedule) {
  Session& session = *parts_.copies.apply;
  const int64_t together = plan_.policy.gradients_per_update();
  if (arrived_ == 0) {
    const double rate = rate_of(gradient), before = rate_before_ > 0 ? rate_before_ : rate;
    set_scalars(session, schedule, step);
    for (const NamedScalar& scalar : schedule.at(step))
      if (is_rate(scalar.name))
        session.set_scalar(scalar.name,
                           scalar.value * (scalar.name.ends_with("previous_learning_rate") ? before : rate));
    rate_before_ = rate;
  }
  apply_gradient(session, *parts_.copies.stores[static_cast<size_t>(gradient.worker)], arrived_);
  arrived_ = (arrived_ + 1) % together;
}

}  // namespace kb
