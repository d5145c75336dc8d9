#include "runtime/kernel_units.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

// This enters every key; it changes when translation units are put together in another way.
constexpr std::string_view kCacheVersion = "1";

}  // namespace

Sha256 batch_hash(const KernelBatch& batch, const std::vector<std::string>& compiler) {
  Sha256 hash;
  hash.update_field(kCacheVersion);
  hash.update_field(batch.options_salt);
  for (const std::string& field : compiler) hash.update_field(field);
  hash.update_field(batch.prelude);
  return hash;
}

std::string kernel_key(Sha256 hash, const KernelSource& kernel) {
  hash.update_field(kernel.name);
  hash.update_field(kernel.text);
  return hash.hex();
}

WantedKernels distinct_kernels(const KernelBatch& batch, const Sha256& hash, std::vector<std::string>& keys) {
  WantedKernels wanted;
  for (const KernelSource& kernel : batch.kernels) {
    keys.push_back(kernel_key(hash, kernel));
    wanted.emplace(keys.back(), &kernel);
  }
  return wanted;
}

// Puts the longest text first, each into the shortest unit: compile time is proportional to the length of the text.
std::vector<KernelUnit> split_kernels(const WantedKernels& wanted, size_t count) {
  std::vector<std::pair<std::string, const KernelSource*>> kernels(wanted.begin(), wanted.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.second->text.size() > b.second->text.size(); });
  std::vector<KernelUnit> units(std::min(count, kernels.size()));
  for (const auto& kernel : kernels) {
    KernelUnit& unit = *std::min_element(units.begin(), units.end(), [](const KernelUnit& a, const KernelUnit& b) {
      return a.characters < b.characters;
    });
    unit.kernels.push_back(kernel);
    unit.characters += kernel.second->text.size();
  }
  return units;
}

std::string unit_text(const KernelBatch& batch, const KernelUnit& unit) {
  std::string text = "#line 1 \"prelude\"\n" + batch.prelude;
  for (const auto& [key, kernel] : unit.kernels)
    text += fmt::format("\n#line 1 \"{}\"\n{}", kernel->name, kernel->text);
  return text + "\n";
}

namespace {

// Returns the kernel named in the first line of `diagnostics` that holds `word` and a place in a kernel: "k_1:2:3" from
// g++, "k_1(2)" from NVRTC.
std::string first_named(const KernelUnit& unit, const std::string& diagnostics, std::string_view word) {
  for (size_t at = 0; at < diagnostics.size();) {
    const size_t end = std::min(diagnostics.find('\n', at), diagnostics.size());
    const std::string_view line(diagnostics.data() + at, end - at);
    at = end + 1;
    if (line.find(word) == line.npos) continue;
    const auto named = [&](const std::string& name) {
      return line.find(name + ":") != line.npos || line.find(name + "(") != line.npos;
    };
    if (named("prelude")) return "prelude";
    for (const auto& [key, kernel] : unit.kernels)
      if (named(kernel->name)) return kernel->name;
  }
  return "";
}

}  // namespace

std::string blamed_kernel(const KernelUnit& unit, const std::string& diagnostics) {
  const std::string by_error = first_named(unit, diagnostics, "error");
  return by_error.empty() ? first_named(unit, diagnostics, "") : by_error;
}

std::vector<std::string> sorted_keys(const KernelUnit& unit) {
  std::vector<std::string> keys;
  for (const auto& [key, kernel] : unit.kernels) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

const EntryReader::Entry* EntryReader::find(const std::string& key) {
  const TrustedFile file = folder_.open(key + suffix_);
  const Entry* entry = nullptr;
  std::string damage = file.refusal();
  if (damage.empty() && file.exists()) {
    const auto [position, is_new] = files_.try_emplace(file.identity());
    if (is_new) position->second = check(file);
    entry = &position->second;
    const std::vector<std::string>& keys = entry->checked.entry.keys;
    damage = entry->checked.damage;
    if (damage.empty() && !std::binary_search(keys.begin(), keys.end(), key)) damage = "holds other kernels";
  }
  if (damage.empty()) return entry;
  refuse(key, damage);
  return nullptr;
}

void EntryReader::refuse(const std::string& key, const std::string& damage) {
  const std::string name = key + suffix_;
  ::unlink((cache_dir_ / name).c_str());
  if (refused_++ == 0) example_ = fmt::format("{}: {}", name, damage);
}

std::string EntryReader::warning() const {
  if (refused_ == 0) return "";
  return fmt::format("kernel cache {}: {} not used and built again ({})", cache_dir_.string(),
                     refused_ == 1 ? "1 entry is" : fmt::format("{} entries are", refused_), example_);
}

EntryReader::Entry EntryReader::check(const TrustedFile& file) const {
  try {
    Entry entry{.checked = {}, .image = file.read()};
    entry.checked = check_entry(entry.image);
    if (entry.checked.damage.empty() && entry.checked.entry.processor != processor_)
      entry.checked.damage = "made for another processor: " + entry.checked.entry.processor;
    entry.image.resize(entry.checked.image_bytes);
    return entry;
  } catch (const Error& error) {
    return {.checked = {.entry = {}, .damage = error.what()}, .image = {}};
  }
}

void publish(const std::filesystem::path& object, const std::filesystem::path& entry) {
  if (::link(object.c_str(), entry.c_str()) == 0 || errno == EEXIST) return;
  write_file_atomically(entry, read_file(object), kEntryMode);
}

}  // namespace kb
