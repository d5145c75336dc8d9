#include "recipes/train/metrics_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/text_buffer.h"
#include "runtime/flat_json.h"

namespace kb {
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
