// The steps of a program as a table, for people: each in words, with its phase, bytes, operations and the user's line.
#pragma once
#include <string>

#include "compiler/schedule.h"

namespace kb {

// Columns of a table that goes to a file.
constexpr int kTableColumns = 120;

// Returns a table for every program that has steps. Its lines fit into `columns` from 73 on, long file names apart; a
// narrow table leaves out the class, then the line.
std::string schedule_lines(const Program& program, int columns = kTableColumns);

// The tensors that are live where most bytes are.
std::string peak_lines(const Program& program, int columns = kTableColumns);

// "resnet.cpp:21": the user's line of the first computing node of a step that has one.
std::string step_place(const Schedule& schedule, const Step& step);

}  // namespace kb
