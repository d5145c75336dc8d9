#include "recipes/train/metrics.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <limits>

#include "recipes/config/target_figure.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/write_all.h"

namespace kb {
namespace {

constexpr size_t kPendingBytes = 1 << 16;
constexpr std::chrono::seconds kInterval{1};

void append_value(TextBuffer& out, double value) { append_json(out, value); }
void append_value(TextBuffer& out, int64_t value) { put(out, "{}", value); }
void append_value(TextBuffer& out, bool value) { put(out, "{}", value); }
// The text holds no characters that JSON must escape.
void append_value(TextBuffer& out, std::string_view text) { put(out, "\"{}\"", text); }
void append_value(TextBuffer& out, const char* text) { append_value(out, std::string_view(text)); }

void append_value(TextBuffer& out, const std::vector<double>& values) {
  out.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_json(out, values[i]);
  }
  out.push_back(']');
}

// A member of a line; one whose value is not set is left out.
template <class Value>
struct Pair {
  Pair(std::string_view name, const Value& of) : key(name), value(of) {}
  std::string_view key;
  const Value& value;
};

template <class Value>
void append(TextBuffer& out, const Pair<Value>& pair) {
  put(out, ",\"{}\":", pair.key);
  append_value(out, pair.value);
}

template <class Value>
void append(TextBuffer& out, const Pair<std::optional<Value>>& pair) {
  if (pair.value) append(out, Pair(pair.key, *pair.value));
}

// Figures, written under their names with `prefix` before each.
struct Figures {
  std::string_view prefix;
  const std::vector<Figure>& figures;
};

void append(TextBuffer& out, const Figures& all) {
  for (const Figure& figure : all.figures)
    append(out, Pair(fmt::format("{}{}", all.prefix, figure.name), figure.value));
}

// An evaluation's loss and figures, written with `prefix` before each name; nothing is written without an evaluation.
struct Prefixed {
  std::string_view prefix;
  const std::optional<Evaluation>& evaluation;
};

void append(TextBuffer& out, const Prefixed& prefixed) {
  if (!prefixed.evaluation) return;
  append(out, Pair(fmt::format("{}loss", prefixed.prefix), prefixed.evaluation->loss));
  append(out, Figures{prefixed.prefix, prefixed.evaluation->figures});
}

// Appends a step's place in AdaScale's schedule; nothing without AdaScale.
void append(TextBuffer& out, const std::optional<ScaledStep>& step) {
  if (!step) return;
  append(out, Pair("gain", step->gain));
  append(out, Pair("scale_invariant_iterations", step->iterations));
}

// Appends the squared norms of a step's gradients; nothing if the run does not compute them.
void append(TextBuffer& out, const std::optional<GradientNorms>& norms) {
  if (!norms) return;
  append(out, Pair(kGradient2, norms->minibatch));
  append(out, Pair(kWorkerGradient2, norms->worker));
}

// Appends the gradient noise scale and its interval. "noise_scale_high" is null if the interval has no upper end.
void append(TextBuffer& out, const std::optional<NoiseScale>& noise) {
  if (!noise) return;
  append(out, Pair("noise_scale", noise->samples));
  append(out, Pair("noise_scale_low", noise->low));
  append(out, Pair("noise_scale_high", noise->high.value_or(std::numeric_limits<double>::infinity())));
}

// Appends the training metrics of a step. If a figure is a function of its metric's mean, such as the root, the mean is
// written too, as "NAME_mean": a resumed run needs it, since means over steps are formed from means, not from figures.
void append(TextBuffer& out, const StepMetrics& step) {
  for (size_t i = 0; i < step.metrics.size(); ++i) {
    const NamedMetric& metric = step.metrics[i];
    append(out, Pair(metric.name, figure_of(metric, step.means[i]).value));
    if (metric.kind.finish) append(out, Pair(metric.name + kMeanSuffix, step.means[i]));
  }
}

void append(TextBuffer& out, std::span<const NamedScalar> scalars) {
  for (const NamedScalar& scalar : scalars) append(out, Pair(scalar.name, scalar.value));
}

double seconds_since(MetricsFile::Clock::time_point start) {
  return std::chrono::duration<double>(MetricsFile::Clock::now() - start).count();
}

}  // namespace

std::string to_text(const NoiseScale& noise) {
  const auto samples = [](double value) {
    return value < 99.5 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
  };
  if (!noise.high) return fmt::format("noise scale above {}", samples(noise.low));
  return fmt::format("noise scale {} ({} to {})", samples(noise.samples), samples(noise.low), samples(*noise.high));
}

void append_json(TextBuffer& out, double value) {
  if (std::isfinite(value))
    put(out, "{}", value);
  else
    put(out, "null");
}

MetricsFile::MetricsFile(const std::filesystem::path& path, bool goes_on, Say say, Clock::time_point start)
    : path_(path),
      say_(std::move(say)),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | (goes_on ? 0 : O_EXCL) | O_APPEND | O_CLOEXEC, 0666)),
      start_(start) {
  if (descriptor_ < 0) throw_file_error("write", path_, errno);
  pending_.reserve(kPendingBytes);
  flushed_ = Clock::now();
}

MetricsFile::~MetricsFile() {
  try {
    flush();
  } catch (const std::exception&) {
    // A destructor must not throw. The line that ends a run was flushed at once, and its error thrown there.
  }
  ::close(descriptor_);
}

