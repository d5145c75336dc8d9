// The optimizers side by side: ten steps of each with the same gradients on one weight and one bias, by the graph
// interpreter in double; as a table and as a picture. optim/README.md shows both.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

inline constexpr int64_t kPathSteps = 10;

// Distances |w_t - w_0| after t = 0 to kPathSteps steps.
struct OptimizerPath {
  std::string name;          // as the command line would have it: "lars --skip-lr 0.1"
  double learning_rate = 0;  // reached after half of the steps
  std::vector<double> weight, bias;
};

// Every optimizer of optim/optimizer.cpp, in its order, then those with a number that changes what they do.
std::vector<OptimizerPath> optimizer_paths();

// In Markdown: a row an optimizer, distances after 1, 2, 5 and 10 steps.
std::string paths_table(const std::vector<OptimizerPath>& paths);
// An SVG: a chart of the weight and one of the bias, a line an optimizer; optimizers that coincide share one.
std::string paths_picture(const std::vector<OptimizerPath>& paths);

// `text` with what stands between its lines kPathsBegin and kPathsEnd replaced. Throws Error where either is missing.
inline constexpr const char* kPathsBegin = "<!-- begin of what ./run optimizers writes -->\n";
inline constexpr const char* kPathsEnd = "<!-- end of what ./run optimizers writes -->\n";
std::string with_paths_table(const std::string& text, const std::string& table);

}  // namespace kb
