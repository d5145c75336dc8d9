#include "recipes/run/run_record.h"

#include <fmt/format.h>

#include "recipes/orders/gradient_order.h"
#include "recipes/orders/order_file.h"
#include "recipes/run/drawing.h"
#include "recipes/run/metrics_views.h"
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

struct RunRecord::Files {
  Files(const RunFolder& run, bool goes_on, int64_t begins_at, const StateStore& state, const Hyperparameters& flags,
        std::map<std::string, std::string> facts, int64_t keep, MetricsFile::Say say)
      : folder(run),
        store(state),
        metrics(folder.file(kMetrics), goes_on, say, program_start()),
        events(folder.path(), begins_at, layer_names(store.space()), flags),
        views(folder, (folder.path() / "").parent_path().filename().string(), std::move(say)),
        checkpoints(store, {folder.checkpoints(), std::move(facts), keep, [this] { sync(); }}) {}

  void flush() {
    metrics.flush();
    events.flush();
  }
  void sync() const {
    metrics.sync();
    events.sync();
  }

  const RunFolder folder;
  const StateStore& store;
  MetricsFile metrics;
  TensorboardEvents events;
  MetricsViews views;
  CheckpointWriter checkpoints;
  std::optional<OrderWriter> order;
};

RunRecord::RunRecord() = default;
RunRecord::~RunRecord() = default;
RunRecord::RunRecord(RunRecord&&) noexcept = default;
RunRecord& RunRecord::operator=(RunRecord&&) noexcept = default;

RunRecord::RunRecord(const RunFolder& folder, bool goes_on, int64_t begins_at, const StateStore& store,
                     const Hyperparameters& flags, std::map<std::string, std::string> facts, int64_t keep,
                     MetricsFile::Say say)
    : files_(
          std::make_unique<Files>(folder, goes_on, begins_at, store, flags, std::move(facts), keep, std::move(say))) {}

void RunRecord::order_begins(const OrderPlan& plan, int64_t decided) {
  if (!files_) return;
  const std::filesystem::path path = files_->folder.file(kOrder);
  if (is_there(path)) {
    files_->order.emplace(path, plan, decided);
    return;
  }
  files_->order.emplace(path, plan);
  if (decided == 0) return;  // times that are measured can be drawn no more
  for (GradientOrder order(plan); decided > 0; --decided) files_->order->write(order.next().value());
}

void RunRecord::ordered(const GradientRecord& gradient) {
  if (files_) files_->order->write(gradient);
}

void RunRecord::step(const StepMetrics& metrics) {
  if (!files_) return;
  files_->metrics.step(metrics);
  files_->events.step(metrics);
}

void RunRecord::layers(const LayerNorms& norms) {
  if (!files_) return;
  files_->metrics.layers(norms);
  files_->events.layers(norms);
}

void RunRecord::histograms(const LayerHistograms& histograms) {
  if (files_) files_->events.histograms(histograms);
}

void RunRecord::ranks(const RanksReport& report) {
  if (files_) files_->metrics.ranks(report);
}

void RunRecord::epoch(const EpochMetrics& metrics) {
  if (files_) files_->metrics.epoch(metrics);
}

void RunRecord::evaluation(const EvaluationReport& report) {
  if (!files_) return;
  files_->metrics.evaluation(report);
  files_->events.evaluation(report);
  files_->views.set_figures(report.evaluation.figures);
  files_->views.refresh();
  for (const DrawnImages& drawn : report.drawings)
    write_file_atomically(files_->folder.file(drawing_name(drawn, report.step)), drawing_file(drawn));
}

void RunRecord::test(const TestReport& report) {
  if (!files_) return;
  files_->metrics.test(report);
  files_->events.test(report);
}

void RunRecord::stop(int64_t step, double lr, std::string_view reason) {
  if (!files_) return;
  files_->metrics.stop(step, lr, reason);
  files_->events.end(true);
  files_->views.make();
}

void RunRecord::end(const EndMetrics& metrics) {
  if (!files_) return;
  files_->metrics.end(metrics);
  if (metrics.is_over) files_->events.end(metrics.is_diverged);
  files_->events.flush();
  files_->views.set_figures(metrics.evaluation.figures);
  files_->views.make();
}

void RunRecord::save_model(int64_t step) {
  if (!files_) return;
  try {
    files_->folder.save_parameters(kModel, files_->store, step);
  } catch (const FileError& error) {
    finish_checkpoint();
    throw FileError(error.what() + kept_text(files_->folder.checkpoints()));
  }
}

// Waits for a save that is under way. Its error is not told: the one that ends the run is.
void RunRecord::finish_checkpoint() const {
  try {
    files_->checkpoints.wait();
  } catch (const Error&) {
  }
}

std::string RunRecord::kept(int64_t step) const {
  if (step < 0) return "nothing";
  const std::string model = files_ ? files_->folder.file(kModel).string() : std::string(kModel) + " of rank 0";
  std::string text = fmt::format("{}, the parameters after {} steps", model, step);
  if (!files_) return text;
  finish_checkpoint();
  const std::vector<std::filesystem::path> checkpoints = list_checkpoints(files_->folder.checkpoints());
  return checkpoints.empty() ? text : text + "; " + checkpoints[0].string();
}

void RunRecord::save_checkpoint(const CheckpointCursor& cursor) {
  if (!files_) return;
  files_->flush();
  if (files_->order) files_->order->sync();
  files_->checkpoints.save(cursor);
}

void RunRecord::check() {
  if (files_) files_->checkpoints.check();
}

void RunRecord::wait() {
  if (files_) files_->checkpoints.wait();
}

}  // namespace kb
