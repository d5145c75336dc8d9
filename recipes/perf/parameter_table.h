// The parameters of a model as a table, for people.
#pragma once
#include <string>

#include "compiler/parameter_space.h"

namespace kb {

// A line for every parameter - name, shape, role, number of elements, initial distribution - and one of totals.
std::string parameter_lines(const ParameterSpace& space);

}  // namespace kb
