#include "recipes/train/step_runner.h"

#include <algorithm>
#include <utility>

#include "compiler/passes/loss_scale.h"
#include "recipes/train/join.h"

namespace kb {
namespace {

constexpr double kLeastRate = 1e-30;  // sync.outer_per_rate divides by the rate, or by this

}  // namespace

StepRunner::StepRunner(LoopParts& parts, StepFeed& feed) : parts_(parts), feed_(feed) {
  if (parts.plan.ordered > 0) ordered_.emplace(parts);
}

std::optional<TakenStep> StepRunner::take_ordered(int64_t step) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  parts_.world.at_step(step);
  if (!parts_.world.begin()) return std::nullopt;
  const OrderedStep taken = ordered_->take(step, parts_.schedule);
  return TakenStep{.step = step,
                   .begun = begun,
                   .wait_ms = taken.wait_ms,
                   .host_seconds = std::chrono::duration<double>(Clock::now() - begun).count() - taken.wait_ms / 1e3,
                   .session = parts_.of_step().front(),
                   .minibatch = parts_.batch.global,
                   .figures = taken.figures,
                   .clock_s = taken.clock_s,
                   .staleness = taken.staleness};
}

// Returns the update that a step is. Slots that were zeroed at a join have gathered the steps of their round alone.
Update StepRunner::update_of(int64_t step) const {
  Update update = parts_.schedule.update_of(step);
  const Rounds& rounds = parts_.plan.rounds;
  const bool are_zeroed = parts_.config.sync.slots == LocalSlots::zero && rounds.has(step);
  if (are_zeroed && rounds.number_of(step) > 0) update.done = rounds.steps_until(step + 1) - 1;
  return update;
}

std::optional<TakenStep> StepRunner::take(int64_t step) {
  using Clock = std::chrono::steady_clock;
  if (ordered_) return take_ordered(step);
  const std::span<Session* const> sessions = parts_.of_step();
  const double waited = parts_.world.waited_s();
  TakenStep taken{.step = step, .begun = Clock::now(), .session = sessions.front(), .minibatch = parts_.batch.global};
  parts_.world.at_step(step);
  const ParameterCopies copies = parts_.plan.copies(parts_.world.rank());
  int64_t worker = 0, replica = copies.first;
  for (Session* session : sessions) {
    set_scalars(*session, parts_.schedule, update_of(step));
    session->set_scalar("first_worker", static_cast<double>(replica * session->compiled().workers.total()));
    for (int64_t own = 0; own < session->virtual_workers(); ++own, ++worker) {
      parts_.world.at_worker(worker);
      // Only the last virtual worker's part writes state, after all processes have agreed in World::begin() to finish
      // the step. A step that is abandoned here has therefore changed no state. Other replicas' parts follow the first
      // one's without a question.
      const bool is_last = own + 1 == session->virtual_workers(), may_stop = session == sessions.front();
      if (may_stop && (is_last ? !parts_.world.begin() : parts_.world.is_over())) return std::nullopt;
      taken.wait_ms += feed_.next(*session);
      session->set_scalar("worker", static_cast<double>(first_worker(parts_) + worker));
      work(step, *session, own);
    }
    if (parts_.uses_copies) read_replica(*session, replica++, taken);
  }
  if (parts_.uses_copies) average_figures(taken);
  if (parts_.plan.rounds.ends_after(step + 1)) join(step + 1);
  taken.host_seconds = std::chrono::duration<double>(Clock::now() - taken.begun).count() - taken.wait_ms / 1e3;
  taken.reduce_seconds = parts_.world.waited_s() - waited;
  return taken;
}

// Replicas share the memory of outputs, so that their figures are read before the next one works. The first of the
// processes that share a replica gives its figures to the sum over processes.
void StepRunner::read_replica(const Session& replica, int64_t number, TakenStep& taken) {
  const size_t count = 1 + parts_.metrics.training.size();
  const int64_t rank = parts_.world.rank();
  const ParameterCopies copies = parts_.plan.copies(rank);
  taken.figures.resize(count * static_cast<size_t>(copies.all));
  if (&replica == taken.session && replica.has_output(kLossScale)) taken.loss_scale = replica.read_scalar(kLossScale);
  if (rank % copies.processes != 0) return;
  double* figure = &taken.figures[count * static_cast<size_t>(number)];
  const auto put = [&](const std::string& output) {
    replica.read(output, value_);
    *figure++ = value_.at(0);
  };
  put("loss");
  for (const NamedMetric& metric : parts_.metrics.training) put(metric.name);
}

// Collective call. Sums the figures of all replicas in the order of their numbers, so that no bit depends on the number
// of processes.
void StepRunner::average_figures(TakenStep& taken) {
  Communicator& communicator = parts_.world.communicator();
  const int64_t all = std::ssize(taken.figures), replicas = parts_.plan.rounds.replicas, count = all / replicas;
  if (communicator.size() > 1)
    communicator.wait(communicator.all_reduce(reinterpret_cast<std::byte*>(taken.figures.data()), all, DType::f64));
  for (int64_t at = count; at < all; ++at) taken.figures[at % count] += taken.figures[at];
  taken.figures.resize(count);
  for (double& figure : taken.figures) figure /= static_cast<double>(replicas);
}

void StepRunner::join(int64_t done) {
  const Rounds& rounds = parts_.plan.rounds;
  const int64_t round = rounds.number_of(done - 1), steps = rounds.steps_until(done);
  const auto rate_of = [&](int64_t step) { return std::max(parts_.schedule.rate(step), kLeastRate); };
  run_join(*parts_.copies.join, *parts_.copies.scalars, parts_.copies.stores,
           {round, steps, rate_of(done - 1), rate_of(round > 0 ? done - steps - 1 : done - 1), parts_.copies.first,
            rounds.replicas});
}

// Runs one virtual worker's part of a step. If the observer wants a profile, the last worker's part is run by
// profile(), which computes the same bits and measures times.
void StepRunner::work(int64_t step, Session& session, int64_t worker) {
  const bool is_last = worker + 1 == session.virtual_workers() && &session == &parts_.training();
  if (!is_last || !parts_.observer.wants_profile(step)) return session.work(worker);
  parts_.observer.profile_begins(step);
  profile_ = session.profile();
  profiled_ = step;
}

void StepRunner::show_profile() {
  if (profile_) parts_.observer.profiled(profiled_, parts_.training(), *std::exchange(profile_, std::nullopt));
}

}  // namespace kb
