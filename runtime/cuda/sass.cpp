#include "runtime/cuda/sass.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "graph/error.h"
#include "runtime/input_file.h"
#include "runtime/process.h"
#include "runtime/write_all.h"

namespace kb::cuda {
namespace {

// These are the lanes a cycle of a multiprocessor, sm_80 to sm_100.
constexpr double kIssued = 128, kAluLanes = 64, kSpecialLanes = 16;

constexpr auto kAlu = std::to_array<std::string_view>(
    {"BMSK", "F2FP",  "FMNMX", "FSEL", "FSET",  "FSETP",  "I2FP",      "IABS",    "IADD3",
     "IADD", "IMNMX", "ISETP", "LEA",  "LOP3",  "MOV",    "P2R",       "PLOP3",   "PRMT",
     "R2P",  "SEL",   "SGXT",  "SHF",  "VIADD", "VIMNMX", "VIADDMNMX", "VABSDIFF"});
constexpr auto kSpecial = std::to_array<std::string_view>({"F2F", "F2I", "FCHK", "FLO", "FRND", "I2F", "MUFU", "POPC"});

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Instruction {
  int64_t address = 0;
  std::string_view name;       // a text: "LDG"
  std::string_view modifiers;  // a text: ".E.128"
  int64_t target = -1;         // address that a branch jumps to; -1: no branch
};

int64_t hexadecimal(std::string_view digits) {
  int64_t value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

// Parses "/*0050*/  @!P0 BRA 0x400 ;  /* 0x... */"; returns false for any other line.
bool parse(std::string_view line, Instruction& result) {
  const size_t open = line.find("/*"), close = line.find("*/");
  if (open == line.npos || close == line.npos || line.find(';') == line.npos || line.substr(open + 2, 2) == " 0")
    return false;
  result = {hexadecimal(line.substr(open + 2, close - open - 2)), {}, {}, -1};
  std::string_view text = line.substr(close + 2, line.find(';') - close - 2);
  const auto word = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end);
    return one;
  };
  std::string_view name = word();
  if (name.starts_with('@')) name = word();
  const size_t dot = std::min(name.find('.'), name.size());
  result.name = name.substr(0, dot);
  result.modifiers = name.substr(dot);
  if (const size_t hex = text.rfind("0x"); result.name == "BRA" && hex != text.npos)
    result.target = hexadecimal(text.substr(hex + 2, text.find_first_not_of("0123456789abcdef", hex + 2) - hex - 2));
  return result.address >= 0 && !result.name.empty();
}

// Returns the bytes that one thread moves: 16 for "LDG.E.128".
int64_t bytes_of(std::string_view modifiers) {
  constexpr std::pair<std::string_view, int64_t> kWidths[] = {{".128", 16}, {".64", 8}, {".U16", 2},
                                                              {".S16", 2},  {".U8", 1}, {".S8", 1}};
  for (const auto& [text, bytes] : kWidths)
    if (modifiers.find(text) != modifiers.npos) return bytes;
  return 4;
}

LoopWork work_of(const std::vector<Instruction>& code, size_t first, size_t last) {
  LoopWork work;
  for (size_t i = first; i <= last; ++i) {
    const Instruction& one = code[i];
    work.instructions++;
    work.alu += contains(kAlu, one.name) ? 1 : 0;
    work.special += contains(kSpecial, one.name) ? 1 : 0;
    if (one.name == "LDG") work.loaded_bytes += bytes_of(one.modifiers);
    if (one.name == "STG") work.stored_bytes += bytes_of(one.modifiers);
  }
  return work;
}

LoopWork main_loop(const std::vector<Instruction>& code) {
  const auto is_atomic = [](const Instruction& one) { return one.name.starts_with("ATOM"); };
  const auto end = static_cast<size_t>(std::find_if(code.begin(), code.end(), is_atomic) - code.begin());
  LoopWork best;
  const auto moved = [](const LoopWork& work) { return work.loaded_bytes + work.stored_bytes; };
  for (size_t last = 0; last < end; ++last) {
    if (code[last].target < 0 || code[last].target > code[last].address) continue;
    const auto first = std::lower_bound(code.begin(), code.end(), code[last].target,
                                        [](const Instruction& one, int64_t at) { return one.address < at; });
    const LoopWork work = work_of(code, static_cast<size_t>(first - code.begin()), last);
    if (moved(work) > moved(best)) best = work;
  }
  return moved(best) > 0 || code.empty() ? best : work_of(code, 0, code.size() - 1);
}

}  // namespace

double LoopWork::cycles() const {
  return std::max({static_cast<double>(instructions) / kIssued, static_cast<double>(alu) / kAluLanes,
                   static_cast<double>(special) / kSpecialLanes});
}

std::map<std::string, LoopWork> main_loops(std::string_view sass) {
  constexpr std::string_view kFunction = "Function : ";
  std::map<std::string, std::vector<Instruction>> kernels;
  std::vector<Instruction>* current = nullptr;
  while (!sass.empty()) {
    const size_t end = std::min(sass.find('\n'), sass.size());
    const std::string_view line = sass.substr(0, end);
    sass.remove_prefix(std::min(end + 1, sass.size()));
    Instruction instruction;
    if (const size_t at = line.find(kFunction); at != line.npos)
      current = &kernels[std::string(line.substr(at + kFunction.size()))];
    else if (current && parse(line, instruction))
      current->push_back(instruction);
  }
  std::map<std::string, LoopWork> result;
  for (const auto& [name, code] : kernels) result[name] = main_loop(code);
  return result;
}

std::string disassembled(const std::string& cuobjdump, std::string_view cubin) {
  const int descriptor = ::memfd_create("cubin", MFD_CLOEXEC);
  if (descriptor < 0) throw Error(fmt::format("{}: no memory for a cubin: {}", cuobjdump, std::strerror(errno)));
  // The child opens it under /proc of this process.
  const InputFile file(fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor), descriptor);
  write_all(descriptor, cubin.data(), cubin.size(), file.path());
  ProcessResult result = Process({cuobjdump, "-sass", file.path().string()}).wait();
  if (result.status != 0)
    throw Error(fmt::format("{} -sass: exit code {}\n  got:  {}", cuobjdump, result.status, result.output));
  return std::move(result.output);
}

}  // namespace kb::cuda
