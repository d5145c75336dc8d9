// Compares the optimizers: ten steps of each with the same gradients on one weight and one bias, computed by the graph
// interpreter in double, as a table and as a picture. optim/README.md shows both.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

inline constexpr int64_t kPathSteps = 10;

// The path of an optimizer: distances |w_t - w_0| after t = 0 to kPathSteps steps.
struct OptimizerPath {
  std::string name;          // name with flags, "lars --skip-lr 0.1"
  double learning_rate = 0;  // greatest rate, reached after half of the steps
  std::vector<double> weight, bias;
};

// Returns the paths of all optimizers of optim/optimizer.cpp, in their order, then of some with a number that changes
// what they do.
std::vector<OptimizerPath> optimizer_paths();

// Returns a table in Markdown: a row for each optimizer, with its distances after 1, 2, 5 and 10 steps.
std::string paths_table(const std::vector<OptimizerPath>& paths);
// Returns an SVG: a chart of the weight and one of the bias, with a line for each optimizer; optimizers that coincide
// share one.
std::string paths_picture(const std::vector<OptimizerPath>& paths);

// Returns `text` with the part between its lines kPathsBegin and kPathsEnd replaced. Throws Error if either is missing.
inline constexpr const char* kPathsBegin = "<!-- begin of what ./run optimizers writes -->\n";
inline constexpr const char* kPathsEnd = "<!-- end of what ./run optimizers writes -->\n";
std::string with_paths_table(const std::string& text, const std::string& table);

}  // namespace kb
