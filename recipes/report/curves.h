// Curves of a run, read from its metrics.jsonl and drawn as one picture: losses, goal and learning rate over epochs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

constexpr double kMostDrawn = 1e40;  // values beyond it are not drawn; no f32 is greater

struct CurvePoint {
  double epoch = 0;  // epochs since the start of the run
  double value = 0;  // at most kMostDrawn, positive or negative
  double step = 0;   // steps since the start of the run
};
using Curve = std::vector<CurvePoint>;  // in the order of growing epochs and steps

// The metric of the second chart. If it is a share, its values are fractions, which are drawn in per cent.
struct GoalCurve {
  std::string name = "error";
  bool is_share = true, higher_is_better = false;
  std::string part = "test";  // part of the data that evaluations during the run use
};

// Returns the label of the goal on its own part, for instance "valid error, %".
std::string goal_label(const GoalCurve& goal);
// Returns the label of the goal on the part `part`.
std::string goal_label(const GoalCurve& goal, const std::string& part);

struct RunCurves {
  GoalCurve goal = {};
  Curve training_loss, learning_rate;  // a point per step
  Curve samples_per_s, data_wait_ms;   // a point per step
  Curve judged_loss, judged_goal;      // on goal.part, a point per evaluation
  Curve averaged_loss, averaged_goal;  // with averaged parameters (--ema), a point per evaluation
  Curve test_loss, test_goal;          // on the test part at the end, of the best and of the final state; empty unless
                                       // the run held out samples
  Curve training_goal;                 // mean since the last evaluation (--train-metrics), a point per evaluation
};

// Reads the lines of metrics.jsonl. It skips damaged lines, and those that a later line contradicts because its step is
// not after theirs. A value that is not finite or is beyond kMostDrawn has no point. The part that the run was judged
// on is the one that its evaluations name, or that of `goal` if they name none.
RunCurves read_curves(std::string_view metrics, const GoalCurve& goal = {});

// Returns a self-contained SVG: three charts over one axis of epochs. The training loss is drawn as it is (from least
// to greatest in each of some hundred columns) and as its mean over a window of a hundredth of the steps. The axis of
// the losses is logarithmic if they span more than two decades. Evaluations of the test part at the end are drawn as
// dots if those during the run used another part. The size, at most about 100 kB, does not grow with the number of
// steps.
std::string curves_picture(const std::string& title, const RunCurves& curves);

}  // namespace kb
