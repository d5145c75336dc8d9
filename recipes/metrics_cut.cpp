#include "recipes/metrics_cut.h"

#include <algorithm>

#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_there = std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found;
  return is_there ? read_file(path) : "";
}

struct Line {
  std::string kind;
  int64_t step = 0, steps = 0;  // of a step, of an end
  Evaluation evaluation;        // of a step the loss alone
};

// A number that is not finite is written as null.
double number(const JsonValue& json, const char* key) {
  return !json.has(key) || json.at(key).kind() == JsonValue::Kind::null ? 0 : json.get<double>(key);
}

Line parse_line(std::string_view text) {
  const JsonValue json = parse_json(std::string(text), "metrics.jsonl");
  Line line{json.get<std::string>("kind"), 0, 0, {number(json, "loss"), number(json, "error"), 0}};
  if (line.kind == "step") line.step = json.get<int64_t>("step");
  if (line.kind == "eval") line.evaluation.count = json.get<int64_t>("count");
  if (line.kind == "end") line.steps = json.get<int64_t>("steps");
  return line;
}

// The whole line at `at` with its end; nothing where it is torn or damaged.
std::pair<std::string_view, std::optional<Line>> line_at(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  if (end == std::string_view::npos) return {text.substr(at), std::nullopt};
  try {
    return {text.substr(at, end + 1 - at), parse_line(text.substr(at, end - at))};
  } catch (const Error&) {
    return {text.substr(at, end + 1 - at), std::nullopt};
  }
}

class Cutter {
 public:
  explicit Cutter(int64_t step) : step_(step) {}

  // False where the line lies past the checkpoint.
  bool take(std::string_view text, const Line& line) {
    if (line.kind == "step") return take_step(text, line);
    if (line.kind == "eval") take_evaluation(text, line);
    return true;  // an end or a stop is passed over
  }

  void drop_evaluation() {
    if (!cut_.evaluation) return;
    kept_.resize(before_evaluation_);
    cut_ = earlier_;
  }

  const std::string& kept() const { return kept_; }
  const MetricsCut& cut() const { return cut_; }

 private:
  bool take_step(std::string_view text, const Line& line) {
    if (line.step >= step_) return false;
    cut_.evaluation.reset();
    cut_.last_step = line.step;
    cut_.loss_sum += line.evaluation.loss;
    ++cut_.losses;
    kept_ += text;
    return true;
  }

  void take_evaluation(std::string_view text, const Line& line) {
    before_evaluation_ = kept_.size();
    earlier_ = cut_;
    earlier_.evaluation.reset();
    kept_ += text;
    cut_.evaluation = line.evaluation;
    cut_.loss_sum = 0;
    cut_.losses = 0;
  }

  const int64_t step_;
  std::string kept_;
  MetricsCut cut_, earlier_;
  size_t before_evaluation_ = 0;
};

}  // namespace

MetricsCut cut_metrics(const std::filesystem::path& path, int64_t step, bool is_due) {
  const std::string text = text_of(path);
  Cutter cutter(step);
  for (size_t at = 0; at < text.size();) {
    const auto [bytes, line] = line_at(text, at);
    if (!line || !cutter.take(bytes, *line)) break;
    at += bytes.size();
  }
  if (!is_due) cutter.drop_evaluation();
  MetricsCut result = cutter.cut();
  auto lines = [](const std::string& of) { return std::count(of.begin(), of.end(), '\n'); };
  result.dropped = lines(text) - lines(cutter.kept());
  if (cutter.kept() != text) write_file_atomically(path, cutter.kept());
  return result;
}

std::optional<int64_t> ended_after(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  const size_t begin = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
  const std::optional<Line> line = line_at(text, begin).second;
  return line && line->kind == "end" ? std::optional(line->steps) : std::nullopt;
}

}  // namespace kb
