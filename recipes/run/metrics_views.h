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
  // Calls `say` if a file cannot be written, once: no run ends because of that. `folder` must outlive the object.
  MetricsViews(const RunFolder& folder, std::string title, std::function<void(const std::string&)> say);

  // Sets the figures that evaluations have, which are the error alone at first.
  void set_figures(const std::vector<Figure>& figures);
  // Writes both files anew, each whole or not at all, if that is due: at most every five seconds, and so seldom that it
  // takes at most a fiftieth of the time.
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
