#include "runtime/kernel_units.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

// Goes into every key; changes with the way a translation unit is put together here.
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

// Longest text first, each to the unit that has least: compile time goes with the length of the text.
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

// Of the lines that hold `word`, the first that begins with a name's place: "k_1:2:3" of g++, "k_1(2)" of NVRTC.
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

const CheckedEntry* EntryReader::find(const std::filesystem::path& path, const std::string& key, std::string& damage) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  const auto [position, is_new] = files_.try_emplace({status.st_dev, status.st_ino});
  CheckedEntry& file = position->second;
  if (is_new) file = check(path);
  damage = file.damage;
  if (!damage.empty()) return nullptr;
  if (std::binary_search(file.entry.keys.begin(), file.entry.keys.end(), key)) return &file;
  damage = "holds other kernels";
  return nullptr;
}

CheckedEntry EntryReader::check(const std::filesystem::path& path) const {
  try {
    CheckedEntry checked = check_entry(read_file(path));
    if (checked.damage.empty() && checked.entry.processor != processor_)
      checked.damage = "made for another processor: " + checked.entry.processor;
    return checked;
  } catch (const Error& error) {
    return {.entry = {}, .damage = error.what()};
  }
}

void publish(const std::filesystem::path& object, const std::filesystem::path& entry) {
  if (::link(object.c_str(), entry.c_str()) == 0 || errno == EEXIST) return;
  if (errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK) return write_file_atomically(entry, read_file(object));
  throw_file_error("write", entry, errno);
}

}  // namespace kb
