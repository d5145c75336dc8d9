// Evaluation over a whole part of a data set: every sample once.
#pragma once
#include <optional>

#include "recipes/train/evaluation.h"
#include "recipes/train/feed.h"
#include "recipes/train/world.h"

namespace kb {

// The processes of a run share its batches, and add up what each gave in the order of the batches: the same bits for
// any number of them.
class Evaluator {
 public:
  // `session` runs an inference program of a task with these fields and metrics; it, the source and the world must
  // outlive this. `part`: what messages call the source's samples, "test".
  Evaluator(Session& session, const std::vector<Field>& fields, std::vector<NamedMetric> metrics, const Source& source,
            const char* part, World& world);

  // Throws InternalError where the counted samples are not those of the source. With `may_stop` nothing where the run
  // is asked to stop meanwhile (World::begin).
  std::optional<Evaluation> run(bool may_stop);

 private:
  using Sums = std::vector<double>;  // loss, metrics and count of a batch
  size_t width() const { return metrics_.size() + 2; }
  void report(int age);
  double read(const std::string& output, int age);
  Sums total();

  Session& session_;
  World& world_;
  Order order_;
  std::vector<HostBatch> slots_;  // in turn: the device may still read some
  FieldFill fill_;
  const SampleNames names_;
  const int64_t count_;  // of the samples
  std::vector<double> value_;
  std::vector<double> own_;  // sums of this process's batches, one batch behind the other
  const std::vector<NamedMetric> metrics_;
};

}  // namespace kb
