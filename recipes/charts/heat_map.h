// Draws a heat map: rows over steps, with a colour for each value.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

struct HeatColumn {
  int64_t step = 0;
  std::vector<double> values;  // one for each row; blank if it is not positive or not finite
};

// Returns a self-contained SVG with a logarithmic scale of colours. Rows that are blank throughout are left out. Of
// more columns than `most_cells` allows some are drawn (at least two), evenly chosen, including the first and the last.
// Returns "" if nothing is left.
std::string heat_map(const std::vector<std::string>& rows, const std::vector<HeatColumn>& columns, size_t most_cells);

}  // namespace kb
