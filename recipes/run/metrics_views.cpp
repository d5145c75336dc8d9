#include "recipes/run/metrics_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/text_buffer.h"
#include "runtime/atomic_file.h"
#include "runtime/flat_json.h"
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

namespace {

std::vector<std::string> number_columns(const std::vector<std::string>& figures) {
  std::vector<std::string> columns = {"step", "epoch", "wall_s", "loss", "lr"};
  columns.insert(columns.end(), figures.begin(), figures.end());
  columns.insert(columns.end(), {"count", "samples_per_s", "data_wait_ms", "loss_scale", "ema_loss"});
  for (const std::string& figure : figures) columns.push_back("ema_" + figure);
  columns.push_back("train_loss");
  for (const std::string& figure : figures) columns.push_back("train_" + figure);
  return columns;
}

}  // namespace

std::string metrics_csv(std::string_view metrics, const std::vector<std::string>& figures) {
  const std::vector<std::string> columns = number_columns(figures);
  TextBuffer table;
  put(table, "kind,{}\n", fmt::join(columns, ","));
  TextBuffer row;
  for_each_flat_json(metrics, [&](const FlatJson& line) {
    const std::string_view kind = line.text("kind");
    if (kind != "step" && kind != "eval") return;
    row.clear();
    for (const std::string& column : columns) {
      const FlatJson::Field* field = line.find(column);
      if (field && (field->kind == FlatJson::Kind::text || field->kind == FlatJson::Kind::boolean)) return;  // damaged
      row.push_back(',');
      if (field && field->kind == FlatJson::Kind::number) row.append(field->source);
    }
    row.push_back('\n');
    table.append(kind);
    table.append(row);
  });
  return fmt::to_string(table);
}

}  // namespace kb
