#include "recipes/train/gather_copies.h"

#include <string>
#include <utility>

#include "graph/dtype.h"
#include "recipes/train/store_bytes.h"

namespace kb {
namespace {

bool is_any(const TensorView&, const StateStore&) { return true; }
bool is_slot(const TensorView& view, const StateStore&) { return view.slot; }

std::string bytes_text_of(const StateStore& store, TensorPick pick) {
  std::string bytes(bytes_of(store, pick), '\0');
  write_bytes(store, pick, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

// Collective call. Calls `see` with the number of each copy and the bytes of its tensors, in the order of the numbers.
template <class See>
void for_each_copy(const LoopParts& parts, TensorPick pick, See&& see) {
  const int64_t rank = parts.world.rank();
  const ParameterCopies copies = parts.plan.copies(rank);
  for (int64_t copy = 0; copy < copies.all; ++copy) {
    const int64_t speaker = copies.rank_of(copy);
    std::string bytes;
    if (copies.has(copy) && (copies.own == copies.all || speaker == rank))
      bytes = bytes_text_of(*parts.copies.stores[static_cast<size_t>(copy - copies.first)], pick);
    if (copies.own != copies.all)
      bytes = std::move(parts.world.communicator().all_gather(bytes)[static_cast<size_t>(speaker)]);
    see(copy, bytes);
  }
}

// The mean of tensors over copies.
class TensorMean {
 public:
  TensorMean(const StateStore& like, TensorPick pick) {
    for (const TensorView& view : like.views()) {
      if (!pick(view, like)) continue;
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
  for_each_copy(parts, is_any, [&](int64_t copy, const std::string& bytes) {
    if (parts.world.leads() && !copies.has(copy))
      read_bytes(*parts.copies.gathered.at(static_cast<size_t>(copy)), is_any,
                 reinterpret_cast<const std::byte*>(bytes.data()));
  });
}

void average_slots(const LoopParts& parts) {
  TensorMean mean(*parts.copies.stores.front(), is_slot);
  for_each_copy(parts, is_slot, [&](int64_t, std::string_view bytes) { mean.add(bytes); });
  for (StateStore* store : parts.copies.stores) store->load(mean.value());
}

}  // namespace kb
