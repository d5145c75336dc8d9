// Writes metrics.jsonl: one JSON object per line, appended during the run, whole lines at a time. Every line has
// "wall_s", the seconds since the start of the program that wrote it; they begin again when a run is resumed.
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
// Keys of a step's squared gradient norms: the minibatch's, and the mean of the workers' (GradientNorms).
inline constexpr const char* kGradient2 = "gradient2";
inline constexpr const char* kWorkerGradient2 = "worker_gradient2";
inline constexpr const char* kPaddedLength = "length";  // key of StepMetrics::length

struct StepMetrics {
  int64_t step = 0;  // number of the step, from 0
  double epoch = 0;  // epochs done before the step
  double loss = 0, lr = 0, samples_per_s = 0, data_wait_ms = 0;
  double compute_ms = 0;  // time of this process for the step, without waits for data and for other processes
  std::optional<GradientNorms> norms = std::nullopt;  // set with judging.noise_scale and with AdaScale
  std::optional<ScaledStep> scaled = std::nullopt;    // set with AdaScale
  // With f16: the loss scale of the next step. If it is half of the one before, the gradients of this step were not
  // finite, and the step changed no parameter.
  std::optional<double> loss_scale = std::nullopt;
  // An order of gradients sets them: virtual time in seconds at the end of the step, and the mean staleness of its
  // gradients.
  std::optional<double> clock_s = std::nullopt, staleness = std::nullopt;
  // With ragged fields: the length to which they are padded, and the share of padding, in [0, 1).
  std::optional<double> length = std::nullopt, padding = std::nullopt;
  std::span<const NamedMetric> metrics = {};      // training metrics (judging.train_metrics)
  std::span<const double> means = {};             // mean of each of `metrics` over the step's samples
  std::span<const NamedScalar> group_rates = {};  // learning rates "lr.GROUP"; empty if there is one group
};

// Times of the ranks of a training on several processes, means over the steps since the last evaluation.
struct RanksReport {
  int64_t step = 0;                                        // steps done
  std::vector<double> compute_ms = {}, data_wait_ms = {};  // each rank's mean over the steps
  std::vector<std::string> nodes = {};                     // names of the machines
};

// Euclidean norms of each layer's weights and gradient before the update of a step, and its trust ratio, the factor of
// its learning rate. `trust` is empty if the optimizer has no layer-wise rates, and NaN for layers that are not
// adapted.
struct LayerNorms {
  int64_t step = 0;
  std::vector<double> weight, gradient, trust;
};

// A histogram of the finite ones among some values: their counts in equal parts of the range from least to greatest.
struct Histogram {
  int64_t count = 0;
  double least = 0, greatest = 0, sum = 0, sum_of_squares = 0;
  std::vector<int64_t> counts = {};  // kHistogramParts counts; one if all values are equal, none if there are no values
};
inline constexpr size_t kHistogramParts = 64;

// Histograms of each layer's weights after a step, and of its gradient in that step as the optimizer reads it.
struct LayerHistograms {
  int64_t step = 0;
  std::vector<Histogram> weight, gradient;
};

// An evaluation in the course of a training.
struct EvaluationReport {
  int64_t step = 0;  // steps done
  double epoch = 0;  // epochs done
  Evaluation evaluation;
  std::optional<Evaluation> averaged = {};  // evaluation of the averaged parameters, if they are evaluated
  std::optional<Evaluation> training = {};  // means over the steps since the last evaluation, if there were any
  double train_seconds = 0;                 // seconds of training so far, without evaluations
  const char* part = kTestPart;             // part of the data that was evaluated
  std::optional<double> lr = {};            // learning rate of the step before
  std::optional<double> gain = {};          // gain of the step before, with AdaScale
  double seconds = 0;                       // seconds of training since the last evaluation
  std::optional<NoiseScale> noise = {};     // set with judging.noise_scale and with AdaScale
  std::span<const DrawnImages> drawings = {};
};

// Returns a text such as "noise scale 876 (610 to 1300)", in samples, with the 95 % interval in parentheses, or "noise
// scale above 610" if the interval has no upper end.
std::string to_text(const NoiseScale& noise);

// A whole epoch: {"kind":"epoch","step":..,"epoch":..,"lr":..,"seconds":..,"train_loss":..} and the training metrics.
struct EpochMetrics {
  int64_t step = 0;    // steps done
  double epoch = 0;    // epochs done
  double lr = 0;       // learning rate of the epoch's last step
  double seconds = 0;  // seconds of training; since the resume if the run was resumed in the epoch
  std::optional<Evaluation> training = std::nullopt;  // means over the epoch's steps
  std::optional<NoiseScale> noise = std::nullopt;     // set with judging.noise_scale and with AdaScale
  std::optional<double> gain = std::nullopt;          // gain of the epoch's last step, with AdaScale
};

// An evaluation of the test part at the end of a training that held out samples (Task::valid).
struct TestReport {
  int64_t step = 0;      // steps done
  double epoch = 0;      // epochs done
  bool is_best = false;  // true for the best state by the held-out samples, false for the final state
  Evaluation evaluation;
  std::optional<Evaluation> averaged = {};  // evaluation of the averaged parameters, if they are evaluated
};

struct EndMetrics {
  int64_t steps = 0;  // steps done
  Evaluation evaluation;
  std::string state_sha256;
  bool is_diverged = false;
  std::string_view part = kTestPart;  // part of the data that was evaluated
  bool is_over = true;                // false if the run was interrupted and can be resumed
};

// Appends a number as JSON: the shortest text that reads back to the same number; null if it is not finite.
void append_json(TextBuffer& out, double value);

class MetricsFile {
 public:
  using Say = std::function<void(const std::string&)>;
  using Clock = std::chrono::steady_clock;

  // Creates the file, which must not exist yet, or with `goes_on` appends to it. Throws Error if it cannot. `say` gets
  // a line when another program has removed, replaced or cut the file; a file that was removed or replaced is put back.
  // `start`: start of the process.
  explicit MetricsFile(
      const std::filesystem::path& path, bool goes_on = false, Say say = [](const std::string&) {},
      Clock::time_point start = Clock::now());
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Adds a line. Lines of steps are collected and written together, about once a second. Allocates nothing.
  void step(const StepMetrics& metrics);
  // Adds a line that is written with the next one.
  void layers(const LayerNorms& norms);
  // Like the next four functions, writes its line at once.
  void evaluation(const EvaluationReport& report);
  void ranks(const RanksReport& report);
  void epoch(const EpochMetrics& metrics);
  // Writes {"kind":"test","step":..,"epoch":..,"part":"test","state":"final" or "best","loss":..}
  void test(const TestReport& report);
  void end(const EndMetrics& metrics);
  // Tells that the run diverged and ends: {"kind":"stop","step":..,"lr":..,"reason":"..","diverged":true}.
  void stop(int64_t step, double lr, std::string_view reason);
  void flush();
  // Waits until all that was flushed is on the disk (fsync). Unlike the other functions, it may be called by another
  // thread.
  void sync() const;

 private:
  template <class... Pairs>
  void object(std::string_view kind, const Pairs&... pairs);
  void look_after();
  void put_back(bool was_replaced);

  const std::filesystem::path path_;
  const Say say_;
  int descriptor_ = -1;
  int64_t size_ = 0;  // bytes of the file when this object last wrote to it
  TextBuffer pending_;
  Clock::time_point flushed_;
  const Clock::time_point start_;
};

}  // namespace kb
