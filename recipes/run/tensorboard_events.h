// TensorBoard's event files in a run folder. They hold the scalars of metrics.jsonl, in a new file for each process
// that trains in the folder, as TensorBoard has it: events.out.tfevents.SECONDS.HOST.kilobatch.
//
// A run that goes on from a checkpoint has points in the earlier files that lie past it. The new file takes them back
// by TensorBoard's rule: an event at its start says that a session starts at the step after the checkpoint, upon which
// a reader drops all earlier points of that step and of later ones.
//
//   train/loss, train/NAME (--train-metrics), train/learning_rate, train/samples_per_s, train/data_wait_ms,
//   train/loss_scale (f16), train/gain (AdaScale); PART/loss, PART/NAME of every evaluation, PART being test or valid;
//   PART_averaged/.. of averaged parameters (--ema); PART_best/.. of the best state, at the end of a run that held out
//   samples; with --log-layers train/gradient_norm over all layers, weight_norm/LAYER, gradient_norm/LAYER and
//   trust/LAYER, and the histograms weight/LAYER and gradient/LAYER
//
// The step of a point is the number of steps done: the loss of step 0 is a point at 1.
//
// The run is a session of TensorBoard's HParams: its flags are the hyperparameters, its metrics are the last points.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/train/metrics.h"

namespace kb {

// Makes records of an event file, TensorFlow's TFRecord: length of the message (8 bytes, little endian), masked CRC-32C
// of the length (4 bytes), the message, masked CRC-32C of the message (4 bytes). Source:
// tensorflow/core/lib/io/record_writer.h, tensorflow/core/lib/hash/crc32c.h.

// Returns the CRC-32C (Castagnoli) of the bytes, rotated right by 15 bits, plus 0xa282ead8.
uint32_t masked_crc32c(std::string_view bytes);

std::string event_record(std::string_view message);

// Names and values of flags, as a command line has them.
using Hyperparameters = std::vector<std::pair<std::string, std::string>>;

// Returns whether a file has the name of an event file.
bool is_event_file(const std::filesystem::path& file);

class TensorboardEvents {
 public:
  // Makes a file whose name sorts after those of all event files in `folder`. `begins_at`: number of steps done before
  // this process's first one. `layers`: names, in the order of LayerNorms. All functions throw Error if they cannot
  // write.
  TensorboardEvents(const std::filesystem::path& folder, int64_t begins_at, std::vector<std::string> layers,
                    const Hyperparameters& flags = {});

  // This and the next two functions add points and keep them in memory. step() writes them if the last write is more
  // than a second ago.
  void step(const StepMetrics& metrics);
  void layers(const LayerNorms& norms);
  void histograms(const LayerHistograms& histograms);
  // Adds points and writes them at once, as do the next two functions.
  void evaluation(const EvaluationReport& report);
  void test(const TestReport& report);
  // Ends the session: the run is over, and no process goes on with it.
  void end(bool is_diverged);
  void flush();
  // Forces what was flushed onto the disk itself. It may be called by another thread than the other functions.
  void sync() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write(const std::string& message);
  void begin_session(const Hyperparameters& flags);

  const std::filesystem::path path_;
  const std::vector<std::string> layers_;
  std::unique_ptr<std::FILE, Close> file_;
  Clock::time_point flushed_ = Clock::now();
  int64_t last_ = 0;  // step of the last point
};

}  // namespace kb
