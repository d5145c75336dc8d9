#include "recipes/train/metrics_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "recipes/train/metrics.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

std::string text_of(const std::filesystem::path& path) { return is_there(path) ? read_file(path) : ""; }

// final: an end, a stop, or a test of the state at an end.
enum class Kind : uint8_t { step, evaluation, end, final, other, damaged, torn };

struct MetricsLine {
  std::string_view text;  // with its end
  Kind kind = Kind::damaged;
  int64_t step = 0, steps = 0;     // of a step or an evaluation, of an end
  Evaluation evaluation = {};      // of a step the loss alone
  std::vector<double> means = {};  // of a step's training metrics
  std::optional<GradientNorms> norms = {};
  bool is_kept = true;
};

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// A number that was not finite is written as null, and is NaN here: it makes a mean NaN, and is never the best figure,
// as in the run that wrote it.
double number(const JsonValue& json, const std::string& key, double absent = 0) {
  if (!json.has(key)) return absent;
  return json.at(key).kind() == JsonValue::Kind::null ? kNoNumber : json.get<double>(key);
}

Kind kind_named(const std::string& kind) {
  if (kind == "step") return Kind::step;
  if (kind == "eval") return Kind::evaluation;
  if (kind == "end") return Kind::end;
  return kind == "stop" || kind == "test" ? Kind::final : Kind::other;
}

// Throws Error where the line is damaged.
void parse(MetricsLine& line, const ComputedMetrics& metrics) {
  const JsonValue json = parse_json(std::string(line.text), "metrics.jsonl");
  const std::string kind = json.get<std::string>("kind");
  line.evaluation.loss = number(json, "loss");
  if (kind == "step") {
    line.step = json.get<int64_t>("step");
    for (const auto& [name, how] : metrics.training)
      line.means.push_back(number(json, how.finish ? name + kMeanSuffix : name));
    if (json.has(kGradient2))
      line.norms = {number(json, kWorkerGradient2, kNoNumber), number(json, kGradient2, kNoNumber)};
  }
  if (kind == "eval") {
    if (json.has("step")) line.step = json.get<int64_t>("step");
    line.evaluation.count = json.get<int64_t>("count");
    for (const auto& [name, how] : metrics.test)
      line.evaluation.figures.push_back({name, number(json, name, kNoNumber), how});
  }
  if (kind == "end") line.steps = json.get<int64_t>("steps");
  line.kind = kind_named(kind);
}

MetricsLine metrics_line_at(std::string_view text, size_t at, const ComputedMetrics& metrics) {
  const size_t end = std::min(text.find('\n', at), text.size() - 1);
  MetricsLine line{text.substr(at, end + 1 - at)};
  if (!line.text.ends_with('\n')) {
    line.kind = Kind::torn;
    return line;
  }
  try {
    parse(line, metrics);
  } catch (const Error&) {
    line.kind = Kind::damaged;
  }
  return line;
}

std::vector<MetricsLine> metrics_lines(std::string_view text, const ComputedMetrics& metrics) {
  std::vector<MetricsLine> lines;
  for (size_t at = 0; at < text.size(); at += lines.back().text.size())
    lines.push_back(metrics_line_at(text, at, metrics));
  return lines;
}

// Steps that do not grow are damaged. Gives where what lies past `step` begins: at the first later step behind the last
// earlier one, so that a number that was damaged into a large one cuts nothing off.
size_t check_order(std::vector<MetricsLine>& lines, int64_t step) {
  int64_t last = -1;
  size_t end = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    MetricsLine& line = lines[i];
    if (line.kind != Kind::step || line.step >= step) continue;
    if (line.step <= last) {
      line.kind = Kind::damaged;
    } else {
      last = line.step;
      end = i + 1;
    }
  }
  for (size_t i = 0; i < end; ++i)
    if (lines[i].kind == Kind::step && lines[i].step >= step) lines[i].kind = Kind::damaged;
  while (end < lines.size() && lines[end].kind != Kind::step) ++end;
  return end;
}

// Sums over the lines as a run makes them.
class LossTotals {
 public:
  explicit LossTotals(int64_t epoch_begin) : epoch_begin_(epoch_begin) {}

  void take(MetricsLine& line) {
    if (line.kind == Kind::step) take_step(line);
    if (line.kind == Kind::evaluation) take_evaluation(line);
    line.is_kept = line.kind != Kind::end && line.kind != Kind::final && line.kind != Kind::torn;
  }

  void drop_evaluation() {
    if (!cut_.evaluation) return;
    evaluation_->is_kept = false;
    cut_ = earlier_;
  }

  MetricsCut cut() && {
    cut_.losses = std::move(losses_);
    cut_.norms = std::move(norms_);
    return std::move(cut_);
  }

 private:
  void take_step(const MetricsLine& line) {
    const double loss = line.evaluation.loss;
    losses_.resize(static_cast<size_t>(line.step), kNoNumber);
    losses_.push_back(loss);
    if (line.norms) {
      norms_.resize(static_cast<size_t>(line.step), {kNoNumber, kNoNumber});
      norms_.push_back(*line.norms);
    }
    cut_.evaluation.reset();
    cut_.last_step = line.step;
    cut_.sums.add(loss, line.means);
    if (line.step >= epoch_begin_) cut_.epoch.add(loss, line.means);
  }

  void take_evaluation(MetricsLine& line) {
    evaluation_ = &line;
    earlier_ = cut_;
    earlier_.evaluation.reset();
    cut_.evaluation = line.evaluation;
    if (is_better(line.evaluation, cut_.best)) cut_.best = {line.step, line.evaluation, std::nullopt, {}};
    cut_.sums = {};
  }

  const int64_t epoch_begin_;
  MetricsCut cut_, earlier_;
  std::vector<double> losses_;
  std::vector<GradientNorms> norms_;
  MetricsLine* evaluation_ = nullptr;
};

void keep_cut_lines(const std::filesystem::path& path, int64_t step, std::string_view lines) {
  std::string text = text_of(path) + fmt::format("{{\"kind\":\"cut\",\"step\":{}}}\n{}", step, lines);
  if (!text.ends_with('\n')) text += '\n';
  write_file_atomically(path, text);
}

}  // namespace

MetricsCut cut_metrics(const std::filesystem::path& path, const ComputedMetrics& metrics, int64_t step, bool is_due,
                       int64_t epoch_begin) {
  const std::string text = text_of(path);
  std::vector<MetricsLine> lines = metrics_lines(text, metrics);
  const size_t end = check_order(lines, step);
  LossTotals totals(epoch_begin);
  for (size_t i = 0; i < lines.size(); ++i)
    if (i < end)
      totals.take(lines[i]);
    else
      lines[i].is_kept = false;
  if (!is_due) totals.drop_evaluation();
  MetricsCut result = std::move(totals).cut();
  std::string kept, dropped;
  int64_t number = 0;
  for (const MetricsLine& line : lines) {
    (line.is_kept ? kept : dropped) += line.text;
    if (!line.is_kept)
      ++result.dropped;
    else if (++number; line.kind == Kind::damaged)
      result.damaged.push_back(number);
  }
  if (dropped.empty()) return result;
  keep_cut_lines(path.parent_path() / kCutMetrics, step, dropped);
  write_file_atomically(path, kept);
  return result;
}

std::optional<int64_t> ended_after(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  if (text.empty()) return std::nullopt;
  const size_t begin = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  const MetricsLine last = metrics_line_at(text, begin, {});
  return last.kind == Kind::end ? std::optional(last.steps) : std::nullopt;
}

}  // namespace kb
