#include "recipes/train/training_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/loss_scale.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/train/residency.h"
#include "runtime/finite.h"

namespace kb {
namespace {

std::vector<HostBatch> make_slots(const LoopParts& parts) {
  const int count = host_batches(parts.training(), *parts.task.train, parts.loader_threads);
  std::vector<HostBatch> slots;
  for (int i = 0; i < count; ++i) slots.emplace_back(parts.training(), parts.task.fields);
  return slots;
}

void set_phase(LoopParts& parts, size_t phase) {
  parts.phase = phase;
  parts.batch = parts.settled.batch_of(phase);
}

LoopParts at_start(LoopParts parts) {
  set_phase(parts, parts.plan.phase_of(parts.start.step));
  return parts;
}

int64_t warmup_steps(const ScheduleSpec& spec) {
  return spec.warmup == "none" ? 0 : std::llround(spec.warmup_epochs * static_cast<double>(spec.steps_per_epoch));
}

double seconds_between(std::chrono::steady_clock::time_point start, std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

TrainingLoop::TrainingLoop(LoopParts parts)
    : parts_(at_start(std::move(parts))),
      slots_(make_slots(parts_)),
      evaluator_(parts_.inference, parts_.task.fields, parts_.metrics.test, judged_part(parts_.task),
                 judged_part_word(parts_.task), parts_.world),
      end_(last_step(parts_.config.length.stop_at, parts_.plan)),
      layers_(parts_.config, parts_.plan, parts_.training().compiled().space),
      noise_(parts_.config, parts_.batch.per_worker, parts_.plan, parts_.start.norms),
      schedule_hash_(parts_.schedule.scalars()),
      watch_(parts_.task.classes, warmup_steps(parts_.schedule.scalars().rate().spec()), class_counts(parts_.task),
             judged_part_name(parts_.task)),
      sums_(parts_.start.sums),
      epoch_(parts_.start.epoch) {
  result_.steps = reported_ = parts_.start.step;
  result_.part = judged_part_name(parts_.task);
  result_.best = parts_.start.best;
  if (parts_.start.step > 0 && parts_.start.is_saved) checkpoint_at_ = parts_.start.step;
  if (parts_.statistics)
    batch_norm_.emplace(*parts_.statistics, parts_.task.fields, *parts_.task.plain, parts_.config.arithmetic.seed,
                        parts_.config.judging.recompute_bn);
  if (parts_.averaged)
    averaged_.emplace(*parts_.averaged, parts_.task.fields, parts_.metrics.test, judged_part(parts_.task),
                      judged_part_word(parts_.task), parts_.world);
  judge_again(parts_.start.losses);
  open_phase();
}

void TrainingLoop::open_phase() {
  set_constants(parts_.training(), parts_);
  if (parts_.config.judging.check_finite) check_ = parts_.make_check(parts_);
  open_loader();
}

// To the next phase of the plan.
void TrainingLoop::grow() {
  report_until(result_.steps);
  parts_.training().wait();
  loader_.reset();
  set_phase(parts_, parts_.phase + 1);
  slots_ = make_slots(parts_);
  open_phase();
  parts_.observer.note(fmt::format("epoch {:.4g}: the minibatch grows to {}", parts_.plan.epochs(result_.steps),
                                   parts_.batch.derivation()));
}

void TrainingLoop::open_loader() {
  FieldFill fill = training_fill(parts_);
  if (parts_.task.train->is_constant()) {
    slots_.front().fill(fill, 0);
    return slots_.front().feed(parts_.training());
  }
  fill_tables(parts_.training(), parts_.task.fields, *parts_.task.train, kTrainingPart);
  const int64_t workers = parts_.batch.virtual_workers;
  const bool is_last = parts_.phase + 1 == parts_.plan.phase_count();
  const int64_t end = is_last ? parts_.plan.steps : parts_.plan.phase(parts_.phase + 1).begin_step;
  loader_.emplace(
      [this, fill = std::move(fill)](int64_t batch, int slot) {
        slots_[static_cast<size_t>(slot)].fill(fill, batch, {kTrainingPart, parts_.task.train.get()});
      },
      static_cast<int>(slots_.size()),
      LoaderOptions{result_.steps * workers, end * workers, parts_.loader_threads, parts_.training().depth()});
}

// Gives how many milliseconds were spent waiting for the data.
double TrainingLoop::next_batch() {
  if (!loader_) return 0;
  const LoadedBatch batch = loader_->next();
  slots_[static_cast<size_t>(batch.slot)].lend(parts_.training());
  return batch.wait_ms;
}

LoopResult TrainingLoop::run() {
  try {
    loop();
  } catch (const Divergence& divergence) {
    result_.ending = Ending::diverged;
    result_.is_diverged = true;
    result_.reason = divergence.text;
    if (evaluated_at_ != result_.steps) result_.evaluation.reset();
    parts_.observer.finish();
  }
  return result_;
}

void TrainingLoop::loop() {
  begin();
  while (result_.ending == Ending::finished && result_.steps < end_ && !parts_.schedule.is_over(result_.steps)) {
    if (parts_.plan.phase_of(result_.steps) != parts_.phase) grow();
    if (check_) check_before(result_.steps);
    if (step(result_.steps))
      after_step(result_.steps);
    else
      result_.ending = Ending::interrupted;
  }
  if (result_.ending == Ending::interrupted) stop();
  save_checkpoint(result_.steps);
  const bool evaluates = result_.ending == Ending::finished || parts_.config.judging.eval_on_stop;
  if (evaluated_at_ != result_.steps && evaluates) evaluate(result_.steps, false);
  if (evaluated_at_ != result_.steps) result_.evaluation.reset();
  if (result_.ending == Ending::finished) evaluate_test_part();
  result_.is_diverged = watch_.is_diverging();
  result_.is_cut = result_.ending == Ending::finished && !result_.target && !parts_.schedule.is_over(result_.steps);
  result_.schedule_state = parts_.schedule.state();
  if (const std::optional<ScaledStep> next = parts_.schedule.scaled(result_.steps))
    result_.iterations = next->iterations;
  parts_.observer.finish();
}

void TrainingLoop::stop() {
  report_until(result_.steps);
  parts_.observer.note(fmt::format("stopping after {} steps{} (Ctrl-C again: at once)", result_.steps,
                                   parts_.config.judging.eval_on_stop ? "; evaluating" : ""));
}

void TrainingLoop::begin() {
  const int64_t done = parts_.start.step;
  save_model(done);
  if (parts_.start.evaluation) {
    result_.evaluation = *parts_.start.evaluation;
    evaluated_at_ = done;
    judge_goals(*result_.evaluation, done);
  } else if (done > 0 && evaluation_is_due(done)) {
    evaluate(done);
    if (result_.best && result_.best->step == done) checkpoint_at_ = -1;  // that state is kept as the best
  }
  if (done > 0 && result_.ending == Ending::finished) save_checkpoint(done);
}

// False where it was left.
bool TrainingLoop::step(int64_t step) {
  Started& started = started_[static_cast<size_t>(step) % 2];
  started.at = Clock::now();
  started.wait_ms = 0;
  parts_.world.at_step(step);
  set_scalars(parts_.training(), parts_.schedule, step);
  for (int64_t worker = 0; worker < parts_.batch.virtual_workers; ++worker) {
    parts_.world.at_worker(worker);
    // State is written by the last alone, once all processes have come.
    const bool is_last = worker + 1 == parts_.batch.virtual_workers;
    if (is_last ? !parts_.world.begin() : parts_.world.is_over()) return false;
    started.wait_ms += next_batch();
    parts_.training().set_scalar("worker", static_cast<double>(first_worker(parts_) + worker));
    work(step, worker);
  }
  ++result_.steps;
  result_.host_seconds += seconds_between(started.at, Clock::now()) - started.wait_ms / 1e3;
  // The vector of gradients is there until the next step.
  const bool is_looked_at = layers_.is_due(step) && parts_.observer.wants_histograms();
  report_until(step + 1 - (is_looked_at ? 0 : parts_.training().lag()));
  return true;
}

// Runs the virtual worker's part of a step. The last one's may be timed part by part (profile()): it does the same.
void TrainingLoop::work(int64_t step, int64_t worker) {
  const bool is_last = worker + 1 == parts_.batch.virtual_workers;
  if (!is_last || !parts_.observer.wants_profile(step)) return parts_.training().work(worker);
  parts_.observer.profile_begins();
  drawn_ = parts_.training().profile();
}

void TrainingLoop::report_until(int64_t end) {
  while (reported_ < end) report(reported_++);
}

double TrainingLoop::read(const std::string& output, int age) {
  parts_.training().read(output, value_, age);
  return value_.at(0);
}

// Waits for the step. Its time is what it kept the device: from its start, or from the end of the one before.
void TrainingLoop::report(int64_t step) {
  const int age = static_cast<int>(result_.steps - 1 - step);
  const double loss = read("loss", age);
  means_.clear();
  for (const NamedMetric& metric : parts_.metrics.training) means_.push_back(read(metric.name, age));
  const Started& started = started_[static_cast<size_t>(step) % 2];
  const Clock::time_point end = Clock::now();
  const double seconds = seconds_between(std::max(started.at, last_done_), end);
  last_done_ = end;
  result_.train_seconds += seconds;
  const StepMetrics metrics{step,
                            parts_.plan.epochs(step),
                            loss,
                            parts_.schedule.rate(step),
                            static_cast<double>(parts_.batch.global) / seconds,
                            started.wait_ms,
                            noise_.read(parts_.training(), step, age),
                            parts_.schedule.scaled(step),
                            loss_scale(age),
                            parts_.metrics.training,
                            means_};
  parts_.observer.step(metrics);
  if (layers_.is_due(step)) log_layers(step, age);
  if (!std::isfinite(metrics.loss)) stop_at_loss("loss", metrics.loss, step, true);
  if (step == parts_.start.step)
    if (const std::string fault = not_finite_text(parts_.store.views()); !fault.empty()) stop_at_state(fault, step + 1);
  note(watch_.step(step, metrics.loss, metrics.lr));
  sums_.add(metrics.loss, means_);
  epoch_.add(metrics.loss, means_);
  if (parts_.observer.wants_progress()) show_progress(metrics);
  parts_.schedule.take(metrics.norms);
}

void TrainingLoop::log_layers(int64_t step, int age) {
  parts_.observer.layers(layers_.read(parts_.training(), step, age));
  if (age == 0 && parts_.observer.wants_histograms())
    parts_.observer.histograms(layers_.histograms(parts_.training(), parts_.store, step));
}

std::optional<double> TrainingLoop::gain_of(int64_t step) const {
  const std::optional<ScaledStep> scaled = parts_.schedule.scaled(step);
  return scaled ? std::optional(scaled->gain) : std::nullopt;
}

std::optional<double> TrainingLoop::loss_scale(int age) const {
  if (!parts_.training().has_output(kLossScale)) return std::nullopt;
  return parts_.training().read_scalar(kLossScale, age);
}

void TrainingLoop::show_progress(const StepMetrics& m) {
  const int64_t done = m.step + 1, end = std::min(end_, done + parts_.schedule.steps_left(done));
  const double seconds = result_.train_seconds / static_cast<double>(done - parts_.start.step);
  parts_.observer.progress({.step = done,
                            .steps = end,
                            .epoch = parts_.plan.epochs(done),
                            .epochs = parts_.plan.epochs(end),
                            .loss = m.loss,
                            .learning_rate = m.lr,
                            .best = best_figure(),
                            .samples_per_second = static_cast<double>(parts_.batch.global) / seconds,
                            .seconds_left = static_cast<double>(end - done) * seconds,
                            .data_wait_ms = m.data_wait_ms});
}

void TrainingLoop::after_step(int64_t done) {
  if (parts_.observer.wants_to_stop()) parts_.world.stop(kObserverStop);
  if (drawn_) parts_.observer.profiled(parts_.training(), *std::exchange(drawn_, std::nullopt));
  const bool ends_epoch = parts_.plan.ends_epoch(done);
  if (ends_epoch) end_epoch(done);
  if (evaluation_is_due(done)) evaluate(done);
  if (result_.ending == Ending::finished && checkpoint_is_due(done)) save_checkpoint(done);
  if (result_.ending == Ending::finished && ends_epoch) judge_epoch(done);
}

void TrainingLoop::end_epoch(int64_t done) {
  report_until(done);
  ended_epoch_ = std::exchange(epoch_, {});
  parts_.observer.epoch({done, parts_.plan.epochs(done), parts_.schedule.rate(done - 1),
                         result_.train_seconds - std::exchange(epoch_seconds_, result_.train_seconds),
                         ended_epoch_.mean(parts_.metrics.training, parts_.batch.global), noise_.estimate(),
                         gain_of(done - 1)});
}

// With --init the loss of step 0 is that of weights that were trained.
bool TrainingLoop::judges_epochs() const {
  return !parts_.task.is_noise && parts_.task.is_learnable && !parts_.start.has_trained_weights;
}

// Has the watch know what it knew when the run was stopped.
void TrainingLoop::judge_again(std::span<const double> losses) {
  StepSums epoch;
  for (int64_t step = 0; step < std::ssize(losses); ++step) {
    const double loss = losses[static_cast<size_t>(step)];
    if (!std::isnan(loss)) {
      watch_.passed_step(step, loss);
      epoch.add(loss, {});
    }
    if (parts_.plan.ends_epoch(step + 1)) epoch_fault(std::exchange(epoch, {}), step + 1);
  }
}

// Says why the run diverges, by the epoch that ends after `done` steps; empty where it does not, or is not judged.
std::string TrainingLoop::epoch_fault(const StepSums& epoch, int64_t done) {
  const int64_t whole = parts_.plan.phase(parts_.plan.phase_of(done - 1)).steps_per_epoch;
  if (epoch.steps < whole || !judges_epochs()) return "";
  const int64_t number = std::llround(parts_.plan.epochs(done));
  return watch_.epoch(number, done, epoch.steps, epoch.loss / static_cast<double>(epoch.steps));
}

void TrainingLoop::judge_epoch(int64_t done) {
  const std::string fault = epoch_fault(ended_epoch_, done);
  if (fault.empty()) return;
  if (!parts_.config.judging.keep_going) stop_at_epoch(fault, done);
  if (!std::exchange(told_keep_going_, true))
    note("NOTE: " + fault + "\n  it goes on all the same: judging.keep_going");
}

bool TrainingLoop::evaluation_is_due(int64_t done) const {
  return kb::evaluation_is_due(parts_.config.judging.eval_every, parts_.plan, parts_.schedule, done);
}

bool TrainingLoop::checkpoint_is_due(int64_t done) const {
  return evaluation_is_due(done) || is_due(parts_.config.judging.save_every, parts_.plan, done);
}

void TrainingLoop::note(const std::string& text) {
  if (!text.empty() && !parts_.task.is_noise) parts_.observer.note(text);
}

void TrainingLoop::save_model(int64_t done) {
  if (const std::string fault = not_finite_text(parts_.store.views(false)); !fault.empty()) stop_at_state(fault, done);
  parts_.observer.save_model(done);
  saved_at_ = done;
}

void TrainingLoop::save_checkpoint(int64_t done) {
  report_until(done);
  if (checkpoint_at_ == done) return;
  parts_.world.at("checkpoint");
  const bool is_best = result_.best && result_.best->step == done;
  parts_.observer.save_checkpoint({done, parts_.plan.samples_in(done),
                                   schedule_hash_.up_to(parts_.schedule.position(done)), is_best,
                                   parts_.schedule.state()});
  checkpoint_at_ = done;
}

}  // namespace kb
