#include "recipes/inspect/scale_json.h"

#include <fmt/format.h>

#include <map>

#include "graph/error.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

Json row_json(const ScaleRow& row) {
  return {{"workers", row.workers},
          {"minibatch", row.minibatch},
          {"step_s", row.step},
          {"compute_s", row.compute},
          {"communication_s", row.communication},
          {"exposed_s", row.exposed},
          {"waiting", row.waiting()},
          {"samples_per_s", row.rate},
          {"efficiency", row.efficiency},
          {"sent_bytes", row.sent},
          {"sent_between_bytes", row.sent_between}};
}

double positive(const JsonValue& row, const char* key) {
  const double value = row.get<double>(key);
  if (!(value > 0)) row.at(key).refuse("a number > 0");
  return value;
}

ScaleRow row_of(const JsonValue& json) {
  constexpr int64_t kMost = int64_t{1} << 30;
  ScaleRow row;
  const auto workers = json.get<int64_t>("workers");
  if (workers < 1 || workers > kMost) json.at("workers").refuse(fmt::format("a whole number in [1, {}]", kMost));
  row.workers = static_cast<int>(workers);
  row.minibatch = positive(json, "minibatch");
  row.step = positive(json, "step_s");
  row.communication = json.get<double>("communication_s");
  row.exposed = json.get<double>("exposed_s");
  row.rate = positive(json, "samples_per_s");
  row.efficiency = json.get<double>("efficiency");
  row.compute = json.has("compute_s") ? positive(json, "compute_s") : row.step - row.exposed;
  return row;
}

}  // namespace

std::string scale_json(const std::vector<ScaleLine>& lines, int64_t epoch, const ScaleWords& words) {
  Json forecasts = Json::array();
  for (const ScaleLine& line : lines) {
    Json rows = Json::array();
    for (const ScaleRow& row : line.rows) rows.push_back(row_json(row));
    forecasts.push_back({{"algorithm", line.label()}, {"rows", std::move(rows)}});
  }
  return Json({{"title", words.title},
               {"worker", words.worker},
               {"nodes", words.nodes},
               {"policy", words.policy},
               {"epoch", epoch},
               {"forecasts", std::move(forecasts)}})
             .dump(2) +
         "\n";
}

ScaleForecast parse_scale_json(const std::string& text, const std::string& file) {
  const JsonValue json = parse_json(text, file);
  ScaleForecast forecast{json.get<std::string>("title"),
                         json.get<std::string>("nodes"),
                         json.get<std::string>("policy", kSynchronous),
                         {}};
  std::map<int, ScaleRow> fastest;  // row with the shortest step, by number of workers
  for (const JsonValue& line : json.at("forecasts").items())
    for (const JsonValue& entry : line.at("rows").items()) {
      const ScaleRow row = row_of(entry);
      const auto [at, is_first] = fastest.emplace(row.workers, row);
      if (!is_first && row.step < at->second.step) at->second = row;
    }
  if (fastest.empty()) json.at("forecasts").refuse("a forecast with a row at least");
  if (fastest.begin()->first != 1) json.at("forecasts").refuse("a row with 1 worker");
  for (const auto& [workers, row] : fastest) forecast.rows.push_back(row);
  return forecast;
}

}  // namespace kb
