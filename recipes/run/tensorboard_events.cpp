#include "recipes/run/tensorboard_events.h"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/crc.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <ctime>

#include "graph/parsed_number.h"
#include "recipes/run/tensorboard.pb.h"
#include "runtime/file_error.h"
#include "runtime/host_name.h"
#include "runtime/utf8.h"

namespace kb {
namespace {

constexpr uint32_t kMask = 0xa282ead8;

template <class Number>
void append_little_endian(std::string& bytes, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<uint32_t>(crc.checksum()), 15) + kMask;
}

std::string event_record(std::string_view message) {
  std::string record;
  record.reserve(message.size() + 16);
  append_little_endian(record, static_cast<uint64_t>(message.size()));
  append_little_endian(record, masked_crc32c(record));
  record += message;
  append_little_endian(record, masked_crc32c(message));
  return record;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEventFile = "events.out.tfevents.";
constexpr const char* kFileVersion = "brain.Event:2";  // the first in which the start of a session takes points back
constexpr std::chrono::seconds kEventsKept{1};

// Returns the current second, or the one after the newest file's: readers take the files of a folder by their names.
int64_t second_of_new_file(const fs::path& folder) {
  int64_t second = std::time(nullptr);
  std::error_code unreadable;  // not looked at: in such a folder the constructor cannot make its file and says why
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) {
    if (!is_event_file(entry.path())) continue;
    const std::string digits = entry.path().filename().string().substr(kEventFile.size());
    int64_t there = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), there);
    second = std::max(second, there + 1);
  }
  return second;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

tensorboard::Event event_at(int64_t step) {
  tensorboard::Event event;
  event.set_wall_time(seconds_since_1970());
  event.set_step(step);
  return event;
}

// Copies a histogram. The last bucket ends where the range does, so that a reader needs no bucket beyond it.
void set_histogram(const Histogram& from, tensorboard::HistogramProto& to) {
  to.set_min(from.least);
  to.set_max(from.greatest);
  to.set_num(static_cast<double>(from.count));
  to.set_sum(from.sum);
  to.set_sum_squares(from.sum_of_squares);
  const auto parts = static_cast<double>(from.counts.size());
  for (size_t i = 0; i < from.counts.size(); ++i) {
    const bool is_last = i + 1 == from.counts.size();
    const double share = static_cast<double>(i + 1) / parts;
    to.add_bucket_limit(is_last ? from.greatest : from.least + share * (from.greatest - from.least));
    to.add_bucket(static_cast<double>(from.counts[i]));
  }
}

// The points of one step.
class Points {
 public:
  explicit Points(int64_t step) : event_(event_at(step)) {}

  void add(const std::string& tag, double value) { point(tag).set_simple_value(static_cast<float>(value)); }
  void add(const std::string& tag, const Histogram& histogram) {
    set_histogram(histogram, *point(tag).mutable_histo());
  }
  void add(const std::string& group, const Evaluation& evaluation) {
    add(group + "/loss", evaluation.loss);
    for (const Figure& figure : evaluation.figures) add(group + "/" + figure.name, figure.value);
  }
  std::string message() const { return event_.SerializeAsString(); }

 private:
  tensorboard::Summary::Value& point(const std::string& tag) {
    tensorboard::Summary::Value& value = *event_.mutable_summary()->add_value();
    value.set_tag(tag);
    return value;
  }
  tensorboard::Event event_;
};

// Returns a number or a truth value as such, anything else as text.
tensorboard::HyperparameterValue value_of(const std::string& text) {
  tensorboard::HyperparameterValue value;
  const std::optional<double> number = parsed_number<double>(text);
  if (number && std::isfinite(*number))
    value.set_number_value(*number);
  else if (text == "true" || text == "false")
    value.set_bool_value(text == "true");
  else
    value.set_string_value(characters_of(text));
  return value;
}

// Returns an event that describes a session to HParams, in the metadata of a value that has no points.
std::string session_message(const char* tag, const tensorboard::HParamsPluginData& data) {
  tensorboard::Event event = event_at(0);
  tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  tensorboard::SummaryMetadata::PluginData& plugin = *value.mutable_metadata()->mutable_plugin_data();
  plugin.set_plugin_name("hparams");
  plugin.set_content(data.SerializeAsString());
  return event.SerializeAsString();
}

double euclidean_norm(const std::vector<double>& norms) {
  double squares = 0;
  for (const double norm : norms) squares += norm * norm;
  return std::sqrt(squares);
}

}  // namespace

bool is_event_file(const fs::path& file) { return file.filename().string().starts_with(kEventFile); }

