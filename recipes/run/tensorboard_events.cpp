#include "recipes/run/tensorboard_events.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <ctime>

#include "recipes/run/event_record.h"
#include "recipes/run/tensorboard.pb.h"
#include "runtime/file_error.h"
#include "runtime/host_name.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEventFile = "events.out.tfevents.";
constexpr const char* kFileVersion = "brain.Event:2";  // from which on a start of a session takes points back
constexpr std::chrono::seconds kEventsKept{1};

// Readers take the files of a folder in the order of their names: now, or the second behind the last one's.
int64_t second_of_new_file(const fs::path& folder) {
  int64_t second = std::time(nullptr);
  std::error_code unreadable;  // making the file says why
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) {
    if (!is_event_file(entry.path())) continue;
    const std::string digits = entry.path().filename().string().substr(kEventFile.size());
    int64_t there = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), there);
    second = std::max(second, there + 1);
  }
  return second;
}

tensorboard::Event event_at(int64_t step) {
  tensorboard::Event event;
  event.set_wall_time(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  event.set_step(step);
  return event;
}

// Scalars of one step.
class Scalars {
 public:
  explicit Scalars(int64_t step) : event_(event_at(step)) {}

  void add(const std::string& tag, double value) {
    tensorboard::Summary::Value& scalar = *event_.mutable_summary()->add_value();
    scalar.set_tag(tag);
    scalar.set_simple_value(static_cast<float>(value));
  }
  void add(const std::string& group, const Evaluation& evaluation) {
    add(group + "/loss", evaluation.loss);
    for (const Figure& figure : evaluation.figures) add(group + "/" + figure.name, figure.value);
  }
  std::string message() const { return event_.SerializeAsString(); }

 private:
  tensorboard::Event event_;
};

double euclidean_norm(const std::vector<double>& norms) {
  double squares = 0;
  for (const double norm : norms) squares += norm * norm;
  return std::sqrt(squares);
}

}  // namespace

bool is_event_file(const fs::path& file) { return file.filename().string().starts_with(kEventFile); }

TensorboardEvents::TensorboardEvents(const fs::path& folder, int64_t begins_at, std::vector<std::string> layers)
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
  flush();
}

void TensorboardEvents::step(const StepMetrics& m) {
  Scalars scalars(m.step + 1);
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
  Scalars scalars(norms.step + 1);
  scalars.add("train/gradient_norm", euclidean_norm(norms.gradient));
  for (size_t i = 0; i < layers_.size(); ++i) {
    scalars.add("weight_norm/" + layers_[i], norms.weight.at(i));
    scalars.add("gradient_norm/" + layers_[i], norms.gradient.at(i));
    const bool is_adapted = !norms.trust.empty() && !std::isnan(norms.trust.at(i));
    if (is_adapted) scalars.add("trust/" + layers_[i], norms.trust[i]);
  }
  write(scalars.message());
}

void TensorboardEvents::evaluation(const EvalMetrics& m) {
  Scalars scalars(m.step);
  const std::string part(m.part);
  scalars.add(part, m.evaluation);
  if (m.averaged) scalars.add(part + "_averaged", *m.averaged);
  write(scalars.message());
  flush();
}

void TensorboardEvents::test(const TestMetrics& m) {
  if (!m.is_best) evaluation({m.step, m.epoch, m.evaluation, m.averaged});
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
