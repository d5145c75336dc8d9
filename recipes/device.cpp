#include "recipes/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cpu/pool.h"

namespace kb {
namespace {

// Of auto. One thread pays where no core is left, too: it fills while a step's cores wait for each other.
constexpr int kMostLoaderThreads = 4;

}  // namespace

Device choose_device(const Flags& flags) {
  if (flags.device == "cuda")
    throw Error(
        "--device cuda: this build has no GPU backend\n  missing: a CUDA backend in Kilobatch (devices of this build: "
        "cpu)\n  hint:    --device cpu");
  std::string reason = flags.device == "auto" ? "--device auto: the only device of this build" : "--device cpu";
  return {make_cpu_backend({.threads = static_cast<int>(flags.threads),
                            .shards = static_cast<int>(flags.shards),
                            .cache_directory = ""}),
          reason};
}

std::string precision_note(const Backend& backend, const Flags& flags) {
  if (flags.precision != "bf16" || backend.library_dtype(DType::bf16) == DType::bf16) return "";
  return fmt::format(
      "NOTE: --precision bf16: no bf16 units here (or no library that uses them), so convolutions and matrix products "
      "widen to {} and round their results: the same meaning, no speed gained",
      name(backend.library_dtype(DType::bf16)));
}

int choose_loader_threads(const Flags& flags) {
  if (flags.loader_threads != kAutoThreads) return static_cast<int>(flags.loader_threads);
  const int cores = usable_processors();
  const int left = cores - (flags.threads > 0 ? static_cast<int>(flags.threads) : cores);
  return std::clamp(left, 1, kMostLoaderThreads);
}

}  // namespace kb
