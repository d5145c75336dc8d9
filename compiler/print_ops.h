// How point-wise operations are written in C++ and in CUDA C++.
#pragma once
#include <string>

#include "graph/ops.h"

namespace kb {

// "+" and so on; empty where the op is no infix operator.
std::string infix(Op op);
// The function of both preludes that an op is a call of; empty where there is none.
std::string helper_name(Op op);

}  // namespace kb
