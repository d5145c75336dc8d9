#include "recipes/report/curves.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "runtime/flat_json.h"

namespace kb {
namespace {

// The numbers of one line of metrics.jsonl; a number that the line lacks is NaN.
struct CurveRow {
  double order = 0;  // the step, or the epochs of an evaluation: it must grow from line to line
  double epoch = 0, steps_done = 0, loss = 0;
  double rate = 0, samples_per_s = 0, data_wait_ms = 0;                      // lines of steps only
  double goal = 0, averaged_loss = 0, averaged_goal = 0, training_goal = 0;  // lines of evaluations only
};

constexpr size_t kLongestPart = 20;  // most letters of a part's name; a line with a longer one is damaged

// Drops every row that a later one contradicts: going from the last row to the first, a row is kept if its order is
// below that of all rows kept so far and its epoch is not above theirs.
void drop_contradicted(std::vector<CurveRow>& rows) {
  double next = std::numeric_limits<double>::infinity(), next_epoch = kMostDrawn;
  std::vector<CurveRow> kept;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (!(row->order < next) || !(row->epoch >= 0 && row->epoch <= next_epoch)) continue;
    next = row->order;
    next_epoch = row->epoch;
    kept.push_back(*row);
  }
  rows.assign(kept.rbegin(), kept.rend());
}

Curve curve_of(const std::vector<CurveRow>& rows, double CurveRow::*value) {
  Curve curve;
  for (const CurveRow& row : rows)
    if (std::abs(row.*value) <= kMostDrawn) curve.push_back({row.epoch, row.*value, row.steps_done});
  return curve;
}

// Collects the evaluations of the test part at the end of a run; the last one of each state counts.
class TestRows {
 public:
  void take(std::string_view state, const CurveRow& row) { (state == "best" ? best_ : final_) = row; }

  // Returns the rows in the order of their epochs, only one if the best state is the final one.
  std::vector<CurveRow> rows() const {
    std::vector<CurveRow> rows;
    for (const std::optional<CurveRow>& row : {best_, final_})
      if (row && row->epoch >= 0) rows.push_back(*row);
    if (rows.size() == 2 && !(rows[0].epoch < rows[1].epoch)) rows.erase(rows.begin());
    return rows;
  }

 private:
  std::optional<CurveRow> best_, final_;
};

}  // namespace

std::string goal_label(const GoalCurve& goal) { return goal_label(goal, goal.part); }

std::string goal_label(const GoalCurve& goal, const std::string& part) {
  return fmt::format("{} {}{}", part, goal.name, goal.is_share ? ", %" : "");
}

namespace {

CurveRow row_of_step(const FlatJson& line) {
  return {.order = line.number("step"),
          .epoch = line.number("epoch"),
          .steps_done = line.number("step") + 1,
          .loss = line.number("loss"),
          .rate = line.number("lr"),
          .samples_per_s = line.number("samples_per_s"),
          .data_wait_ms = line.number("data_wait_ms")};
}

CurveRow row_of_test(const FlatJson& line, const std::string& goal) {
  return {.epoch = line.number("epoch"),
          .steps_done = line.number("step"),
          .loss = line.number("loss"),
          .goal = line.number(goal)};
}

}  // namespace

RunCurves read_curves(std::string_view metrics, const GoalCurve& judged) {
  std::vector<CurveRow> steps, evaluations;
  TestRows tests;
  GoalCurve goal = judged;
  const std::string averaged = "ema_" + goal.name, training = "train_" + goal.name;
  for_each_flat_json(metrics, [&](const FlatJson& line) {
    const std::string_view kind = line.text("kind");
    const auto number = [&](std::string_view key) { return line.number(key); };
    if (kind == "step") steps.push_back(row_of_step(line));
    if (kind == "test") tests.take(line.text("state"), row_of_test(line, goal.name));
    if (kind != "eval") return;
    const std::string_view part = line.text("part");
    if (!part.empty() && part.size() <= kLongestPart) goal.part = part;
    evaluations.push_back({.order = number("epoch"),
                           .epoch = number("epoch"),
                           .steps_done = number("step"),
                           .loss = number("loss"),
                           .goal = number(goal.name),
                           .averaged_loss = number("ema_loss"),
                           .averaged_goal = number(averaged),
                           .training_goal = number(training)});
  });
  drop_contradicted(steps);
  drop_contradicted(evaluations);
  const std::vector<CurveRow> tested = tests.rows();
  return {goal,
          curve_of(steps, &CurveRow::loss),
          curve_of(steps, &CurveRow::rate),
          curve_of(steps, &CurveRow::samples_per_s),
          curve_of(steps, &CurveRow::data_wait_ms),
          curve_of(evaluations, &CurveRow::loss),
          curve_of(evaluations, &CurveRow::goal),
          curve_of(evaluations, &CurveRow::averaged_loss),
          curve_of(evaluations, &CurveRow::averaged_goal),
          curve_of(tested, &CurveRow::loss),
          curve_of(tested, &CurveRow::goal),
          curve_of(evaluations, &CurveRow::training_goal)};
}

}  // namespace kb
