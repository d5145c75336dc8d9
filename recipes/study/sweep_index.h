// index.sqlite of a sweep: what its run folders say as one table, for whoever asks. Nothing depends on it: any process
// makes it anew from the folders, whole, and puts it in the place of the one before.
#pragma once
#include "recipes/study/sweep_store.h"

namespace kb {

inline constexpr const char* kIndexFile = "index.sqlite";

// Writes the index of the plan as the view has it. Throws Error where it cannot be written.
void write_index(const SweepView& view);

}  // namespace kb