TensorboardEvents::TensorboardEvents(const fs::path& folder, int64_t begins_at, std::vector<std::string> layers,
                                     const Hyperparameters& flags)
    : path_(folder / fmt::format("{}{}.{}.kilobatch", kEventFile, second_of_new_file(folder), host_name())),
      layers_(std::move(layers)),
      file_(std::fopen(path_.c_str(), "wxe")) {
  if (!file_) throw_file_error("write", path_, errno);
  tensorboard::Event version = event_at(0);
  version.set_file_version(kFileVersion);
  write(version.SerializeAsString());
  tensorboard::Event start = event_at(begins_at + 1);
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  write(start.SerializeAsString());
  if (!flags.empty()) begin_session(flags);
  flush();
}

void TensorboardEvents::begin_session(const Hyperparameters& flags) {
  tensorboard::HParamsPluginData data;
  tensorboard::SessionStartInfo& session = *data.mutable_session_start_info();
  for (const auto& [name, value] : flags) (*session.mutable_hparams())[name] = value_of(value);
  session.set_start_time_secs(seconds_since_1970());
  write(session_message("_hparams_/session_start_info", data));
}

void TensorboardEvents::end(bool is_diverged) {
  using tensorboard::SessionEndInfo;
  tensorboard::HParamsPluginData data;
  SessionEndInfo& session = *data.mutable_session_end_info();
  session.set_status(is_diverged ? SessionEndInfo::STATUS_FAILURE : SessionEndInfo::STATUS_SUCCESS);
  session.set_end_time_secs(seconds_since_1970());
  write(session_message("_hparams_/session_end_info", data));
  flush();
}

void TensorboardEvents::step(const StepMetrics& m) {
  last_ = m.step + 1;
  Points scalars(last_);
  scalars.add("train/loss", m.loss);
  scalars.add("train/learning_rate", m.lr);
  scalars.add("train/samples_per_s", m.samples_per_s);
  scalars.add("train/data_wait_ms", m.data_wait_ms);
  if (m.loss_scale) scalars.add("train/loss_scale", *m.loss_scale);
  if (m.scaled) scalars.add("train/gain", m.scaled->gain);
  for (size_t i = 0; i < m.metrics.size(); ++i)
    scalars.add("train/" + m.metrics[i].name, figure_of(m.metrics[i], m.means[i]).value);
  write(scalars.message());
  if (Clock::now() - flushed_ > kEventsKept) flush();
}

void TensorboardEvents::layers(const LayerNorms& norms) {
  Points scalars(norms.step + 1);
  scalars.add("train/gradient_norm", euclidean_norm(norms.gradient));
  for (size_t i = 0; i < layers_.size(); ++i) {
    scalars.add("weight_norm/" + layers_[i], norms.weight.at(i));
    scalars.add("gradient_norm/" + layers_[i], norms.gradient.at(i));
    const bool is_adapted = !norms.trust.empty() && !std::isnan(norms.trust.at(i));
    if (is_adapted) scalars.add("trust/" + layers_[i], norms.trust[i]);
  }
  write(scalars.message());
}

void TensorboardEvents::histograms(const LayerHistograms& histograms) {
  Points points(histograms.step + 1);
  for (size_t i = 0; i < layers_.size(); ++i) {
    points.add("weight/" + layers_[i], histograms.weight.at(i));
    points.add("gradient/" + layers_[i], histograms.gradient.at(i));
  }
  write(points.message());
}

void TensorboardEvents::evaluation(const EvaluationReport& m) {
  last_ = std::max(last_, m.step);
  Points scalars(m.step);
  const std::string part(m.part);
  scalars.add(part, m.evaluation);
  if (m.averaged) scalars.add(part + "_averaged", *m.averaged);
  write(scalars.message());
  flush();
}

// Adds figures on the test part. The points of the best state get the last step of the run, because their own step lies
// before points that are written already.
void TensorboardEvents::test(const TestReport& m) {
  if (!m.is_best)
    return evaluation({.step = m.step, .epoch = m.epoch, .evaluation = m.evaluation, .averaged = m.averaged});
  Points scalars(std::max(last_, m.step));
  scalars.add(fmt::format("{}_best", kTestPart), m.evaluation);
  write(scalars.message());
  flush();
}

void TensorboardEvents::write(const std::string& message) {
  const std::string record = event_record(message);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size())
    throw_file_error("write", path_, errno);
}

void TensorboardEvents::flush() {
  if (std::fflush(file_.get()) != 0) throw_file_error("write", path_, errno);
  flushed_ = Clock::now();
}

void TensorboardEvents::sync() const {
  if (::fsync(::fileno(file_.get())) != 0) throw_file_error("write", path_, errno);
}

}  // namespace kb
