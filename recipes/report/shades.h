// Colours of a heat map: a shade for every value on a logarithmic scale.
#pragma once
#include <limits>
#include <string>

namespace kb {

// Returns a colour such as "#440154", from dark violet (share 0) over green to yellow (1). Equal steps of the share
// look equal, also in grey and to the colour-blind.
std::string shade_at(double share);

// A logarithmic scale over all positive finite numbers taken.
struct DecadeScale {
  double low = std::numeric_limits<double>::infinity(), high = -low;  // ends of the scale, as log10

  static bool has(double value);  // true if the value is positive and finite
  void take(double value);
  bool is_empty() const { return !(high >= low); }
  double share(double value) const;  // returns 0 for the least value taken, 1 for the greatest
  double value(double share) const;  // inverse of share()
};

}  // namespace kb
