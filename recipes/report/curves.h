// Curves of a run, from its metrics.jsonl: losses, goal and learning rate over epochs, as one picture.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

constexpr double kMostDrawn = 1e40;  // no f32 is greater

struct CurvePoint {
  double epoch = 0;  // epochs done
  double value = 0;  // at most kMostDrawn, positive or negative
  double step = 0;   // steps done
};
using Curve = std::vector<CurvePoint>;  // epochs and steps grow

// The metric of the second chart. A share is a fraction, drawn in per cent.
struct GoalCurve {
  std::string name = "error";
  bool is_share = true, higher_is_better = false;
  std::string part = "test";  // of the data, that the evaluations in a run's course are of
};

// "valid error, %", the goal's part being "valid".
std::string goal_label(const GoalCurve& goal);
// Likewise of another part.
std::string goal_label(const GoalCurve& goal, const std::string& part);

struct RunCurves {
  GoalCurve goal = {};
  Curve training_loss, learning_rate;  // a point a step
  Curve samples_per_s, data_wait_ms;   // likewise
  Curve judged_loss, judged_goal;      // of goal.part, a point an evaluation
  Curve averaged_loss, averaged_goal;  // of averaged parameters (--ema), likewise
  Curve test_loss, test_goal;          // of the test part at the end: the best state and the final one; of a run that
                                       // held out samples alone
  Curve training_goal;                 // mean since the evaluation before (--train-metrics), likewise
};

// Reads the lines of metrics.jsonl. Passes over damaged ones, and over those that a later line contradicts: a step that
// is not before the next one. A value has no point where it is not finite or beyond kMostDrawn. The part that a run was
// judged on is that of its evaluations, `goal`'s where they do not say.
RunCurves read_curves(std::string_view metrics, const GoalCurve& goal = {});

// An SVG that needs nothing else: three charts over one axis of epochs. The training loss is drawn as it is (in each of
// some hundred columns from its least to its greatest) and as its mean over a window of a hundredth of the steps. An
// axis of losses is logarithmic where they span more than two decades. What the test part said at the end stands apart
// from the evaluations of another part, as dots. Its size does not grow with the number of steps: at most about 100 kB.
std::string curves_picture(const std::string& title, const RunCurves& curves);

}  // namespace kb
