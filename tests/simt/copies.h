// The asynchronous copies of one thread (cp.async) that are under way, in groups that the thread ends. A copy lands at
// the wait that covers its group, which is as late as a GPU may make it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/simt/unit.h"

namespace kb::simt {

struct Copy {
  std::byte* to = nullptr;
  uint32_t group = 0;
  std::array<std::byte, kCopyBytes> bytes{};
};

class Copies {
 public:
  // Copies kCopyBytes bytes from `from`; zeros if it is null.
  void begin(void* to, const void* from) {
    Copy& copy = copies_.emplace_back(Copy{static_cast<std::byte*>(to), group_});
    if (from) std::copy_n(static_cast<const std::byte*>(from), kCopyBytes, copy.bytes.begin());
  }
  void end_group() { ++group_; }
  // Gives every copy of the ended groups but the last `groups` to `land`, in their order, and forgets it.
  template <class Land>
  void wait(uint32_t groups, const Land& land) {
    const auto stays = [&](const Copy& copy) { return copy.group + groups >= group_; };
    const auto end = std::find_if(copies_.begin(), copies_.end(), stays);
    std::for_each(copies_.begin(), end, land);
    copies_.erase(copies_.begin(), end);
  }
  bool empty() const { return copies_.empty(); }

 private:
  std::vector<Copy> copies_;
  uint32_t group_ = 0;  // number of the group that has not ended
};

}  // namespace kb::simt
