#include "runtime/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "runtime/input_file.h"
#include "runtime/sha256.h"

namespace kb {
namespace {

// Returns the value of a line "key : value" for the first processor; /proc/cpuinfo repeats the lines for each.
std::string cpuinfo_field(const std::string& cpuinfo, const std::string& name) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (key == name) return line.substr(std::min(colon + 2, line.size()));
  }
  return "";
}

// Returns the names of the features, sorted.
std::vector<std::string> features(const std::string& cpuinfo) {
  std::istringstream stream(cpuinfo_field(cpuinfo, "flags") + " " + cpuinfo_field(cpuinfo, "Features"));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  return words;
}

struct InstructionSet {
  const char* name;
  std::vector<std::string> needs;  // sorted names of features
};

}  // namespace

std::string describe_processor(const std::string& cpuinfo) {
  std::vector<std::string> words;
  for (const char* name : {"vendor_id", "CPU implementer", "cpu family", "CPU architecture", "model", "CPU part"}) {
    if (std::string value = cpuinfo_field(cpuinfo, name); !value.empty()) words.push_back(std::move(value));
  }
  const std::string flags = fmt::format("{}", fmt::join(features(cpuinfo), " "));
  if (words.empty() || flags.empty())
    throw Error("/proc/cpuinfo does not tell the processor and its features: compiled kernels cannot be told apart");
  return fmt::format("{} features {}", fmt::join(words, " "), sha256_hex(flags).substr(0, 16));
}

std::string instruction_set(const std::string& cpuinfo) {
  const InstructionSet widest_first[] = {
      {"avx512", {"avx512bw", "avx512dq", "avx512f", "avx512vl"}},
      {"avx2", {"avx2", "f16c", "fma"}},
  };
  const std::vector<std::string> has = features(cpuinfo);
  for (const InstructionSet& set : widest_first)
    if (std::includes(has.begin(), has.end(), set.needs.begin(), set.needs.end())) return set.name;
  return "portable";
}

std::string describe_processor() { return describe_processor(read_file("/proc/cpuinfo")); }

std::string instruction_set() { return instruction_set(read_file("/proc/cpuinfo")); }

}  // namespace kb
