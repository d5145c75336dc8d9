#include "recipes/train/metrics_cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

std::string text_of(const std::filesystem::path& path) { return is_there(path) ? read_file(path) : ""; }

// Kinds of lines. final: "stop" or "test", which stand at the end of a run like `end`. torn: a last line without a line
// end.
enum class Kind : uint8_t { step, evaluation, end, final, other, damaged, torn };

struct MetricsLine {
  std::string_view text;  // the line, with its newline
  Kind kind = Kind::damaged;
  int64_t step = 0, steps = 0;  // step: set for the kind step; steps: set for the kind end
  bool is_kept = true;
};

Kind kind_named(const std::string& kind) {
  if (kind == "step") return Kind::step;
  if (kind == "eval") return Kind::evaluation;
  if (kind == "end") return Kind::end;
  return kind == "stop" || kind == "test" ? Kind::final : Kind::other;
}

// Throws Error if a line of a step or an evaluation has a member, except "kind" and "part", that is neither a number
// nor null, which stands for a number that is not finite.
void check_numbers(const JsonValue& json) {
  for (const auto& [key, value] : json.members())
    if (key != "kind" && key != "part" && value.kind() != JsonValue::Kind::null) value.as<double>();
}

// Sets kind and step of a line. Throws Error if it is damaged.
void parse(MetricsLine& line) {
  const JsonValue json = parse_json(std::string(line.text), "metrics.jsonl");
  const Kind kind = kind_named(json.get<std::string>("kind"));
  if (kind == Kind::step || kind == Kind::evaluation) check_numbers(json);
  if (kind == Kind::step) line.step = json.get<int64_t>("step");
  if (kind == Kind::evaluation) json.get<int64_t>("count");
  if (kind == Kind::evaluation && json.has("step")) json.get<int64_t>("step");
  if (kind == Kind::end) line.steps = json.get<int64_t>("steps");
  line.kind = kind;
}

MetricsLine metrics_line_at(std::string_view text, size_t at) {
  const size_t end = std::min(text.find('\n', at), text.size() - 1);
  MetricsLine line{text.substr(at, end + 1 - at)};
  if (!line.text.ends_with('\n')) {
    line.kind = Kind::torn;
    return line;
  }
  try {
    parse(line);
  } catch (const Error&) {
    line.kind = Kind::damaged;
  }
  return line;
}

std::vector<MetricsLine> metrics_lines(std::string_view text) {
  std::vector<MetricsLine> lines;
  for (size_t at = 0; at < text.size(); at += lines.back().text.size()) lines.push_back(metrics_line_at(text, at));
  return lines;
}

// Marks steps whose numbers do not increase as damaged. Returns the index of the line at which the file is to be cut:
// the first of a step >= `step` that follows the last of an earlier step. A step whose number was damaged into a large
// one therefore cuts nothing off.
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

// Decides which lines are kept; `end` is the index at which the file is cut. Returns the last step that is kept, or -1.
int64_t choose_lines(std::vector<MetricsLine>& lines, size_t end, bool is_due) {
  int64_t last = -1;
  MetricsLine* evaluation = nullptr;  // last evaluation after the last kept step
  for (size_t i = 0; i < lines.size(); ++i) {
    MetricsLine& line = lines[i];
    line.is_kept = i < end && line.kind != Kind::end && line.kind != Kind::final && line.kind != Kind::torn;
    if (i >= end) continue;
    if (line.kind == Kind::evaluation) evaluation = &line;
    if (line.kind != Kind::step) continue;
    last = line.step;
    evaluation = nullptr;
  }
  if (evaluation && !is_due) evaluation->is_kept = false;
  return last;
}

void keep_cut_lines(const std::filesystem::path& path, int64_t step, std::string_view lines) {
  std::string text = text_of(path) + fmt::format("{{\"kind\":\"cut\",\"step\":{}}}\n{}", step, lines);
  if (!text.ends_with('\n')) text += '\n';
  write_file_atomically(path, text);
}

}  // namespace

MetricsCut cut_metrics(const std::filesystem::path& path, int64_t step, bool is_due) {
  const std::string text = text_of(path);
  std::vector<MetricsLine> lines = metrics_lines(text);
  const size_t end = check_order(lines, step);
  MetricsCut result;
  result.last_step = choose_lines(lines, end, is_due);
  std::string kept, dropped;
  int64_t number = 0;
  for (const MetricsLine& line : lines) {
    (line.is_kept ? kept : dropped) += line.text;
    if (!line.is_kept)
      ++result.dropped;
    else if (++number; line.kind == Kind::damaged)
      result.damaged.push_back(number);
    else
      result.past += line.text;
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
  const MetricsLine last = metrics_line_at(text, begin);
  return last.kind == Kind::end ? std::optional(last.steps) : std::nullopt;
}

}  // namespace kb
