#include "recipes/run/mlperf_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "graph/error.h"
#include "recipes/config/learning.h"
#include "recipes/run/start_time.h"
#include "recipes/train/evaluation.h"
#include "recipes/train/parts.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/json.h"

namespace kb {
namespace {

constexpr const char *kStandardOutput = "-", *kLineBegin = ":::MLLOG";

int64_t milliseconds_now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

int64_t milliseconds_of_start() {
  using namespace std::chrono;
  return milliseconds_now() - duration_cast<milliseconds>(steady_clock::now() - program_start()).count();
}

std::string json_string(const std::string& text) { return Json(text).dump(); }

std::string number(double value) { return fmt::format("{}", value); }

std::string epoch_number(double epoch) { return fmt::format("\"epoch_num\": {}", std::llround(epoch)); }

double hyper_or_zero(const RunConfig& config, const char* name) {
  return find_hyper(config.learning, name).value_or(0);
}

}  // namespace

void check_mlperf_file(const RunConfig& config, bool goes_on) {
  std::error_code error;
  if (!config.out.mllog.empty() && reference_rate(config.learning).has_gains())
    throw Error("--mllog: MLPerf's log has no key for AdaScale's gains\n  hint:     another --scaling, or no --mllog");
  if (config.out.mllog.empty() || config.out.mllog == kStandardOutput) return;
  const bool is_old = std::filesystem::exists(config.out.mllog, error);
  if (goes_on && is_old && !read_file(config.out.mllog).starts_with(kLineBegin))
    throw Error(fmt::format("--mllog: {}: expected a log of the run that goes on, which begins with {}",
                            config.out.mllog, kLineBegin));
  if (!goes_on && is_old)
    throw Error(
        fmt::format("--mllog: {}: expected a file that is not there yet\n  hint:     another name, or remove it",
                    config.out.mllog));
  const std::filesystem::path folder = std::filesystem::path(config.out.mllog).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    throw Error(fmt::format("--mllog: {}: there is no folder {}", config.out.mllog, folder.string()));
}

MlperfLog::MlperfLog(MlperfFacts facts) : facts_(std::move(facts)), is_on_(!facts_.config.out.mllog.empty()) {
  if (!is_on_) return;
  const std::string& file = facts_.config.out.mllog;
  if (facts_.goes_on && file != kStandardOutput && is_there(file)) text_ = read_file(file);
  settings();
}

void MlperfLog::line(const char* type, const char* key, const std::string& value, const std::string& more,
                     Place place) {
  if (!is_on_) return;
  const std::string text = fmt::format(
      "{} {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": \"{}\", \"value\": {}, "
      "\"metadata\": {{\"file\": {}, \"lineno\": {}{}{}}}}}\n",
      kLineBegin, time_ms_ > 0 ? time_ms_ : milliseconds_now(), type, key, value, json_string(place.file_name()),
      place.line(), more.empty() ? "" : ", ", more);
  if (facts_.config.out.mllog != kStandardOutput) {
    text_ += text;
    return;
  }
  fmt::print("{}", text);
  std::fflush(stdout);
}

void MlperfLog::start(const char* key, const std::string& more, Place place) {
  line("INTERVAL_START", key, "null", more, place);
}

void MlperfLog::stop(const char* key, const std::string& more, Place place) {
  line("INTERVAL_END", key, "null", more, place);
}

void MlperfLog::event(const char* key, const std::string& value, const std::string& more, Place place) {
  line("POINT_IN_TIME", key, value, more, place);
}

void MlperfLog::write() const {
  if (is_on_ && facts_.config.out.mllog != kStandardOutput) write_file_atomically(facts_.config.out.mllog, text_);
}

void MlperfLog::settings() {
  const RunConfig& config = facts_.config;
  time_ms_ = milliseconds_of_start();
  event("submission_benchmark", json_string(facts_.benchmark));
  event("submission_org", json_string("kilobatch"));
  event("submission_platform", json_string(facts_.platform));
  event("submission_division", json_string("open"));
  event("submission_status", json_string("research"));
  event("cache_clear", "false");  // the system's caches stay as they are
  start("init_start");
  time_ms_ = 0;
  event("seed", fmt::to_string(config.arithmetic.seed));
  event("global_batch_size", fmt::to_string(facts_.plan.minibatch));
  event("train_samples", fmt::to_string(facts_.plan.samples));
  event("eval_samples", fmt::to_string(facts_.eval_samples));
  event("model_bn_span", fmt::to_string(facts_.batch.per_worker));
  event("gradient_accumulation_steps", fmt::to_string(facts_.batch.virtual_workers));
  optimizer_settings();
}

// Logs the keys that the rules have for LARS and for SGD. A polynomial schedule is logged by its power and steps, a
// step schedule by the epochs of its drops.
void MlperfLog::optimizer_settings() {
  const RunConfig& config = facts_.config;
  const bool is_lars = config.learning.optimizer.starts_with("lars");
  const bool is_sgd = config.learning.optimizer == "sgd" ||
                      config.learning.optimizer.find("momentum") != std::string::npos ||
                      config.learning.optimizer == "nesterov";
  const std::string name = is_lars ? "lars" : is_sgd ? "sgd" : config.learning.optimizer;
  const auto setting = [&](const char* key, const std::string& value) {
    event(fmt::format("{}_{}", name, key).c_str(), value);
  };
  const bool is_polynomial = config.learning.schedule == "polynomial" || config.learning.schedule == "mlperf";
  const double warmup_epochs = facts_.schedule.warmup == "none" ? 0 : facts_.schedule.warmup_epochs;
  const double warmup = warmup_epochs * static_cast<double>(facts_.plan.steps_per_epoch);
  const int64_t rest = facts_.plan.steps - std::llround(warmup) + (config.learning.schedule == "mlperf" ? 1 : 0);
  event("opt_name", json_string(name));
  setting("opt_base_learning_rate", number(facts_.schedule.learning_rate));
  setting("opt_end_learning_rate", number(config.learning.end_lr));
  if (is_polynomial) {
    setting("opt_learning_rate_decay_poly_power", number(config.learning.power));
    setting("opt_learning_rate_decay_steps", fmt::to_string(rest));
  }
  if (config.learning.schedule == "step")
    event("opt_learning_rate_decay_boundary_epochs", fmt::format("[{}]", fmt::join(config.learning.milestones, ", ")));
  if (is_lars) event("lars_epsilon", number(hyper_or_zero(config, "epsilon")));
  if (is_lars) setting("opt_learning_rate_warmup_epochs", number(warmup_epochs));
  if (!is_lars) event("opt_learning_rate_warmup_epochs", number(warmup_epochs));
  setting("opt_momentum", number(hyper_or_zero(config, "momentum")));
  setting("opt_weight_decay", number(hyper_or_zero(config, "weight_decay")));
}

void MlperfLog::run_begins(int64_t steps) {
  stop("init_stop");
  start("run_start");
  begin_block(steps);
}

// Begins a block, which lasts up to the next evaluation.
void MlperfLog::begin_block(int64_t steps) {
  const RunPlan& plan = facts_.plan;
  if (steps >= plan.steps || is_reached_) return;
  int64_t end = steps + 1;
  while (end < plan.steps && !is_due(facts_.config.judging.eval_every, plan, end)) ++end;
  block_ = static_cast<int64_t>(std::floor(plan.epochs(steps))) + 1;
  start("block_start", fmt::format("\"first_epoch_num\": {}, \"epoch_count\": {}", block_,
                                   std::max<int64_t>(1, std::llround(plan.epochs(end) - plan.epochs(steps)))));
}

void MlperfLog::end_block() {
  if (block_ > 0) stop("block_stop", fmt::format("\"first_epoch_num\": {}", block_));
  block_ = 0;
}

void MlperfLog::end_evaluation() {
  if (evaluation_) stop("eval_stop", epoch_number(*evaluation_));
  evaluation_.reset();
}

void MlperfLog::evaluation_begins(double epoch) {
  end_block();
  evaluation_ = epoch;
  start("eval_start", epoch_number(epoch));
}

void MlperfLog::evaluated(const EvaluationReport& report) {
  const Figure* goal = report.evaluation.goal();
  const std::string epoch = epoch_number(report.epoch);
  if (goal) {
    const bool is_error = goal->kind.is_share && !goal->kind.higher_is_better;
    event("eval_accuracy", number(is_error ? 1 - goal->value : goal->value), epoch);
    is_reached_ = goal->kind.is_share && facts_.config.length.stop_at.is_reached(goal->value);
  }
  if (const std::optional<TargetFigure>& target = facts_.config.length.target)
    is_reached_ |= reaches(*target, report.evaluation, report.averaged);
  end_evaluation();
  begin_block(report.step);
  write();
}

void MlperfLog::run_ends(bool finished) {
  const bool has_goal = facts_.config.length.stop_at.percent || facts_.config.length.target;
  const bool success = finished && (is_reached_ || !has_goal);
  end_block();
  end_evaluation();
  stop("run_stop", fmt::format("\"status\": \"{}\"", success ? "success" : "aborted"));
  write();
}

}  // namespace kb
