// Evaluation over a whole part of a data set: every sample once.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recipes/train/evaluation.h"
#include "recipes/train/feed.h"
#include "recipes/train/world.h"

namespace kb {

// Images that a model drew (recipes/task/metric.h: Drawing).
struct DrawnImages {
  std::string name;
  Dims shape;                  // C, H, W
  std::vector<double> values;  // image after image
};

// The processes of a run share the batches. What each batch gave is put together in the order of the batches: sums and
// rows have the same bits for any number of processes.
class Evaluator {
 public:
  // `session` runs an inference program of a task with these fields and metrics; it, the source and the world must
  // outlive this. `part`: what messages call the source's samples, "test".
  Evaluator(Session& session, const std::vector<Field>& fields, const std::vector<GatheredMetric>& metrics,
            const Source& source, const char* part, World& world);

  // Throws InternalError where the counted samples are not those of the source. With `may_stop` nothing where the run
  // is asked to stop meanwhile (World::begin).
  std::optional<Evaluation> run(bool may_stop);
  // Returns what the last run drew.
  const std::vector<DrawnImages>& drawn() const { return drawn_; }

 private:
  int64_t width(const Gathered& output, int64_t batch) const;
  void report(int64_t batch, int age);
  bool has_rows() const;
  std::vector<MetricValues> total();
  Evaluation finish(std::span<const MetricValues> values);

  Session& session_;
  World& world_;
  Order order_;
  std::vector<HostBatch> slots_;  // in turn: the device may still read some
  FieldFill fill_;
  const SampleNames names_;
  const int64_t count_;  // number of samples
  const int64_t rows_;   // samples of a batch
  std::vector<GatheredMetric> metrics_;
  std::vector<Gathered> outputs_;  // the loss, those of the metrics, the count
  std::vector<double> value_;      // an output that was read
  std::vector<double> own_;        // values that this process's batches gave, batch after batch
  std::vector<DrawnImages> drawn_;
};

}  // namespace kb
