#include "recipes/train/exchange_copies.h"

#include <cstring>

namespace kb {
namespace {

std::string bytes_of(const StateStore& store) {
  std::string bytes;
  for (const TensorView& view : store.views())
    bytes.append(reinterpret_cast<const char*>(view.data), static_cast<size_t>(view.type.bytes()));
  return bytes;
}

void set_bytes(StateStore& store, std::string_view bytes) {
  std::vector<NamedTensor> tensors = store.canonical();
  for (NamedTensor& tensor : tensors) {
    std::memcpy(tensor.data.data(), bytes.data(), tensor.data.size());
    bytes.remove_prefix(tensor.data.size());
  }
  store.load(tensors);
}

}  // namespace

void exchange_copies(const LoopParts& parts) {
  const int64_t self = parts.world.rank();
  const ParameterCopies copies = parts.plan.copies(self);
  if (copies.own == copies.all || !parts.uses_copies) return;
  const bool speaks = self % copies.processes == 0;  // the first of the processes that share a copy
  for (int64_t own = 0; own < copies.own; ++own) {
    const std::vector<std::string> all =
        parts.world.communicator().all_gather(speaks ? bytes_of(*parts.copies.stores[static_cast<size_t>(own)]) : "");
    for (int64_t rank = 0; rank < std::ssize(all); rank += copies.processes) {
      const int64_t first = parts.plan.copies(rank).first;
      if (first != copies.first)
        set_bytes(*parts.copies.all[static_cast<size_t>(first + own)], all[static_cast<size_t>(rank)]);
    }
  }
}

}  // namespace kb
