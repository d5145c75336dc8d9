// Draws metrics.jsonl of a run folder into curves.svg and writes it as a table, metrics.csv, again and again as it
// grows.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/report/curves.h"
#include "recipes/run/run_folder.h"
#include "recipes/train/evaluation.h"

namespace kb {

class MetricsViews {
 public:
  // Calls `say` the first time that a file cannot be read or written; the run goes on. `folder` must outlive the
  // object.
  MetricsViews(const RunFolder& folder, std::string title, std::function<void(const std::string&)> say);

  // Sets the figures that evaluations have. Before the first call the only figure is the error.
  void set_figures(const std::vector<Figure>& figures);
  // Writes both files anew, each whole or not at all, if at least 5 s and 50 times the duration of the last write have
  // passed since then.
  void refresh();
  // Writes both files anew.
  void make();

 private:
  using Clock = std::chrono::steady_clock;

  const RunFolder& folder_;
  const std::string title_;
  const std::function<void(const std::string&)> say_;
  Clock::time_point made_ = Clock::now();
  Clock::duration took_{};
  bool is_told_ = false;
  std::vector<std::string> figures_ = {"error"};
  GoalCurve goal_;
};

// Returns metrics.jsonl as a table for spreadsheets and data frames: a row for each step and each evaluation, in their
// order. Its first line names the columns:
//   kind           "step" or "eval"
//   step           step: its number, from 0; evaluation: number of steps done
//   epoch          epochs done before the step or the evaluation
//   wall_s         seconds since the start of the program that wrote the line
//   loss           step: mean over its minibatch; evaluation: mean over the part of the data that is evaluated
//   lr             learning rate of the step or, in a row of an evaluation, of the step before
//   FIGURE         one column for each of `figures`, such as "error", the fraction of samples classified wrongly;
//                  rows of steps have it with --train-metrics alone
//   count          number of samples that were evaluated; evaluations only
//   samples_per_s  samples per second of the step
//   data_wait_ms   milliseconds that the step waited for its minibatch
//   loss_scale     loss scale of the next step (--precision f16)
//   ema_loss, ema_FIGURE      evaluation of the averaged parameters (--eval-ema)
//   train_loss, train_FIGURE  means over the training steps since the evaluation before; evaluations only
// A cell is empty if the line has no such value or one that is not finite. Damaged lines and lines of other kinds give
// no row.
std::string metrics_csv(std::string_view metrics, const std::vector<std::string>& figures = {"error"});

}  // namespace kb
