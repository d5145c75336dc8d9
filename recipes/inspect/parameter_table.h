// The parameters of a model as a table, for people.
#pragma once
#include <string>

#include "compiler/passes/parameter_space.h"
#include "recipes/inspect/schedule_table.h"

namespace kb {

// Returns a line for every parameter - name, shape, role, number of elements, the factor of its learning rate if one of
// them is not 1, initial distribution - and one of totals.
// A table that is wider than `columns` leaves out the rule of the initial values, then the role, then the values.
std::string parameter_lines(const ParameterSpace& space, int columns = kTableColumns);

}  // namespace kb
