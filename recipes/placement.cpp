#include "recipes/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <sstream>

#include "graph/error.h"
#include "runtime/cpu/pool.h"
#include "runtime/input_file.h"

namespace kb {

std::string Processors::text() const { return fmt::format("{} {}", machine, fmt::join(numbers, " ")); }

Processors Processors::parse(const std::string& text) {
  std::istringstream words(text);
  Processors result;
  words >> result.machine;
  for (int number = 0; words >> number;) result.numbers.push_back(number);
  return result;
}

Processors own_processors() {
  // One of the running kernel, which containers share with their host.
  Processors result;
  std::istringstream(read_file("/proc/sys/kernel/random/boot_id")) >> result.machine;
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  for (int number = 0; number < (known ? CPU_SETSIZE : usable_processors()); ++number)
    if (!known || CPU_ISSET(number, &set)) result.numbers.push_back(number);
  return result;
}

int share_of_processors(const std::vector<Processors>& ranks, size_t rank) {
  const Processors& own = ranks.at(rank);
  double share = 0;
  for (const int number : own.numbers) {
    const auto users = std::count_if(ranks.begin(), ranks.end(), [&](const Processors& other) {
      return other.machine == own.machine &&
             std::find(other.numbers.begin(), other.numbers.end(), number) != other.numbers.end();
    });
    share += 1.0 / static_cast<double>(users);
  }
  return std::max(1, static_cast<int>(share + 1e-6));
}

int share_of_processors(Communicator& communicator) {
  if (communicator.size() == 1) return usable_processors();
  std::vector<Processors> ranks;
  for (const std::string& text : communicator.all_gather(own_processors().text()))
    ranks.push_back(Processors::parse(text));
  return share_of_processors(ranks, static_cast<size_t>(communicator.rank()));
}

}  // namespace kb
