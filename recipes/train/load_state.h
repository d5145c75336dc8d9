// Loads a state into the store of a training, if it has exactly the store's tensors.
#pragma once
#include <string>
#include <vector>

#include "runtime/state_store.h"

namespace kb {

// Throws Error if names or types of the tensors differ from the store's, and has then changed nothing. The message
// begins with `title`, has a line for each difference, and ends with `hint`.
void load_state(StateStore& store, const std::vector<NamedTensor>& tensors, const std::string& title,
                const std::string& hint = "");

}  // namespace kb
