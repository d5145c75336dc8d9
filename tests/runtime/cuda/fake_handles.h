// Handles of the fake GPU's streams, events and the like: their numbers, as addresses.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kb::test {

template <class Handle>
size_t number(Handle handle) {
  return static_cast<size_t>(reinterpret_cast<uintptr_t>(handle) >> 4);
}
// A handle is the address of nothing, so that code which dereferences one crashes.
template <class Handle>
Handle handle(size_t number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number) << 4);
}

}  // namespace kb::test
