// Evaluation over a whole part of a data set: every sample once.
#pragma once
#include "recipes/feed.h"

namespace kb {

struct Evaluation {
  double loss = 0;   // mean
  double error = 0;  // fraction
  int64_t count = 0;
};

class Evaluator {
 public:
  // `session` runs an inference program (recipes/model.h); it and the split must outlive this.
  Evaluator(Session& session, const Split& split);

  // Throws InternalError where the counted samples are not those of the split.
  Evaluation run();

 private:
  struct Sums {
    double loss = 0, error = 0, count = 0;
  };
  void add(Sums& sums, int age);
  double read(const char* output, int age);

  Session& session_;
  const Split& split_;
  Order order_;
  HostBatch batch_;
  BatchFill fill_;
  std::vector<double> value_;
};

}  // namespace kb
