#include "recipes/inspect/scaling.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

// Returns the time of `count` epochs of `epoch` samples each, "-" if a minibatch is larger than an epoch.
std::string epochs_text(const ScaleRow& row, double count, double epoch) {
  return row.minibatch > epoch ? "-" : duration_text(row.seconds_of(count * epoch));
}

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

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 3600) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 48 * 3600 ? fmt::format("{:.1f} h", seconds / 3600) : fmt::format("{:.1f} days", seconds / 86400);
}

int ScaleWorker::at_a_time(int workers) const { return cores == 0 ? 1 : std::clamp(cores / threads, 1, workers); }

double ScaleWorker::stretch(int workers) const {
  return cores == 0 ? 1 : std::max(1.0, static_cast<double>(workers) * threads / cores);
}

Overlap forecast(const ScaleWorker& worker, int workers, Algorithm algorithm, const Cluster& cluster) {
  const int on_node = std::min(workers, cluster.per_node);
  auto timed = worker.steps.lower_bound(worker.at_a_time(on_node));
  ensure(!worker.steps.empty(), "forecast: no step was timed");
  if (timed == worker.steps.end()) --timed;  // the most that were timed at once: there were no cores for more
  TimedStep step = timed->second;
  step.scale(worker.stretch(on_node));
  Overlap overlap = predict_overlap(*worker.schedule, step.final, [&](int64_t bytes) {
    return all_reduce_seconds(algorithm, bytes, workers, cluster);
  });
  overlap.compute += step.prepare;
  overlap.step += step.prepare;
  return overlap;
}

void add_sent(ScaleRow& row, const Overlap& step, Algorithm algorithm, int workers, const Cluster& cluster,
              double share) {
  for (const ReductionTimes& sum : step.reductions) {
    const SentBytes sent = all_reduce_bytes(algorithm, sum.bytes, workers, cluster);
    row.sent += share * (sent.inside + sent.between);
    row.sent_between += share * sent.between;
  }
}

ScaleLine scale_line(const ScaleWorker& worker, Algorithm algorithm, const Cluster& cluster, int most_workers) {
  ScaleLine line{algorithm, {}};
  const double alone = forecast(worker, 1, algorithm, cluster).step;
  const double node = forecast(worker, cluster.per_node, algorithm, cluster).step;
  for (int workers = 1; workers <= most_workers; workers *= 2) {
    const Overlap one = forecast(worker, workers, algorithm, cluster);
    const double minibatch = workers * worker.samples;
    ScaleRow row{workers,          minibatch,       one.step,   one.communication, one.exposed, minibatch / one.step,
                 alone / one.step, node / one.step, one.compute};
    add_sent(row, one, algorithm, workers, cluster);
    line.rows.push_back(row);
  }
  return line;
}

std::string scale_table(const ScaleLine& line, double epoch, int64_t epochs) {
  const bool both = epochs != kPaperEpochs;
  const std::string other = both ? fmt::format(" {:>10}", fmt::format("{} epochs", epochs)) : "";
  std::string text = fmt::format("{}\n{:>7} {:>9} {:>9} {:>10} {:>10} {:>9} {:>9} {:>10} {:>10}{}\n",
                                 name(line.algorithm), "workers", "kn", "step ms", "images/s", "efficiency",
                                 "of a node", "comm ms", "exposed ms", fmt::format("{} epochs", kPaperEpochs), other);
  for (const ScaleRow& row : line.rows) {
    text += fmt::format("{:>7} {:>9.0f} {:>9.2f} {:>10.0f} {:>9.1f}% {:>8.1f}% {:>9.2f} {:>10.2f} {:>10}", row.workers,
                        row.minibatch, 1e3 * row.step, row.rate, 100 * row.efficiency, 100 * row.of_node,
                        1e3 * row.communication, 1e3 * row.exposed, epochs_text(row, kPaperEpochs, epoch));
    if (both) text += fmt::format(" {:>10}", epochs_text(row, static_cast<double>(epochs), epoch));
    text += "\n";
  }
  const auto first =
      std::find_if(line.rows.begin(), line.rows.end(), [&](const ScaleRow& r) { return r.minibatch > epoch; });
  if (first != line.rows.end())
    text += fmt::format(
        "from {} workers on the minibatch kn is larger than the set's {:.0f} samples: it has no epoch "
        "(-); --samples N forecasts a larger set\n",
        first->workers, epoch);
  return text;
}

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
