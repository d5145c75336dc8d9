#include "runtime/cuda/nccl.h"

#include <fmt/format.h>

#include <span>

#include "graph/error.h"

namespace kb::cuda {
namespace {

constexpr const char* kNcclLibraries[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                                          "/usr/local/cuda/lib/libnccl.so.2"};

[[noreturn]] void missing(const std::string& what, const std::string& got) {
  throw Error(fmt::format(
      "several GPUs cannot be used\n  missing: {}\n  got:     {}\n  hint:    apt install libnccl2 (NVIDIA's package "
      "sources), or pip install nvidia-nccl-cu13 and its lib folder in LD_LIBRARY_PATH",
      what, got));
}

// Returns the version as text. X.Y.Z is X * 10000 + Y * 100 + Z; up to 2.8 the factor of X is 1000.
std::string version_name(int version) {
  const int major = version / (version < 10000 ? 1000 : 10000);
  return fmt::format("NCCL {}.{}.{}", major, version % (version < 10000 ? 1000 : 10000) / 100, version % 100);
}

int version_of(const Nccl& nccl) {
  int version = 0;
  nccl(nccl.get_version, &version);
  return version;
}

}  // namespace

void check_version(const Nccl& nccl) {
  if (const int version = version_of(nccl); version < kLeastNccl)
    missing(version_name(kLeastNccl) + " or newer: send and receive in captured graphs, sums of bf16",
            version_name(version));
}

NcclType nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return NcclType::f64;
    case DType::f32:
      return NcclType::f32;
    case DType::bf16:
      return NcclType::bf16;
    case DType::f16:
      return NcclType::f16;
    case DType::i32:
      return NcclType::i32;
    case DType::u32:
      return NcclType::u32;
    default:
      throw InternalError("nccl_type: no sum of this dtype");
  }
}

void Nccl::fail(const char* symbol, NcclResult result) const {
  throw Error(fmt::format("{} failed: {} ({})\n  hint: NCCL_DEBUG=INFO in the environment makes NCCL say what it met",
                          symbol, get_error_string.function(result), result));
}

std::string Nccl::version_text() const { return version_name(version_of(*this)); }

namespace {

std::unique_ptr<const Nccl> find_nccl(std::span<const char* const> libraries) {
  std::string first;
  for (const char* library : libraries) {
    auto nccl = std::make_unique<Nccl>();
    std::string why;
    if (open_table(*nccl, library, why)) return nccl;
    if (first.empty()) first = why;
  }
  missing("libnccl.so.2", first);
}

}  // namespace

std::unique_ptr<const Nccl> open_nccl() { return find_nccl(kNcclLibraries); }
std::unique_ptr<const Nccl> open_nccl(const char* library) { return find_nccl({&library, 1}); }

}  // namespace kb::cuda
