#include "recipes/train/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "graph/error.h"
#include "runtime/input_file.h"

namespace kb {

std::string Processors::text() const {
  std::string text = fmt::format("{} {} |", machine, fmt::join(numbers, " "));
  for (const CpuQuota& quota : quotas) text += fmt::format(" {}:{}", quota.group, quota.processors);
  return text;
}

Processors Processors::parse(const std::string& text) {
  std::istringstream words(text.substr(0, text.find('|')));
  Processors result;
  words >> result.machine;
  for (int number = 0; words >> number;) result.numbers.push_back(number);
  std::istringstream quotas(text.substr(std::min(text.find('|'), text.size() - 1) + 1));
  char colon = 0;
  for (CpuQuota quota; quotas >> quota.group >> colon >> quota.processors;) result.quotas.push_back(quota);
  return result;
}

Processors own_processors() {
  // The boot id names the machine: it belongs to the running kernel, which containers share with their host.
  Processors result{.machine = "", .numbers = affinity(), .quotas = cpu_quotas()};
  std::istringstream(read_file("/proc/sys/kernel/random/boot_id")) >> result.machine;
  return result;
}

int share_of_processors(const std::vector<Processors>& ranks, size_t rank) {
  const Processors& own = ranks.at(rank);
  const auto users = [&](const auto& has) {
    return static_cast<double>(std::count_if(ranks.begin(), ranks.end(), [&](const Processors& other) {
      return other.machine == own.machine && has(other);
    }));
  };
  double share = 0;
  for (const int number : own.numbers)
    share += 1.0 / users([&](const Processors& other) {
               return std::find(other.numbers.begin(), other.numbers.end(), number) != other.numbers.end();
             });
  for (const CpuQuota& quota : own.quotas)
    share = std::min(share, processors_of(quota) / users([&](const Processors& other) {
                              return std::any_of(other.quotas.begin(), other.quotas.end(),
                                                 [&](const CpuQuota& its) { return its.group == quota.group; });
                            }));
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
