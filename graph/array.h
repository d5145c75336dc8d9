// The interpreter's tensor: a type and the value of each element.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace kb {

struct Array {
  Type type;
  std::vector<double> data;  // row-major; a double holds every value of every dtype exactly
};

}  // namespace kb
