// Colours of a heat map: a shade a value, over decades.
#pragma once
#include <limits>
#include <string>

namespace kb {

// From dark blue (0) over green to yellow (1): equal steps look equal, in grey and to the colour-blind too. "#440154".
std::string shade_at(double share);

// Decades that hold all positive numbers taken.
struct DecadeScale {
  double low = std::numeric_limits<double>::infinity(), high = -low;  // log10

  static bool has(double value);  // positive and finite
  void take(double value);
  bool is_empty() const { return !(high >= low); }
  double share(double value) const;  // 0 at the least value, 1 at the greatest
  double value(double share) const;
};

}  // namespace kb
