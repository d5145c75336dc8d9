// How many trials train best side by side: a small net does not keep all processors busy by itself.
#pragma once
#include <string>
#include <vector>

#include "recipes/study/trial.h"

namespace kb {

struct Packing {
  int jobs = 1;     // trials side by side that were tried, a thread each
  double gain = 1;  // steps a second of all of them over those of one that has all processors

  // Whether they are worth it: the first trial of a sweep is its smallest step, and others keep more processors busy.
  bool pays() const;
  std::string text() const;  // "2 side by side train 1.8 x what one after another would"
};

// Trains the trial for some seconds, alone on `processors` threads and then `processors` of it with one thread each, in
// folders that are removed again. `program`: starts a trial; `shards`: of a trial. Throws Error where the trial does
// not train.
Packing measure_packing(const std::vector<std::string>& program, const Trial& trial, int processors, int shards);

}  // namespace kb
