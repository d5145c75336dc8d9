// metrics.jsonl: one JSON object a line, appended as the run goes, whole lines at a time. Every line has "wall_s",
// seconds since the start of the program that wrote it; of a run that was resumed they begin again.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/text_buffer.h"
#include "optim/adascale.h"
#include "optim/optimizer.h"
#include "recipes/train/evaluation.h"

namespace kb {

inline constexpr const char* kMeanSuffix = "_mean";
// Keys of a step's squared gradient norms: of its minibatch, and the mean of the workers' (GradientNorms).
inline constexpr const char* kGradient2 = "gradient2";
inline constexpr const char* kWorkerGradient2 = "worker_gradient2";

struct StepMetrics {
  int64_t step = 0;  // from 0
  double epoch = 0;  // epochs done before it
  double loss = 0, lr = 0, samples_per_s = 0, data_wait_ms = 0;
  std::optional<GradientNorms> norms = std::nullopt;  // set with judging.noise_scale and with AdaScale
  std::optional<ScaledStep> scaled = std::nullopt;    // with AdaScale
  // With f16: the loss scale of the next step. If it is half of the one before, the gradients of this step were not
  // finite, and the step changed no parameter.
  std::optional<double> loss_scale = std::nullopt;
  std::span<const NamedMetric> metrics =
      {};  // training metrics (judging.train_metrics), and the mean of each over the step
  std::span<const double> means = {};
  std::span<const NamedScalar> group_rates = {};  // learning rate of each group by the name "lr.GROUP"; none: one group
};

// Before the update of a step: Euclidean norms of each layer and of its gradient, and what the rate of the layer is
// multiplied by; no trust where the optimizer has none, NaN for layers that are not adapted.
struct LayerNorms {
  int64_t step = 0;
  std::vector<double> weight, gradient, trust;
};

// How values are spread: counts in equal parts of the range from the least to the greatest. Of finite values alone.
struct Histogram {
  int64_t count = 0;
  double least = 0, greatest = 0, sum = 0, sum_of_squares = 0;
  std::vector<int64_t> counts = {};  // kHistogramParts; one where all values are equal; none of no values
};
inline constexpr size_t kHistogramParts = 64;

// Histograms of each layer: of its weights after a step, and of the gradient of that step, as the optimizer reads it.
struct LayerHistograms {
  int64_t step = 0;
  std::vector<Histogram> weight, gradient;
};

struct EvalMetrics {
  int64_t step = 0;  // steps done
  double epoch = 0;  // epochs done
  Evaluation evaluation;
  std::optional<Evaluation> averaged = std::nullopt;  // evaluation of the averaged parameters, "ema_loss" and so on
  std::optional<Evaluation> training = std::nullopt;  // means since the last evaluation: "train_loss" and so on
  std::string_view part = kTestPart;                  // that was evaluated
  std::optional<double> lr = std::nullopt;            // learning rate of the step before
  std::optional<double> gain = std::nullopt;          // gain of the step before, with AdaScale
  double seconds = 0;                                 // seconds of training since the last evaluation
  std::optional<NoiseScale> noise = std::nullopt;     // set with judging.noise_scale
};

// A whole epoch: {"kind":"epoch","step":..,"epoch":..,"lr":..,"seconds":..,"train_loss":..} and the training metrics.
struct EpochMetrics {
  int64_t step = 0;    // steps done
  double epoch = 0;    // epochs done
  double lr = 0;       // learning rate of its last step
  double seconds = 0;  // seconds of training; if the run was stopped in the epoch, those since it went on
  std::optional<Evaluation> training = std::nullopt;  // means over its steps
  std::optional<NoiseScale> noise = std::nullopt;     // set with judging.noise_scale
  std::optional<double> gain = std::nullopt;          // gain of its last step, with AdaScale
};

// The test part at the end of a run that held out samples: after `step` steps, of its best state or of its final one.
struct TestMetrics {
  int64_t step = 0;
  double epoch = 0;
  bool is_best = false;
  Evaluation evaluation;
  std::optional<Evaluation> averaged = std::nullopt;
};

struct EndMetrics {
  int64_t steps = 0;  // done
  Evaluation evaluation;
  std::string state_sha256;
  bool is_diverged = false;
  std::string_view part = kTestPart;  // part of the data that was evaluated
  bool is_over = true;                // false: it was interrupted, and may go on
};

// A number as JSON has it: the shortest that reads back the same; null where it is not finite.
void append_json(TextBuffer& out, double value);

class MetricsFile {
 public:
  using Say = std::function<void(const std::string&)>;
  using Clock = std::chrono::steady_clock;

  // Makes the file, which must not be there yet, or goes on with it. Error where it cannot. `say` is told when somebody
  // else removed, replaced or cut the file, which is put back where it can be. `start`: of the process.
  explicit MetricsFile(
      const std::filesystem::path& path, bool goes_on = false, Say say = [](const std::string&) {},
      Clock::time_point start = Clock::now());
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Kept back for up to a second; allocates nothing.
  void step(const StepMetrics& metrics);
  void layers(const LayerNorms& norms);
  // Written at once, as the next four.
  void evaluation(const EvalMetrics& metrics);
  void epoch(const EpochMetrics& metrics);
  // {"kind":"test","step":..,"epoch":..,"part":"test","state":"final" or "best","loss":..}
  void test(const TestMetrics& metrics);
  void end(const EndMetrics& metrics);
  // The run diverged, and ends here: {"kind":"stop","step":..,"lr":..,"reason":"..","diverged":true}.
  void stop(int64_t step, double lr, std::string_view reason);
  void flush();
  // Forces what was flushed onto the disk itself. May be called by another thread than the rest.
  void sync() const;

 private:
  template <class... Pairs>
  void object(std::string_view kind, const Pairs&... pairs);
  void look_after();
  void put_back(bool was_replaced);

  const std::filesystem::path path_;
  const Say say_;
  int descriptor_ = -1;
  int64_t size_ = 0;  // bytes, as it was left
  TextBuffer pending_;
  Clock::time_point flushed_;
  const Clock::time_point start_;
};

}  // namespace kb
