// A state put into the store of a training: all its tensors, and none besides.
#pragma once
#include <string>
#include <vector>

#include "runtime/state_store.h"

namespace kb {

// Throws Error, which begins with `title` and ends with `hint`, where the tensors are not those of the store: a line
// for each that is missing, not expected or of another type. The store has not changed then.
void load_state(StateStore& store, const std::vector<NamedTensor>& tensors, const std::string& title,
                const std::string& hint = "");

}  // namespace kb
