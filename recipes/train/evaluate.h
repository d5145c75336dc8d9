// Evaluation over a whole part of a data set: every sample once.
#pragma once
#include <optional>

#include "recipes/train/feed.h"
#include "recipes/train/world.h"

namespace kb {

struct Evaluation {
  double loss = 0;   // mean
  double error = 0;  // fraction
  int64_t count = 0;
};

// The processes of a run share its batches, and add up what each gave in the order of the batches: the same bits for
// any number of them.
class Evaluator {
 public:
  // `session` runs an inference program of a task with these fields; it, the source and the world must outlive this.
  Evaluator(Session& session, const std::vector<Field>& fields, const Source& source, World& world);

  // Throws InternalError where the counted samples are not those of the source. With `may_stop` nothing where the run
  // is asked to stop meanwhile (World::begin).
  std::optional<Evaluation> run(bool may_stop);

 private:
  struct Sums {
    double loss = 0, error = 0, count = 0;  // of one batch
  };
  void tell(int age);
  double read(const char* output, int age);
  Sums total();

  Session& session_;
  World& world_;
  Order order_;
  std::vector<HostBatch> slots_;  // in turn: the device may still read some
  FieldFill fill_;
  const int64_t count_;  // of the samples
  std::vector<double> value_;
  std::vector<Sums> own_;  // of this process's batches
};

}  // namespace kb
