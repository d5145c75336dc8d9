// curves.svg and metrics.csv in a run folder: metrics.jsonl drawn and as a table, made anew as it grows.
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
  // `say` is told of a file that cannot be written: no run ends for that. The folder must outlive it.
  MetricsViews(const RunFolder& folder, std::string title, std::function<void(const std::string&)> say);

  // Figures that evaluations have; at first the error alone.
  void set_figures(const std::vector<Figure>& figures);
  // Makes both anew, each whole or not at all, unless they were made lately: at most every five seconds, and in at most
  // a fiftieth of the time.
  void refresh();
  // Makes both anew.
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
