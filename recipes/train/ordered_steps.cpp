#include "recipes/train/ordered_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

// Returns the order that the settings ask for: of the workers of a step, up to the end of the plan. `is_measured`: its
// times are those of processes. Throws Error for times or numbers that make none.
OrderPlan order_plan(const Settled& settled, bool is_measured) {
  const Synchronising& sync = settled.config.sync;
  OrderPlan plan;
  plan.policy = {kind_of(sync.policy), settled.batch.workers(), sync.policy == Policy::stale ? sync.bound : 0,
                 sync.policy == Policy::backup ? sync.backups : 0,
                 sync.policy == Policy::backup ? sync.late : LateGradients::abandon};
  plan.seed = static_cast<uint64_t>(settled.config.arithmetic.seed);
  plan.pieces = settled.plan.steps * settled.batch.workers();
  check_order(plan.policy, plan.pieces);
  plan.times = is_measured ? GradientTimes{.kind = GradientTimes::Kind::clock}
                           : read_times(parse_times("--times", sync.times), plan.policy.all_workers());
  return plan;
}

// Returns the time in ns that the two messages of a gradient take on the network of sync.net.
int64_t message_ns(const LoopParts& parts) {
  const std::optional<Network>& net = parts.config.sync.net;
  if (!net || parts.team) return 0;
  const double seconds = 2 * net->latency + static_cast<double>(bytes_of_messages(parts)) / net->bandwidth;
  return static_cast<int64_t>(std::min(std::ceil(seconds * kNsOfSecond), static_cast<double>(kMostMessageNs)));
}

// Returns the order that the settings of a training ask for.
OrderPlan order_plan(const LoopParts& parts) {
  OrderPlan plan = order_plan(parts.settled, parts.team != nullptr);
  plan.times.message_ns = message_ns(parts);
  return plan;
}

// Sets the momentum of an update to 0, whose gradients are velocities of their workers already.
void take_out_momentum(Session& apply, std::span<const NamedScalar> scalars) {
  for (const NamedScalar& scalar : scalars)
    if (scalar.name.ends_with("momentum")) apply.set_scalar(scalar.name, 0);
}

// Returns whether a scalar is a learning rate, of one group or of all.
bool is_rate(const std::string& name) { return name.ends_with("learning_rate"); }

}  // namespace

void check_gradient_order(const Settled& settled, int64_t processes) {
  const OrderPlan plan = order_plan(settled, processes > 1);
  if (const std::string& path = settled.config.sync.order; !path.empty())
    check_file(OrderReader(path).plan(), plan, path);
}

OrderedSteps::OrderedSteps(const LoopParts& parts) : parts_(parts), plan_(order_plan(parts)), gradient_(parts) {
  set_constants(*parts.copies.apply, parts);
  go_to_start();
}

// Makes or opens the order, and repeats it up to the step with which the training begins.
void OrderedSteps::go_to_start() {
  const int64_t done = parts_.start.step * plan_.policy.workers;
  const std::string path = parts_.team ? (done > 0 ? parts_.start.order : "") : parts_.config.sync.order;
  if (!path.empty()) {
    file_.emplace(path);
    check_file(file_->plan(), plan_, path);
  } else if (!parts_.team) {
    made_.emplace(plan_);
  } else if (done > 0) {
    throw Error("an order of several processes goes on from its order.jsonl, and there is none");
  }
  if (done == 0 && !parts_.team) start_workers();
  int64_t decided = 0;
  for (int64_t applied = 0; applied < done; ++decided) {
    const GradientRecord gradient = repeated();
    if (gradient.fate != GradientFate::applied) continue;
    ++applied;
    rate_before_ = rate_of(gradient);
  }
  parts_.observer.order_begins(file_ ? file_->plan() : plan_, decided);
  if (parts_.team) begin_clock(file_ ? file_->state() : OrderState{});
}

// Goes on at a place by the gradients that workers' processes compute; those under way there are begun again.
void OrderedSteps::begin_clock(OrderState place) {
  clock_begin_ = std::chrono::steady_clock::now() - std::chrono::nanoseconds(place.now_ns);
  server_.emplace(parts_, *parts_.team);
  if (!file_) {
    live_.emplace(plan_.policy, plan_.pieces);
    start_workers();
    return;
  }
  file_.reset();
  live_.emplace(plan_.policy, plan_.pieces, std::move(place));
  for (int64_t worker = 0; worker < plan_.policy.all_workers(); ++worker)
    if (live_->worker(worker).computes) start(worker);
}

