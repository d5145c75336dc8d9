#include "recipes/run/run_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "recipes/run/run_folder.h"
#include "recipes/run/run_texts.h"
#include "recipes/train/metrics_cut.h"
#include "runtime/checkpoint.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

// Numbers in the order in which they are put in and taken out, to send from process to process.
class Numbers {
 public:
  void put(double value) { values_.push_back(value); }
  // `metrics`: how many the training has.
  void put(StepSums sums, size_t metrics) {
    sums.metrics.resize(metrics);
    put(static_cast<double>(sums.steps));
    put(sums.loss);
    for (const double sum : sums.metrics) put(sum);
  }
  StepSums take_sums(size_t metrics) {
    StepSums sums{take_whole(), take(), std::vector<double>(metrics)};
    for (double& sum : sums.metrics) sum = take();
    return sums;
  }
  // `like`: has the figures of every evaluation.
  void put(const std::optional<Evaluation>& value, const Evaluation& like) {
    put(value ? 1.0 : 0.0);
    const Evaluation& evaluation = value ? *value : like;
    put(static_cast<double>(evaluation.count));
    put(evaluation.loss);
    for (const Figure& figure : evaluation.figures) put(figure.value);
  }
  std::optional<Evaluation> take_evaluation(Evaluation like) {
    const bool is_there = take() != 0;
    like.count = take_whole();
    like.loss = take();
    for (Figure& figure : like.figures) figure.value = take();
    return is_there ? std::optional(std::move(like)) : std::nullopt;
  }
  double take() { return values_.at(taken_++); }
  int64_t take_whole() { return static_cast<int64_t>(take()); }
  void put(const std::vector<double>& values) {
    put(static_cast<double>(values.size()));
    values_.insert(values_.end(), values.begin(), values.end());
  }
  void put(const std::vector<GradientNorms>& all) {
    put(static_cast<double>(all.size()));
    for (const GradientNorms& norms : all) {
      put(norms.worker);
      put(norms.minibatch);
    }
  }
  std::vector<GradientNorms> take_norms() {
    std::vector<GradientNorms> all(static_cast<size_t>(take()));
    for (GradientNorms& norms : all) {
      norms.worker = take();
      norms.minibatch = take();
    }
    return all;
  }
  std::vector<double> take_all() {
    std::vector<double> values(static_cast<size_t>(take()));
    for (double& value : values) value = take();
    return values;
  }

  // Collective call. Every process has the leading one's numbers behind it, however many it had.
  void share(World& world) {
    const std::string own(reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(double));
    const std::string all = world.broadcast(world.leads() ? own : "");
    values_.resize(all.size() / sizeof(double));
    std::memcpy(values_.data(), all.data(), all.size());
  }

 private:
  std::vector<double> values_;
  size_t taken_ = 0;
};

}  // namespace

LoopStart start_from_metrics(const std::filesystem::path& metrics_file, const ComputedMetrics& metrics, int64_t step,
                             bool is_due, int64_t epoch_begin, int64_t begins_at, Console& console) {
  const MetricsCut cut = cut_metrics(metrics_file, metrics, step, is_due, epoch_begin);
  if (cut.dropped > 0)
    console.line(fmt::format("{}: {} line{} past step {}, which is where it goes on, moved to {}", kMetrics,
                             cut.dropped, cut.dropped == 1 ? "" : "s", step, kCutMetrics));
  if (!cut.damaged.empty())
    console.line(fmt::format("NOTE: {}: what cannot be read or is out of order was left as it is and passed over: {}",
                             kMetrics, line_numbers(cut.damaged)));
  const int64_t next = std::max(cut.last_step + 1, begins_at);
  if (next < step) console.line(fmt::format("NOTE: {} lacks the steps {} to {}", kMetrics, next, step - 1));
  return {step, cut.evaluation, cut.sums, cut.losses, cut.norms, cut.epoch, cut.best};
}

void load_best_model(World& world, const std::filesystem::path& checkpoints, BestState& best) {
  std::vector<std::filesystem::path> files = list_checkpoints(checkpoints);
  files.insert(files.begin(), checkpoints / kBestCheckpoint);
  for (const std::filesystem::path& file : files) {
    if (!is_there(file) || !best.model.empty()) continue;
    try {
      const Checkpoint checkpoint = read_checkpoint(file);
      if (checkpoint.step == best.step) best.model = model_tensors(checkpoint);
    } catch (const Error&) {
      // Another file may be whole.
    }
  }
  for (const std::string& found : world.communicator().all_gather(best.model.empty() ? "" : "found"))
    if (found.empty()) best.model.clear();
}

LoopStart leaders_start(World& world, LoopStart own, const ComputedMetrics& metrics) {
  Numbers numbers;
  numbers.put(static_cast<double>(own.step));
  numbers.put(own.losses);
  numbers.put(own.norms);
  numbers.put(own.sums, metrics.training.size());
  numbers.put(own.epoch, metrics.training.size());
  const Evaluation none = no_evaluation(metrics.test);
  numbers.put(own.evaluation, none);
  numbers.put(own.best ? static_cast<double>(own.best->step) : 0.0);
  numbers.put(own.best ? std::optional(own.best->evaluation) : std::nullopt, none);
  numbers.share(world);
  own.step = numbers.take_whole();
  own.losses = numbers.take_all();
  own.norms = numbers.take_norms();
  own.sums = numbers.take_sums(metrics.training.size());
  own.epoch = numbers.take_sums(metrics.training.size());
  own.evaluation = numbers.take_evaluation(none);
  const int64_t best_step = numbers.take_whole();
  const std::optional<Evaluation> best = numbers.take_evaluation(none);
  own.best.reset();
  if (best) own.best = {best_step, *best, std::nullopt, {}};
  return own;
}

}  // namespace kb