template <class... Pairs>
void MetricsFile::object(std::string_view kind, const Pairs&... pairs) {
  put(pending_, "{{\"kind\":\"{}\"", kind);
  (append(pending_, pairs), ...);
  append(pending_, Pair("wall_s", std::round(1e3 * seconds_since(start_)) / 1e3));
  put(pending_, "}}\n");
}

void MetricsFile::step(const StepMetrics& m) {
  object("step", Pair("step", m.step), Pair("epoch", m.epoch), Pair("loss", m.loss), Pair("lr", m.lr), m.group_rates,
         Pair("samples_per_s", m.samples_per_s), Pair("data_wait_ms", m.data_wait_ms), Pair("loss_scale", m.loss_scale),
         Pair("clock_s", m.clock_s), Pair("staleness", m.staleness), Pair(kPaddedLength, m.length),
         Pair("padding", m.padding), m, m.norms, m.scaled);
  const bool full = pending_.size() > kPendingBytes / 2;
  if (full || Clock::now() - flushed_ > kInterval) flush();
}

void MetricsFile::layers(const LayerNorms& norms) {
  const auto trust = norms.trust.empty() ? std::nullopt : std::optional(norms.trust);
  object("layers", Pair("step", norms.step), Pair("weight", norms.weight), Pair("gradient", norms.gradient),
         Pair("trust", trust));
}

void MetricsFile::ranks(const RanksReport& report) {
  object("ranks", Pair("step", report.step), Pair("compute_ms", report.compute_ms),
         Pair("data_wait_ms", report.data_wait_ms));
}

void MetricsFile::epoch(const EpochMetrics& m) {
  object("epoch", Pair("step", m.step), Pair("epoch", m.epoch), Pair("lr", m.lr), Pair("seconds", m.seconds),
         Prefixed{"train_", m.training}, m.noise, Pair("gain", m.gain));
  flush();
}

void MetricsFile::evaluation(const EvaluationReport& m) {
  object("eval", Pair("step", m.step), Pair("epoch", m.epoch), Pair("part", m.part), Pair("loss", m.evaluation.loss),
         Figures{"", m.evaluation.figures}, Pair("count", m.evaluation.count), Prefixed{kAveragedPrefix, m.averaged},
         Prefixed{"train_", m.training}, Pair("lr", m.lr), Pair("gain", m.gain), Pair("seconds", m.seconds), m.noise);
  flush();
}

void MetricsFile::test(const TestReport& m) {
  object("test", Pair("step", m.step), Pair("epoch", m.epoch), Pair("part", kTestPart),
         Pair("state", m.is_best ? "best" : "final"), Pair("loss", m.evaluation.loss),
         Figures{"", m.evaluation.figures}, Pair("count", m.evaluation.count), Prefixed{kAveragedPrefix, m.averaged});
  flush();
}

void MetricsFile::end(const EndMetrics& m) {
  object("end", Pair("steps", m.steps), Pair("part", m.part), Figures{"", m.evaluation.figures},
         Pair("loss", m.evaluation.loss), Pair("state_sha256", m.state_sha256), Pair("diverged", m.is_diverged));
  flush();
}

void MetricsFile::stop(int64_t step, double lr, std::string_view reason) {
  object("stop", Pair("step", step), Pair("lr", lr), Pair("reason", reason), Pair("diverged", true));
  flush();
}

// Checks whether another program has removed, replaced or cut the file. The two system calls are cheap, since lines are
// collected and flushed about once a second.
void MetricsFile::look_after() {
  struct stat own, there;
  if (::fstat(descriptor_, &own) != 0) throw_file_error("write", path_, errno);
  const bool is_there = ::stat(path_.c_str(), &there) == 0;
  if (!is_there || there.st_dev != own.st_dev || there.st_ino != own.st_ino) return put_back(is_there);
  if (own.st_size < size_)
    say_(fmt::format("NOTE: {} was cut from {} to {} bytes by another program: its lines there are lost",
                     path_.string(), size_, own.st_size));
  size_ = own.st_size;
}

// Puts back a file that was removed or replaced. A file without a name lives as long as it is open, so its lines can
// still be read through the descriptor.
void MetricsFile::put_back(bool was_replaced) {
  std::filesystem::path other;
  if (was_replaced) {
    for (int number = 1; other.empty() || std::filesystem::exists(other); ++number)
      other = fmt::format("{}.replaced-{}", path_.string(), number);
    if (::rename(path_.c_str(), other.c_str()) != 0) throw_file_error("move away", path_, errno);
  }
  write_file_atomically(path_, read_file(fmt::format("/proc/self/fd/{}", descriptor_)));
  const int fresh = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fresh < 0) throw_file_error("write", path_, errno);
  const int error = ::dup3(fresh, descriptor_, O_CLOEXEC) < 0 ? errno : 0;  // keeps the number, which sync() may use
  ::close(fresh);
  if (error != 0) throw_file_error("write", path_, error);
  say_(was_replaced ? fmt::format("NOTE: {} was replaced while the run wrote to it: it is put back with all its lines, "
                                  "and what replaced it is {}",
                                  path_.string(), other.string())
                    : fmt::format("NOTE: {} was removed while the run wrote to it: it is put back with all its lines",
                                  path_.string()));
}

void MetricsFile::flush() {
  if (pending_.size() == 0) return;
  look_after();
  write_all(descriptor_, pending_.data(), pending_.size(), path_);
  size_ += static_cast<int64_t>(pending_.size());
  pending_.clear();
  flushed_ = Clock::now();
}

void MetricsFile::sync() const {
  if (::fsync(descriptor_) != 0) throw_file_error("write", path_, errno);
}

}  // namespace kb
