// Draws metrics.jsonl of a run folder into curves.svg and writes it as a table, metrics.csv, again and again as it
// grows.
#pragma once
#include <chrono>
#include <functional>
#include <string>

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

}  // namespace kb
