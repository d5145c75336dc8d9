// Images that a model drew, as one PNG file of the run folder.
#pragma once
#include <string>

#include "recipes/train/evaluation.h"

namespace kb {

// Returns the name of the file: "NAME-00000120.png" after 120 steps.
std::string drawing_name(const DrawnImages& drawn, int64_t step);

// Returns the PNG file: the images in rows, about as many rows as columns, one white pixel apart. A value of 0 is
// black, 1 is white or the full colour; values outside of [0, 1] are taken as the nearest of these.
std::string drawing_file(const DrawnImages& drawn);

}  // namespace kb
