#include "recipes/train/gather_copies.h"

#include <cstring>
#include <utility>

#include "graph/dtype.h"

namespace kb {
namespace {

// Returns the tensors of a copy, or its slots alone.
std::vector<TensorView> views_of(const StateStore& store, bool slots_alone) {
  std::vector<TensorView> views = store.views();
  if (slots_alone) std::erase_if(views, [](const TensorView& view) { return !view.slot; });
  return views;
}

std::string bytes_of(std::span<const TensorView> views) {
  std::string bytes;
  for (const TensorView& view : views)
    bytes.append(reinterpret_cast<const char*>(view.data), static_cast<size_t>(view.type.bytes()));
  return bytes;
}

// Collective call. Calls `see` with the number and the bytes of each copy, in the order of the numbers.
template <class See>
void for_each_copy(const LoopParts& parts, bool slots_alone, See&& see) {
  const int64_t rank = parts.world.rank();
  const ParameterCopies copies = parts.plan.copies(rank);
  for (int64_t copy = 0; copy < copies.all; ++copy) {
    const int64_t speaker = copies.rank_of(copy);
    std::string bytes;
    if (copies.has(copy) && (copies.own == copies.all || speaker == rank))
      bytes = bytes_of(views_of(*parts.copies.stores[static_cast<size_t>(copy - copies.first)], slots_alone));
    if (copies.own != copies.all)
      bytes = std::move(parts.world.communicator().all_gather(bytes)[static_cast<size_t>(speaker)]);
    see(copy, bytes);
  }
}

void set_bytes(StateStore& store, std::string_view bytes) {
  std::vector<NamedTensor> tensors = store.canonical();
  for (NamedTensor& tensor : tensors) {
    std::memcpy(tensor.data.data(), bytes.data(), tensor.data.size());
    bytes.remove_prefix(tensor.data.size());
  }
  store.load(tensors);
}

// The mean of tensors over copies.
class TensorMean {
 public:
  explicit TensorMean(std::span<const TensorView> like) {
    for (const TensorView& view : like) {
      tensors_.push_back({view.name, view.type, std::vector<std::byte>(static_cast<size_t>(view.type.bytes()))});
      sums_.emplace_back(static_cast<size_t>(view.type.elements()));
    }
  }

  void add(std::string_view bytes) {
    const auto* from = reinterpret_cast<const std::byte*>(bytes.data());
    for (size_t at = 0; at < tensors_.size(); ++at) {
      for (size_t i = 0; i < sums_[at].size(); ++i)
        sums_[at][i] += load_element(tensors_[at].type.dtype, from, static_cast<int64_t>(i));
      from += tensors_[at].type.bytes();
    }
    ++count_;
  }

  const std::vector<NamedTensor>& value() {
    for (size_t at = 0; at < tensors_.size(); ++at)
      for (size_t i = 0; i < sums_[at].size(); ++i)
        store_element(tensors_[at].type.dtype, tensors_[at].data.data(), static_cast<int64_t>(i),
                      sums_[at][i] / static_cast<double>(count_));
    return tensors_;
  }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<double>> sums_;  // of the elements of each tensor
  int64_t count_ = 0;
};

}  // namespace

void gather_copies(const LoopParts& parts) {
  const ParameterCopies copies = parts.plan.copies(parts.world.rank());
  if (copies.own == copies.all || !parts.uses_copies) return;
  for_each_copy(parts, false, [&](int64_t copy, std::string_view bytes) {
    if (parts.world.leads() && !copies.has(copy))
      set_bytes(*parts.copies.gathered.at(static_cast<size_t>(copy)), bytes);
  });
}

void average_slots(const LoopParts& parts) {
  TensorMean mean(views_of(*parts.copies.stores.front(), true));
  for_each_copy(parts, true, [&](int64_t, std::string_view bytes) { mean.add(bytes); });
  for (StateStore* store : parts.copies.stores) store->load(mean.value());
}

}  // namespace kb
