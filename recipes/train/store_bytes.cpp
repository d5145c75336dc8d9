#include "recipes/train/store_bytes.h"

#include <cstring>

namespace kb {

size_t bytes_of(const StateStore& store, TensorPick pick) {
  size_t bytes = 0;
  for (const TensorView& view : store.views())
    if (pick(view, store)) bytes += static_cast<size_t>(view.type.bytes());
  return bytes;
}

void write_bytes(const StateStore& store, TensorPick pick, std::byte* to) {
  for (const TensorView& view : store.views()) {
    if (!pick(view, store)) continue;
    std::memcpy(to, view.data, static_cast<size_t>(view.type.bytes()));
    to += view.type.bytes();
  }
}

void read_bytes(StateStore& store, TensorPick pick, const std::byte* from) {
  std::vector<NamedTensor> tensors;
  for (const TensorView& view : store.views()) {
    if (!pick(view, store)) continue;
    tensors.push_back({view.name, view.type, {from, from + view.type.bytes()}});
    from += view.type.bytes();
  }
  store.load(tensors);
}

}  // namespace kb
