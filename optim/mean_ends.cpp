#include "optim/mean_ends.h"

#include <cmath>

#include "graph/error.h"

namespace kb {

MeanEnds log_ends(double mean, double half) {
  ensure(mean > 0, "log_ends: expected a mean above 0");
  return {mean * std::exp(-half / mean), mean * std::exp(half / mean)};
}

MeanEnds logit_ends(double mean, double half) {
  ensure(mean > 0 && mean < 1, "logit_ends: expected a share between 0 and 1");
  const double odds = mean / (1 - mean), reach = half / (mean * (1 - mean));
  const auto share = [](double inverse_odds) { return 1 / (1 + inverse_odds); };
  return {share(std::exp(reach) / odds), share(std::exp(-reach) / odds)};
}

}  // namespace kb
