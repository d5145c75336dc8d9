// Evaluates a model on a whole part of a data set, in which every sample counts once.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "recipes/train/evaluation.h"
#include "recipes/train/feed.h"
#include "recipes/train/world.h"

namespace kb {

// The processes of a run share the batches, and results are combined in the order of the batches. Sums and rows
// therefore have the same bits for any number of processes.
class Evaluator {
 public:
  // `sessions` run the inference program of each bucket of a task with these fields and metrics, and `order` draws
  // every sample of the source once; sessions, source and world must outlive this object. `part` is the source's name
  // in messages, such as "test".
  Evaluator(std::vector<Session*> sessions, const std::vector<Field>& fields, const ComputedMetrics& metrics,
            const Source& source, Order order, const char* part, World& world);

  // Collective call. Returns nothing if `may_stop` is set and the run is asked to stop meanwhile (World::begin). Throws
  // InternalError if the programs counted another number of samples than the source has.
  std::optional<Evaluation> run(bool may_stop);
  // Returns the images that the model drew in the last run.
  const std::vector<DrawnImages>& drawn() const { return drawn_; }

 private:
  int64_t width(const Gathered& output, int64_t batch) const;
  Session& session_of(int64_t batch) const { return *sessions_[order_.bucket(batch)]; }
  void report(int64_t batch, int age);
  int64_t kept_rows(const Gathered& output) const;
  void keep_rows(MetricValues& total, int64_t batch, std::span<const double> rows) const;
  bool has_rows() const;
  std::vector<MetricValues> total();
  Evaluation finish(std::span<const MetricValues> values);

  const std::vector<Session*> sessions_;
  World& world_;
  Order order_;
  std::vector<HostBatch> slots_;  // used in turn, since the device may still read the last ones
  FieldFill fill_;
  const SampleNames names_;
  const int64_t count_;                  // number of samples
  std::vector<GatheredMetric> metrics_;  // begins with the loss
  std::vector<Gathered> outputs_;        // the metrics' outputs, the count
  std::vector<double> value_;            // values of the output that is being read
  std::vector<double> own_;              // all outputs of this process's batches, one batch after another
  std::vector<DrawnImages> drawn_;
};

}  // namespace kb
