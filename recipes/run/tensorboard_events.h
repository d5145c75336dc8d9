// TensorBoard's event files in a run folder: the scalars of metrics.jsonl, a new file for each process that trains in
// the folder, as TensorBoard has it: events.out.tfevents.SECONDS.HOST.kilobatch.
//
// A run that goes on from a checkpoint has points in the earlier files that lie past it. The new file takes them back
// by TensorBoard's rule: its first event says that a session starts at the step behind the checkpoint, upon which a
// reader drops all earlier points of that step and of later ones.
//
//   train/loss, train/NAME (--train-metrics), train/learning_rate, train/samples_per_s, train/data_wait_ms,
//   train/loss_scale (f16); PART/loss, PART/NAME of every evaluation, PART being test or valid; PART_averaged/.. of
//   averaged parameters (--ema); with --log-layers train/gradient_norm over all layers, and weight_norm/LAYER,
//   gradient_norm/LAYER, trust/LAYER
//
// The step of a point is the number of steps done: that of the loss which step 0 had is 1.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "recipes/train/metrics.h"

namespace kb {

// Whether a file has the name of an event file.
bool is_event_file(const std::filesystem::path& file);

class TensorboardEvents {
 public:
  // Makes a file whose name comes behind those of all event files in `folder`. `begins_at`: steps done before this
  // process's first. `layers`: names, in the order of LayerNorms. Throws Error where it cannot, as all others do.
  TensorboardEvents(const std::filesystem::path& folder, int64_t begins_at, std::vector<std::string> layers);

  // Kept back for up to a second.
  void step(const StepMetrics& metrics);
  void layers(const LayerNorms& norms);
  // Written at once, as the next.
  void evaluation(const EvalMetrics& metrics);
  void test(const TestMetrics& metrics);  // of the final state alone
  void flush();
  // Forces what was flushed onto the disk itself. May be called by another thread than the rest.
  void sync() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write(const std::string& message);

  const std::filesystem::path path_;
  const std::vector<std::string> layers_;
  std::unique_ptr<std::FILE, Close> file_;
  Clock::time_point flushed_ = Clock::now();
};

}  // namespace kb
