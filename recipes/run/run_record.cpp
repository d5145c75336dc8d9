#include "recipes/run/run_record.h"

#include <fmt/format.h>

#include "recipes/orders/gradient_order.h"
#include "recipes/run/drawing.h"
#include "recipes/run/start_time.h"
#include "recipes/train/layer_log.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"

namespace kb {
namespace {

std::vector<std::string> layer_names(const ParameterSpace& space) {
  std::vector<std::string> names;
  for (LoggedLayer& layer : logged_layers(space)) names.push_back(std::move(layer.name));
  return names;
}

}  // namespace

RunRecord::RunRecord(const RunFolder& folder, bool goes_on, int64_t begins_at, const StateStore& store,
                     const Hyperparameters& flags, std::map<std::string, std::string> facts, int64_t keep,
                     MetricsFile::Say say)
    : folder_(folder),
      store_(store),
      metrics_(folder.file(kMetrics), goes_on, say, program_start()),
      events_(folder.path(), begins_at, layer_names(store.space()), flags),
      views_(folder_, (folder.path() / "").parent_path().filename().string(), std::move(say)),
      checkpoints_(store, {folder.checkpoints(), std::move(facts), keep, [this] { sync(); }}) {}

void RunRecord::sync() const {
  metrics_.sync();
  events_.sync();
}

void RunRecord::order_begins(const OrderPlan& plan, int64_t decided) {
  const std::filesystem::path path = folder_.file(kOrder);
  if (decided == 0) std::filesystem::remove(path);  // of a process that died before its first checkpoint
  if (is_there(path)) {
    order_.emplace(path, plan, decided);
    return;
  }
  order_.emplace(path, plan);
  if (decided == 0) return;  // times that are measured can be drawn no more
  for (GradientOrder order(plan); decided > 0; --decided) order_->write(order.next().value());
}

void RunRecord::step(const StepMetrics& metrics) {
  metrics_.step(metrics);
  events_.step(metrics);
  checkpoints_.check();
}

void RunRecord::layers(const LayerNorms& norms) {
  metrics_.layers(norms);
  events_.layers(norms);
}

void RunRecord::evaluated(const EvaluationReport& report) {
  metrics_.evaluation(report);
  events_.evaluation(report);
  views_.set_figures(report.evaluation.figures);
  views_.refresh();
  for (const DrawnImages& drawn : report.drawings)
    write_file_atomically(folder_.file(drawing_name(drawn, report.step)), drawing_file(drawn));
}

void RunRecord::tested(const TestReport& report) {
  metrics_.test(report);
  events_.test(report);
}

void RunRecord::stop(int64_t step, double lr, std::string_view reason) {
  metrics_.stop(step, lr, reason);
  events_.end(true);
  views_.make();
}

void RunRecord::end(const EndMetrics& metrics) {
  metrics_.end(metrics);
  if (metrics.is_over) events_.end(metrics.is_diverged);
  events_.flush();
  views_.set_figures(metrics.evaluation.figures);
  views_.make();
}

void RunRecord::save_model(int64_t step) {
  try {
    folder_.save_parameters(kModel, store_, step);
  } catch (const FileError& error) {
    finish_checkpoint();
    throw FileError(error.what() + kept_text(folder_.checkpoints()));
  }
}

// Waits for a save that is under way. Its error is not told: the one that ends the run is.
void RunRecord::finish_checkpoint() {
  try {
    checkpoints_.wait();
  } catch (const Error&) {
  }
}

std::string RunRecord::kept(int64_t step) {
  finish_checkpoint();
  const std::string text = fmt::format("{}, the parameters after {} steps", folder_.file(kModel).string(), step);
  const std::vector<std::filesystem::path> checkpoints = list_checkpoints(folder_.checkpoints());
  return checkpoints.empty() ? text : text + "; " + checkpoints[0].string();
}

void RunRecord::save_checkpoint(const CheckpointCursor& cursor) {
  metrics_.flush();
  events_.flush();
  if (order_) order_->sync();
  checkpoints_.save(cursor);
}

}  // namespace kb
