// The steps of a program as a table, for people: each in words, with its phase, bytes, operations and the user's line.
#pragma once
#include <string>

#include "compiler/schedule.h"

namespace kb {

// Characters per line of a table that goes to a file.
constexpr int kTableColumns = 120;

// Returns a table for every program that has steps. Its lines fit into `columns` of at least 73 unless file names are
// long; a narrow table leaves out the class, then the line.
std::string schedule_lines(const Program& program, int columns = kTableColumns);

// Returns the largest tensors that are live at the step where most bytes are live.
std::string peak_lines(const Program& program, int columns = kTableColumns);

// Returns "resnet.cpp:21": the user's line of the first computing node of a step that has one, else of any node.
std::string step_place(const Schedule& schedule, const Step& step);

}  // namespace kb
