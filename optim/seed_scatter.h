// The scatter of seeds at each minibatch of a study.
//
// A few seeds say little about sigma, the standard deviation of their log steps, and those of all minibatches together
// say more. sigma is a power of the minibatch, log sigma^2 = level + slope x (log B - middle), since seeds scatter more
// where there are fewer steps or where trainings are near divergence. A study of few seeds hardly tells the slope, so
// it is held back: a priori sigma grows or falls over the study's minibatches by a factor of 3, one standard deviation.
// No power holds everywhere: a minibatch's own seeds count for its sigma too, and the law is worth at most four degrees
// of freedom beside them (moderated variances; Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3(1), 3), since a priori sigma
// differs from the law by a factor of 1.5, one standard deviation. Where they scatter more than the law says, it is
// worth less, by the square of the ratio of the variances, so that a lone minibatch that scatters is not made to look
// like the others (as in Phipson et al. 2016, Annals of Applied Statistics 10(2), 946, for hypervariable genes).
#pragma once
#include <cmath>
#include <cstdint>
#include <span>

namespace kb {

// Runs of one minibatch: the sum of squares of their log steps about their mean, and its degrees of freedom.
struct ScatterSample {
  double minibatch = 0;
  int64_t degrees = 0;
  double squares = 0;
};

// sigma at one minibatch. Degrees of freedom are those of a variance that is known as well (Satterthwaite 1946).
struct SeedScatter {
  double deviation = 0, degrees = 0;
};

struct ScatterLaw {
  double middle = 0;                              // log minibatch at which level and slope err independently
  double level = 0, slope = 0;                    // log sigma^2 is level + slope (log B - middle)
  double level_variance = 0, slope_variance = 0;  // variances of both estimates

  // Returns sigma at the middle.
  double deviation() const { return std::exp(level / 2); }
  // Returns the law's sigma at a minibatch, which may lie outside the study. There is at least one degree of freedom.
  SeedScatter at(double minibatch) const;
  // Returns sigma at a minibatch of the study by the law and by its own runs.
  SeedScatter with(const ScatterSample& own) const;
};

// Returns the law of the greatest likelihood, restricted to the scatter about the means, times the prior of the slope.
// `samples` ascends by minibatch, and its degrees sum to 1 or more. If all squares are 0, sigma is 1e-9.
ScatterLaw fit_scatter(std::span<const ScatterSample> samples);

}  // namespace kb
