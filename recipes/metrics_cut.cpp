#include "recipes/metrics_cut.h"

#include <nlohmann/json.hpp>

#include "runtime/atomic_file.h"

namespace kb {
namespace {

using Json = nlohmann::json;

std::string text_of(const std::filesystem::path& path) { return std::filesystem::exists(path) ? read_file(path) : ""; }

// The whole line at `at` with its end; an object that is null where it is torn or no JSON.
std::pair<std::string_view, Json> line_at(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  if (end == std::string_view::npos) return {text.substr(at), nullptr};
  Json json = Json::parse(text.substr(at, end - at), nullptr, false);
  return {text.substr(at, end + 1 - at), json.is_object() ? json : nullptr};
}

double number(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number() ? at->get<double>() : 0;
}

class Cutter {
 public:
  explicit Cutter(int64_t step) : step_(step) {}

  // False where the line lies past the checkpoint.
  bool take(std::string_view line, const Json& json) {
    if (json.is_null()) return false;
    const std::string kind = json.value("kind", "");
    if (kind == "step") return take_step(line, json);
    if (kind == "eval") take_evaluation(line, json);
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
  bool take_step(std::string_view line, const Json& json) {
    const int64_t step = json.value("step", int64_t{0});
    if (step >= step_) return false;
    cut_.evaluation.reset();
    cut_.last_step = step;
    cut_.loss_sum += number(json, "loss");
    ++cut_.losses;
    kept_ += line;
    return true;
  }

  void take_evaluation(std::string_view line, const Json& json) {
    before_evaluation_ = kept_.size();
    earlier_ = cut_;
    earlier_.evaluation.reset();
    kept_ += line;
    cut_.evaluation = {number(json, "loss"), number(json, "error"), json.value("count", int64_t{0})};
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
    const auto [line, json] = line_at(text, at);
    if (!cutter.take(line, json)) break;
    at += line.size();
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
  const Json json = line_at(text, begin).second;
  if (json.is_null() || json.value("kind", "") != "end") return std::nullopt;
  return json.value("steps", int64_t{0});
}

}  // namespace kb
