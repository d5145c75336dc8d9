// The bytes of a store's tensors, one after another in the order of their names, as processes send them to each other.
#pragma once
#include <cstddef>

#include "runtime/state_store.h"

namespace kb {

// Says which tensors of a store are meant.
using TensorPick = bool (*)(const TensorView& view, const StateStore& store);

size_t bytes_of(const StateStore& store, TensorPick pick);
// Copies the tensors to memory of bytes_of() bytes, and sets them from there.
void write_bytes(const StateStore& store, TensorPick pick, std::byte* to);
void read_bytes(StateStore& store, TensorPick pick, const std::byte* from);

}  // namespace kb
