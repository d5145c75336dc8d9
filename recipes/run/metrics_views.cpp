#include "recipes/run/metrics_views.h"

#include <algorithm>

#include "recipes/train/metrics_csv.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

constexpr std::chrono::seconds kLeastInterval{5};
constexpr int kCostShare = 50;  // least time between two writes, in durations of a write

}  // namespace

MetricsViews::MetricsViews(const RunFolder& folder, std::string title, std::function<void(const std::string&)> say)
    : folder_(folder), title_(std::move(title)), say_(std::move(say)) {}

void MetricsViews::set_figures(const std::vector<Figure>& figures) {
  figures_.clear();
  for (const Figure& figure : figures) figures_.push_back(figure.name);
  if (!figures.empty())
    goal_ = {figures.front().name, figures.front().kind.is_share, figures.front().kind.higher_is_better};
}

void MetricsViews::refresh() {
  if (Clock::now() - made_ >= std::max<Clock::duration>(kLeastInterval, kCostShare * took_)) make();
}

void MetricsViews::make() {
  const Clock::time_point start = Clock::now();
  try {
    const std::string metrics = read_file(folder_.file(kMetrics));
    write_file_atomically(folder_.file(kCurves), curves_picture(title_, read_curves(metrics, goal_)));
    write_file_atomically(folder_.file(kMetricsTable), metrics_csv(metrics, figures_));
  } catch (const Error& error) {
    if (!is_told_) say_(std::string("NOTE: ") + error.what());
    is_told_ = true;
  }
  made_ = Clock::now();
  took_ = made_ - start;
}

}  // namespace kb
