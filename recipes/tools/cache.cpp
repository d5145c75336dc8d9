// summary: the cache of compiled kernels: --list, --verify, --clear
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "recipes/config/command_line.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/run/tool.h"
#include "runtime/cache_listing.h"
#include "runtime/options.h"
#include "runtime/trusted_folder.h"

namespace kb {
namespace {

std::string age_text(double seconds) {
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

std::string kernels_text(int64_t count) { return fmt::format("{} kernel{}", count, count == 1 ? "" : "s"); }

void print_entries(const std::vector<CacheEntry>& entries) {
  for (const CacheEntry& entry : entries)
    fmt::print("{}  {:>9} in {:>3} kernel{}  {:>8}  {}{}\n", entry.path.stem().string().substr(0, 16),
               bytes_text(entry.bytes), entry.file_kernels, entry.file_kernels == 1 ? " " : "s", age_text(entry.age_s),
               entry.compiler, entry.damage.empty() ? "" : "  NOT USED: " + entry.damage);
}

int list(const std::filesystem::path& folder) {
  const std::vector<CacheEntry> entries = list_cache(folder);
  print_entries(entries);
  fmt::print("{}, {} in {}\n", kernels_text(std::ssize(entries)), bytes_text(cache_bytes(folder)), folder.string());
  return 0;
}

int verify(const std::filesystem::path& folder) {
  const std::vector<CacheEntry> damaged = verify_cache(folder);
  print_entries(damaged);
  fmt::print("{} of {} in {} cannot be used{}\n", damaged.size(), kernels_text(std::ssize(list_cache(folder))),
             folder.string(), damaged.empty() ? "" : "; each is built again at its next use");
  const std::string refusal = TrustedFolder(folder).refusal();
  if (!refusal.empty()) fmt::print("nothing in {} is used or kept: {}\n", folder.string(), refusal);
  return damaged.empty() && refusal.empty() ? 0 : 1;
}

int clear(const std::filesystem::path& folder) {
  fmt::print("removed {} from {}\n", kernels_text(clear_cache(folder)), folder.string());
  return 0;
}

struct Command {
  const char* flag;
  const char* doc;
  int (*run)(const std::filesystem::path& folder);
};
constexpr Command kCommands[] = {
    {"--list", "every kernel: key, size and kernels of its file, age, compiler", list},
    {"--verify", "those that are damaged, or that another user could have written; exit code 1 where there are any",
     verify},
    {"--clear", "remove all of them, and what is kept of data sets", clear},
};

}  // namespace

int cache_command(const ToolArguments& arguments) {
  const std::filesystem::path folder = RuntimeOptions::from_environment().cache_dir;
  CommandLine line(fmt::format("The cache of compiled kernels, {}; $KB_CACHE names another folder.", folder.string()),
                   "./run cache --list, --verify or --clear");
  bool given[std::size(kCommands)] = {};
  for (size_t i = 0; i < std::size(kCommands); ++i) line.flag(kCommands[i].flag, given[i], kCommands[i].doc);
  if (!line.parse(arguments.words)) return 0;
  if (std::count(std::begin(given), std::end(given), true) != 1)
    throw UsageError("expected one of --list, --verify, --clear, alone");
  return kCommands[std::find(std::begin(given), std::end(given), true) - given].run(folder);
}

}  // namespace kb
