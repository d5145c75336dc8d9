#include "recipes/run/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "recipes/config/buckets.h"
#include "recipes/config/flag_names.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/report/curve_chart.h"
#include "recipes/task/validation.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

constexpr int64_t kMostEpochs = 40;

struct Column {
  std::string title;
  size_t scalar;  // index in StepScalars::at()
};

int64_t first_step_at(const RunPlan& plan, double epoch) {
  if (!plan.grown.empty()) return plan.steps_in(epoch);
  return static_cast<int64_t>(std::ceil(epoch * static_cast<double>(plan.steps_per_epoch) - 1e-9));
}

// Returns the steps that have a row in the table.
std::set<int64_t> rows_of(const ScheduleSpec& spec, const RunPlan& plan) {
  std::set<int64_t> steps = {0, std::max<int64_t>(plan.steps - 1, 0)};
  const int64_t epochs = static_cast<int64_t>(plan.epochs(plan.steps)),
                every = std::max<int64_t>(1, epochs / kMostEpochs);
  const auto add = [&](int64_t step) {
    if (step >= 0 && step < plan.steps) steps.insert(step);
  };
  if (epochs < 2)
    for (int64_t i = 0; i < kMostEpochs; ++i) add(i * plan.steps / kMostEpochs);
  for (int64_t epoch = 0; epoch < epochs; epoch += every) add(plan.steps_in(static_cast<double>(epoch)));
  if (spec.warmup != "none" && spec.warmup_epochs > 0) add(first_step_at(plan, spec.warmup_epochs));
  if (spec.shape == "step")
    for (const double epoch : spec.milestones) add(first_step_at(plan, epoch));
  for (const MinibatchPhase& now : plan.grown) add(now.begin_step);
  return steps;
}

// Returns columns for the learning rate and for the other scalars that differ from row to row, but not for those that
// follow plainly from the step: the previous learning rate and the number of updates.
std::vector<Column> columns_of(StepScalars& scalars, const std::set<int64_t>& steps) {
  const auto first = scalars.at(*steps.begin());
  const std::vector<NamedScalar> before(first.begin(), first.end());
  std::vector<bool> varies(before.size());
  for (const int64_t step : steps) {
    const std::span<const NamedScalar> now = scalars.at(step);
    for (size_t i = 0; i < now.size(); ++i) varies[i] = varies[i] || now[i].value != before[i].value;
  }
  std::vector<Column> columns;
  for (size_t i = 0; i < before.size(); ++i) {
    std::string title = before[i].name;
    std::replace(title.begin(), title.end(), '_', ' ');
    const bool is_rate = title == "learning rate";
    if (is_rate || (varies[i] && title != "previous learning rate" && title != "updates"))
      columns.push_back({std::move(title), i});
  }
  return columns;
}

// Returns enough steps for a smooth line, and both sides of every drop.
std::set<int64_t> points_of(const ScheduleSpec& spec, const RunPlan& plan) {
  constexpr int64_t kPoints = 1000;
  std::set<int64_t> steps;
  for (const int64_t step : rows_of(spec, plan)) steps.insert({std::max<int64_t>(step - 1, 0), step});
  for (int64_t i = 0; i < kPoints; ++i) steps.insert(i * plan.steps / kPoints);
  return steps;
}

}  // namespace

std::string schedule_text(const Recipe& recipe, const RunConfig& config, const RunPlan& plan) {
  StepScalars scalars = make_scalars(rules_of(recipe), config.learning, plan);
  const std::set<int64_t> steps = rows_of(scalars.rate().spec(), plan);
  const std::vector<Column> columns = columns_of(scalars, steps);
  const double skipped =
      find_hyper(config.learning, "skip_lr").value_or(0) / std::max(scalars.rate().spec().learning_rate, 1e-300);
  std::string text = fmt::format("{:>10} {:>9} {:>13}", "step", "epoch", "samples");
  for (const Column& column : columns) text += fmt::format(" {:>14}", column.title);
  if (skipped > 0) text += fmt::format(" {:>14}", "not adapted");
  text += '\n';
  for (const int64_t step : steps) {
    const std::span<const NamedScalar> now = scalars.at(step);
    text += fmt::format("{:>10} {:>9.3f} {:>13}", step, plan.epochs(step), plan.samples_in(step));
    for (const Column& column : columns) text += fmt::format(" {:>14.6g}", now[column.scalar].value);
    if (skipped > 0) text += fmt::format(" {:>14.6g}", skipped * now[0].value);
    text += '\n';
  }
  return text;
}

std::string schedule_picture(const Recipe& recipe, const RunConfig& config, const RunPlan& plan) {
  const LearningRate rate = make_rate(rules_of(recipe), config.learning, plan);
  Curve curve;
  for (const int64_t step : points_of(rate.spec(), plan)) curve.push_back({plan.epochs(step), rate.at(step)});
  CurveRange rates, epochs;
  rates.take(curve);
  epochs.take(plan.epochs(plan.steps));
  const CourseAxis course(epochs);
  Svg svg(760, 380);
  svg.text(24, 30, fmt::format("{}: learning rate over epochs", recipe.name), {.size = 17, .bold = true});
  svg.text(24, 52, rate_derivation(rules_of(recipe), config.learning, plan), {.size = 11, .color = kQuietColor});
  CurveChart chart(svg, {80, 80, 640, 240}, linear_values(rates), course);
  chart.draw_axes("");
  chart.line(curve, {.color = "#0072b2", .width = 2});
  svg.text(400, 358, "epochs", {.anchor = "middle", .color = kQuietColor});
  return svg.str();
}

namespace {

// Returns the plan that a run would have. Ragged samples are read, because their lengths decide the steps of an epoch.
RunPlan plan_of_run(const Recipe& recipe, const RunConfig& config) {
  Task task = with_validation(declared_task(recipe, config), config.judging.validation);
  if (task.is_ragged() && !task.train) task = load_task(recipe, config).task;
  const BatchPlan batch = batch_plan(config);
  return make_plan(config, batch, bucket_sizes(task, choose_buckets(task, config.batch, batch), batch.workers()));
}

}  // namespace

void print_schedule(const Recipe& recipe, const RunConfig& config) {
  const RunPlan run = plan_of_run(recipe, config);
  fmt::print("plan {}\n{}\n{}\n", with_flags(run.derivation(config)),
             rate_derivation(rules_of(recipe), config.learning, run),
             optimizer_text(config.learning, config.batch.minibatch));
  for (const GroupLearning& row : config.group_learning) fmt::print("{}\n", group_text(rules_of(recipe), row, run));
  const RunPlan plan = schedule_plan(config.learning, run);
  if (plan.minibatch != run.minibatch)
    fmt::print("steps, epochs, samples and rates of the base minibatch {}: AdaScale's gains are known as it trains\n",
               plan.minibatch);
  fmt::print("{}", schedule_text(recipe, config, plan));
  if (config.looking.print_schedule == kTableAlone) return;
  write_file_atomically(config.looking.print_schedule, schedule_picture(recipe, config, plan));
  fmt::print("drawn into {}\n", config.looking.print_schedule);
}

}  // namespace kb
