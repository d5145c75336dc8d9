// A map of cells over two logarithmic axes, coloured by a number: rows may differ from column to column.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace kb {

struct MapCell {
  double y = 0;
  std::optional<double> value;  // at least 1, which is the darkest; nothing: `mark` stands alone in `fill`
  std::string mark;             // text in the cell, where it fits
  std::string fill;
  bool is_outlined = false;
  std::string tip;
};

struct MapColumn {
  double x = 0;
  std::vector<MapCell> cells = {};  // ascend by y
};

// A kind of cell without a value.
struct MapKey {
  std::string mark, fill, words;
};

struct MapWords {
  std::string title, x, y, value;  // `value`: what the numbers of the scale of colours are
  std::vector<MapKey> keys = {};
};

// A cell reaches half-way, on the logarithmic axis, to the next one of its column and its row. `columns` ascend by x
// and have a cell each. Returns a self-contained SVG.
std::string cell_map(const MapWords& words, const std::vector<MapColumn>& columns);

}  // namespace kb
