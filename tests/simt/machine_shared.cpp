// The shared memory of Machine's blocks: its arrays, asynchronous copies to it, and products of warpgroups that read
// it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/simt/machine.h"

namespace kb::simt {

// Makes an array in shared memory known. Every thread declares it; the first one counts.
void Machine::shared(void* at, uint32_t element, uint32_t number, const char* name) {
  const int64_t bytes = int64_t{element} * number;
  if (!declare_shared(at, bytes)) return;
  shared_bytes_ += bytes;
  fault_ = too_much_shared();
  if (!fault_.empty()) stop_at_fault();
  if (watches_) shadow_.add(Area(name, at, bytes, element, false, true));
}

// The dynamic array begins at a multiple of its alignment behind the others.
std::string Machine::too_much_shared() const {
  if (shared_bytes_ > Launch::kStaticShared)
    return fmt::format("{} bytes of static shared memory, a block has {}", shared_bytes_, Launch::kStaticShared);
  const int64_t before = (shared_bytes_ + dynamic_alignment_ - 1) / dynamic_alignment_ * dynamic_alignment_;
  if (before + launch_.dynamic_shared <= Launch::kShared) return "";
  return fmt::format("{} bytes of shared memory before the dynamic array and {} in it, a block has {}", before,
                     launch_.dynamic_shared, Launch::kShared);
}

// Arrays of several sizes of elements lie in an array of bytes, so each byte is watched on its own.
void* Machine::dynamic_shared(uint32_t element, uint32_t alignment, const char* name) {
  if (alignment > DynamicShared::kMost) fault_ = fmt::format("{} is aligned to {} bytes", name, alignment);
  dynamic_alignment_ = alignment;
  if (fault_.empty()) fault_ = too_much_shared();
  if (!fault_.empty()) stop_at_fault();
  void* const at = dynamic_shared_.data(alignment);
  if (declare_shared(at, launch_.dynamic_shared) && watches_)
    shadow_.add(Area(name, at, launch_.dynamic_shared, element, false, true));
  return at;
}

bool Machine::declare_shared(void* at, int64_t bytes) {
  constexpr uint32_t kRepeat = 1024;
  if (std::ranges::find(shared_, at, &SharedArray::at) != shared_.end()) return false;
  uint32_t end = 0;
  for (const SharedArray& other : shared_) end = std::max(end, other.window + static_cast<uint32_t>(other.bytes));
  const auto askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at) % kRepeat);
  shared_.push_back({static_cast<std::byte*>(at), bytes, (end / kRepeat + 1) * kRepeat + askew});
  return true;
}

// ---- products of warpgroups ----

// Returns an address in the window; 0, which no array has, for another pointer.
uint32_t Machine::shared_address(const void* pointer) {
  const auto* at = static_cast<const std::byte*>(pointer);
  for (const SharedArray& array : shared_)
    if (at >= array.at && at < array.at + array.bytes) return array.window + static_cast<uint32_t>(at - array.at);
  return 0;
}

std::byte* Machine::in_window(uint32_t address) const {
  for (const SharedArray& array : shared_)
    if (address >= array.window && address < array.window + array.bytes) return array.at + (address - array.window);
  return nullptr;
}

std::string Machine::begin_read(uint32_t address) {
  const std::byte* at = in_window(address);
  if (!at)
    return fmt::format("a product of thread {} of block {} reads past the arrays in shared memory", thread_, block_);
  return watches_ ? judge(at, 2 * DescribedMatrix::kGroup, Use::product) : "";
}

std::array<uint16_t, DescribedMatrix::kGroup> Machine::read(uint32_t address) const {
  std::array<uint16_t, DescribedMatrix::kGroup> group{};
  std::memcpy(group.data(), in_window(address), sizeof group);
  return group;
}

void Machine::end_read(uint32_t address) {
  if (watches_)
    shadow_.end_product(reinterpret_cast<uintptr_t>(in_window(address)), 2 * DescribedMatrix::kGroup, now());
}

void Machine::multiply(float* sums, const WarpgroupProduct& product) {
  fault_ = warpgroups_.multiply(thread_, sums, product, *this);
  if (!fault_.empty()) stop_at_fault();
}

void Machine::show_tensor_cores() {
  ++clock_;
  if (watches_) shadow_.show_products(now());
}

// Begins an asynchronous copy. The source is read now, and its bytes lie in the destination after the wait.
void Machine::copy(void* to, const void* from, bool there) {
  if (watches_) fault_ = judge_copy(to, from, there);
  if (!fault_.empty()) stop_at_fault();
  copies_[thread_].begin(to, there ? from : nullptr);
}

std::string Machine::judge_copy(const void* to, const void* from, bool there) {
  const auto source = reinterpret_cast<uintptr_t>(from), destination = reinterpret_cast<uintptr_t>(to);
  const std::string whose = fmt::format("a copy of thread {} of block {}", thread_, block_);
  if (const Area* area = shadow_.find(source); there && area && area->shared())
    return fmt::format("{} is read by {}, but is in shared memory", area->place(source), whose);
  if (const Area* area = shadow_.find(destination); area && !area->shared())
    return fmt::format("{} is written by {}, but is not in shared memory", area->place(destination), whose);
  if (!there && source % kCopyBytes != 0)
    return fmt::format("the source of {} lies {} bytes past a multiple of {}", whose, source % kCopyBytes, kCopyBytes);
  const std::string wrong = there ? judge(from, kCopyBytes, Use::read) : "";
  return wrong.empty() ? judge(to, kCopyBytes, Use::copy) : wrong;
}

void Machine::wait_copies(uint32_t groups) {
  copies_[thread_].wait(groups, [&](const Copy& copy) {
    std::copy(copy.bytes.begin(), copy.bytes.end(), copy.to);
    if (watches_) shadow_.land(reinterpret_cast<uintptr_t>(copy.to), kCopyBytes, now());
  });
}

}  // namespace kb::simt
