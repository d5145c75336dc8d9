#include <fmt/format.h>

#include "runtime/kernel_cache.h"
#include "tests/simt/machine.h"
#include "tests/simt/prelude.h"
#include "tests/simt/simt.h"

namespace kb::simt {
namespace {

constexpr std::string_view kPrefix = "simt_";

// Returns the compiler with the build's flags for kernels, but less optimisation, because the compiler takes most of a
// test's time (watched, -Og takes two thirds of -O1; with the address and undefined sanitizers -O0 takes a third of it,
// and checks that are calls a fifth less than inline ones; registers are allocated over whole functions, not loop by
// loop, which takes an eighth off). Structs are not split into scalars, so that an access to a vector is seen with its
// own size and alignment. Sums and products of integers wrap (graph/dtype.h).
HostCompiler emulating_compiler(Instrument instrument) {
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.compiler = KB_EMULATING_CXX;
  options.compiler_origin = "the tests' configuration: CUDA kernels are emulated by g++";
  HostCompiler compiler = find_host_compiler(options);
  const bool sanitizers = instrument == Instrument::sanitizers;
  std::erase_if(compiler.flags, [&](const std::string& flag) {
    return flag.starts_with("-O") || (!sanitizers && (flag.starts_with("-fsanitize") || flag == "-nostdlib" ||
                                                      flag.starts_with("-fno-sanitize") || flag.starts_with("-g")));
  });
  const auto add = [&](std::initializer_list<const char*> flags) {
    compiler.flags.insert(compiler.flags.end(), flags.begin(), flags.end());
  };
  add({"-fno-strict-aliasing", "-fno-tree-sra", "-fwrapv", sanitizers ? "-O0" : "-Og"});
  if (sanitizers) add({"-fno-sanitize=signed-integer-overflow", "--param=asan-instrumentation-with-call-threshold=0"});
  if (!sanitizers) add({"-nostdlib", "-fira-region=one"});
  if (instrument == Instrument::accesses) add({"-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"});
  return compiler;
}

}  // namespace

Instrument default_instrument() {
  const std::string_view sanitize = KB_SANITIZE;
  return sanitize.empty() || sanitize == "thread" ? Instrument::accesses : Instrument::sanitizers;
}

Program::Program(const std::string& prelude, std::span<const std::string> texts, Instrument instrument)
    : instrument_(instrument) {
  KernelBatch batch{emulation_prelude(instrument == Instrument::accesses) + without_ptx(prelude), {}, "simt"};
  std::vector<std::string> order;
  for (const std::string& text : texts) {
    const KernelHead head = kernel_head(text);
    if (!entries_.try_emplace(head.name, nullptr).second) continue;
    order.push_back(head.name);
    batch.kernels.push_back({std::string(kPrefix) + head.name, emulated_text(text, head)});
  }
  const LoadedKernels loaded =
      load_kernels(batch, emulating_compiler(instrument), RuntimeOptions::from_environment().cache_dir, 2);
  for (size_t i = 0; i < order.size(); ++i) entries_[order[i]] = static_cast<const Entry*>(loaded.entry[i]);
}

std::vector<std::string> Program::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

LaunchCounts Program::launch(const std::string& name, const Launch& launch, std::span<void* const> parameters,
                             std::span<const Region> memory) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Fault(fmt::format("launch of {}: there is no such kernel", name));
  return Machine(name, *found->second, launch, parameters, memory, instrument_ == Instrument::accesses).run();
}

}  // namespace kb::simt
