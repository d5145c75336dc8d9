// Draws a map of cells over two logarithmic axes, coloured by a number. Rows may differ from column to column.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace kb {

struct MapCell {
  double y = 0;
  std::optional<double> value;  // at least 1, which is the darkest; nothing: a cell with `mark` on `fill`
  std::string mark;             // text in the cell, if it fits
  std::string fill;
  bool is_outlined = false;
  std::string tip;
};

struct MapColumn {
  double x = 0;
  std::vector<MapCell> cells = {};  // in ascending order of y
};

// An entry of the legend: a kind of cell without a value.
struct MapKey {
  std::string mark, fill, words;
};

struct MapWords {
  std::string title, x, y, value;  // value: meaning of the numbers of the colour scale
  std::vector<MapKey> keys = {};
};

// Returns a self-contained SVG. A cell reaches half-way, on the logarithmic axis, to the next one of its column and its
// row. `columns` are in ascending order of x, and each has at least one cell.
std::string cell_map(const MapWords& words, const std::vector<MapColumn>& columns);

}  // namespace kb
