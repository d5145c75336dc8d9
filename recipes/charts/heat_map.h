// A heat map: rows over steps, a colour a value.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

struct HeatColumn {
  int64_t step = 0;
  std::vector<double> values;  // a row each; blank where it is not positive or not finite
};

// A self-contained SVG with a scale of colours, logarithmic. Rows that are blank throughout are left out; of more
// columns than `most_cells` allows some are drawn, evenly chosen, the first and the last among them: at least two.
// Empty where nothing is left.
std::string heat_map(const std::vector<std::string>& rows, const std::vector<HeatColumn>& columns, size_t most_cells);

}  // namespace kb
