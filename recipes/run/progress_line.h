// The line that shows how far a run has come.
#pragma once
#include <string>

#include "recipes/train/progress.h"

namespace kb {

constexpr int kUnlimited = 0;

// Returns a line of at most `columns` characters: a bar, the share done, the time left, epoch of how many, loss, best
// figure, speed, and then as much of step, learning rate and data wait as fits. With kUnlimited it has all but the bar.
std::string progress_line(const Progress& progress, int columns);

// Returns "45 s", "12:05" (minutes and seconds), "3 h 25 min" or "2 d 3 h".
std::string time_left_text(double seconds);

}  // namespace kb
