// The cost of the target on a cluster: steps by the fit times the seconds of a step by a forecast of `scale`.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "optim/critical_batch.h"
#include "recipes/inspect/scale_json.h"

namespace kb {

struct TargetCost {
  ScaleRow at;
  double steps = 0, samples = 0;  // to the target, by the fit
  double seconds = 0;             // steps x seconds of a step
  bool is_measured = true;        // its minibatch lies between the least and the greatest that were measured
};

struct ClusterCost {
  std::string title, nodes;      // of the forecast
  std::vector<TargetCost> rows;  // ascending by workers
  size_t fastest = 0;            // the row of the fewest seconds
  size_t paying = 0;             // the last row up to which each saves kPayingSaving of the time before it
};

// Doubled workers pay as long as they save this share of the time.
inline constexpr double kPayingSaving = 0.25;

// `measured`: the least and the greatest minibatch of the law's fit.
ClusterCost target_cost(const ScalingLaw& law, const ScaleForecast& forecast, std::pair<double, double> measured);

// A table of 80 columns, and a sentence behind it.
std::string cost_table(const ClusterCost& cost);
std::string cost_sentence(const ClusterCost& cost);

}  // namespace kb
