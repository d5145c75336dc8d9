#include "recipes/compare/seed_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace kb {
namespace {

constexpr std::string_view kSeeds[] = {"seed", "seed-weights", "seed-order"};
// Flags on which no bit of a result depends.
constexpr std::string_view kOfNoBit[] = {"threads", "processes", "loader-threads", "resident"};

bool is_seed(std::string_view flag) { return std::ranges::find(kSeeds, flag) != std::end(kSeeds); }

// Returns "3 seeds", or "3 runs" if two of them have the same seeds.
std::string size_text(const std::vector<ReportedRun>& runs, const std::vector<size_t>& numbers) {
  std::set<std::vector<std::pair<std::string, std::string>>> seeds;
  for (const size_t number : numbers) {
    std::vector<std::pair<std::string, std::string>> own = runs[number].flags;
    std::erase_if(own, [](const auto& flag) { return !is_seed(flag.first); });
    seeds.insert(std::move(own));
  }
  return fmt::format("{} {}", numbers.size(), seeds.size() == numbers.size() ? "seeds" : "runs");
}

// Returns the whole words that all names begin with: "kn512" for "kn512-seed-1" and "kn512-seed-2"; "" if there are
// none.
std::string common_name(const std::vector<ReportedRun>& runs, const std::vector<size_t>& numbers) {
  constexpr std::string_view kSeparators = "-_./ ", kWord = "seed";
  std::string name = runs[numbers.front()].name;
  for (const size_t number : numbers)
    name.resize(static_cast<size_t>(std::ranges::mismatch(name, runs[number].name).in1 - name.begin()));
  name.resize(name.find_last_of(kSeparators) + 1);
  name.resize(name.find_last_not_of(kSeparators) + 1);
  if (!name.ends_with(kWord)) return name;
  name.resize(name.size() - kWord.size());
  name.resize(name.find_last_not_of(kSeparators) + 1);
  return name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> compared_flags(
    std::vector<std::pair<std::string, std::string>> flags) {
  std::erase_if(flags, [](const auto& flag) {
    return is_seed(flag.first) || std::ranges::find(kOfNoBit, flag.first) != std::end(kOfNoBit);
  });
  return flags;
}

std::vector<SeedLine> seed_lines(const std::vector<ReportedRun>& runs) {
  std::vector<SeedLine> lines;
  std::map<std::vector<std::pair<std::string, std::string>>, size_t> known;
  for (size_t i = 0; i < runs.size(); ++i) {
    size_t line = lines.size();
    if (!runs[i].run.diverged) line = known.try_emplace(compared_flags(runs[i].flags), line).first->second;
    if (line == lines.size()) lines.push_back({runs[i].name, {}});
    lines[line].runs.push_back(i);
  }
  std::set<std::string> taken;
  for (SeedLine& line : lines) {
    if (line.runs.size() == 1) continue;
    const std::string common = common_name(runs, line.runs);
    // A second line with the same common name is called by its first run.
    if (!common.empty() && taken.insert(common).second) line.name = common;
    line.name += ", " + size_text(runs, line.runs);
  }
  return lines;
}

std::vector<size_t> line_numbers(const std::vector<SeedLine>& lines) {
  size_t count = 0;
  for (const SeedLine& line : lines) count += line.runs.size();
  std::vector<size_t> numbers(count);
  for (size_t i = 0; i < lines.size(); ++i)
    for (const size_t run : lines[i].runs) numbers[run] = i;
  return numbers;
}

}  // namespace kb