// Returns the next gradient of an order that is made or read.
GradientRecord OrderedSteps::repeated() {
  const std::optional<GradientRecord> gradient = file_ ? file_->next() : made_->next();
  if (!gradient)
    throw Error(
        fmt::format("an order of gradients: expected {} gradients, got an end before\n  hint:     the file is {}",
                    plan_.pieces, parts_.team ? parts_.start.order : parts_.config.sync.order));
  return *gradient;
}

OrderedSteps::Decided OrderedSteps::next() {
  if (!server_) return {repeated()};
  GradientServer::Arrived arrived = server_->next();
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now() - clock_begin_;
  return {live_->decide(arrived.worker, now.count()), std::move(arrived.figures)};
}

void OrderedSteps::start_workers() {
  if (rules().started().empty()) return;
  parts_.copies.apply->wait();
  for (const int64_t worker : rules().started()) {
    parts_.copies.stores[static_cast<size_t>(worker)]->take(parts_.store, false);
    if (server_) start(worker);
  }
}

void OrderedSteps::start(int64_t worker) { server_->start(worker, live_->worker(worker).piece); }

OrderedStep OrderedSteps::take(int64_t step, RunSchedule& schedule) {
  OrderedStep taken;
  taken.figures.resize(gradient_.figures());
  for (int64_t applied = 0; applied < plan_.policy.workers;) {
    const auto [gradient, figures] = next();
    parts_.observer.ordered(gradient);
    if (gradient.fate == GradientFate::applied) {
      add_figures(gradient, figures, taken);
      apply(gradient, update_of(step * plan_.policy.workers + applied), schedule);
      taken.staleness += static_cast<double>(gradient.staleness()) / static_cast<double>(plan_.policy.workers);
      taken.clock_s = static_cast<double>(gradient.end_ns) / kNsOfSecond;
      ++applied;
    }
    start_workers();
  }
  return taken;
}

// Adds the figures of a gradient, which this process computes now unless they came with it.
void OrderedSteps::add_figures(const GradientRecord& gradient, const std::vector<double>& came, OrderedStep& taken) {
  const std::vector<double>& figures = server_ ? came : gradient_.compute(gradient.worker, gradient.piece);
  if (!server_) taken.wait_ms += gradient_.wait_ms();
  for (size_t i = 0; i < figures.size(); ++i)
    taken.figures[i] += figures[i] / static_cast<double>(plan_.policy.workers);
}

// Returns the rate of an update over that of a step.
double OrderedSteps::rate_of(const GradientRecord& gradient) {
  if (plan_.policy.kind == OrderKind::backup) return 1;
  const double alone = 1 / static_cast<double>(plan_.policy.workers);
  if (parts_.config.sync.stale_rate == StaleRate::plain) return alone;
  return alone / static_cast<double>(std::max<int64_t>(1, gradient.staleness()));
}

// Returns the update to which an applied gradient belongs, by its number among those of the run.
Update OrderedSteps::update_of(int64_t gradient) const {
  const int64_t workers = plan_.policy.workers, together = plan_.policy.gradients_per_update();
  const int64_t number = gradient / together, before = std::max<int64_t>(number - 1, 0);
  return {gradient / workers, before * together / workers, number + parts_.schedule.ahead()};
}

void OrderedSteps::apply(const GradientRecord& gradient, const Update& update, RunSchedule& schedule) {
  Session& session = *parts_.copies.apply;
  const int64_t together = plan_.policy.gradients_per_update();
  if (arrived_ == 0) {
    const double rate = rate_of(gradient), before = rate_before_ > 0 ? rate_before_ : rate;
    set_scalars(session, schedule, update);
    for (const NamedScalar& scalar : schedule.at(update))
      if (is_rate(scalar.name))
        session.set_scalar(scalar.name,
                           scalar.value * (scalar.name.ends_with("previous_learning_rate") ? before : rate));
    if (parts_.config.sync.momentum_at == MomentumAt::worker) take_out_momentum(session, schedule.at(update));
    rate_before_ = rate;
  }
  apply_gradient(session, *parts_.copies.stores[static_cast<size_t>(gradient.worker)], arrived_);
  arrived_ = (arrived_ + 1) % together;
}

}  // namespace kb
