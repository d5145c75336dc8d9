// Starts threads that share work, and waits for them.
#pragma once

#include <cstddef>
#include <future>
#include <vector>

namespace kb {

/// Calls work(0), ... work(parts - 1), each in a thread of its own but the first, and waits for all. Throws what one of
/// them throws. std::async gets no policy: if no thread can be made, get() does the work.
template <class Work>
void in_threads(size_t parts, const Work& work) {
  std::vector<std::future<void>> others;
  for (size_t part = 1; part < parts; ++part) others.push_back(std::async([&work, part] { work(part); }));
  if (parts > 0) work(0);
  for (std::future<void>& other : others) other.get();
}

}  // namespace kb
