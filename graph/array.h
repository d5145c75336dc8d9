// A tensor with its values, as the interpreter computes them.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace kb {

struct Array {
  Type type;
  std::vector<double> data;  // row-major; every dtype's values are exact in double
};

}  // namespace kb
