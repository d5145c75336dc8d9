// Tests the compilation by NVRTC: the architecture, images and their names, the cache, errors. Tests that need the
// library itself are skipped, with the reason, if it is not there.
#include "runtime/cuda/nvrtc.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <set>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/cache_listing.h"
#include "runtime/cuda/cubin.h"
#include "runtime/cuda/nvrtc_compiler.h"
#include "runtime/input_file.h"
#include "tests/support/few_threads.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::nvrtc_test {
namespace {

using namespace kb::cuda;

// Returns true, and prints the reason, if there is no NVRTC.
bool skipped(Nvrtc& nvrtc) {
  std::string why;
  if (open_nvrtc(nvrtc, why)) return false;
  BOOST_TEST_MESSAGE("skipped: " << why);
  fmt::print("skipped: {}\n", why);
  return true;
}

// Returns a kernel that doubles numbers. With `shared` bytes of shared memory it reverses the order of a block's
// numbers.
KernelSource doubling(const std::string& name, int shared = 0) {
  const std::string body = shared == 0
                               ? "y[i] = x[i] * 2;"
                               : fmt::format(
                                     "__shared__ float s[{}]; s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[255 - "
                                     "threadIdx.x] * 2;",
                                     shared / 4);
  return {name, fmt::format("extern \"C\" __global__ void {}(const float* x, float* y) {{ int i = blockIdx.x * 256 + "
                            "threadIdx.x; {} }}",
                            name, body)};
}

KernelBatch batch_of(int kernels) {
  KernelBatch batch;
  batch.prelude = "typedef unsigned int u32;\n";
  for (int i = 0; i < kernels; ++i) batch.kernels.push_back(doubling(fmt::format("k_{}", i), 1024 * (i % 3)));
  return batch;
}

std::set<std::string> names_in(const CompiledImages& images) {
  std::set<std::string> names;
  for (const Image& image : images.images) names.insert(image.names.begin(), image.names.end());
  return names;
}

BOOST_AUTO_TEST_SUITE(nvrtc)

BOOST_AUTO_TEST_CASE(architecture_is_clamped_to_what_is_known) {
  Nvrtc nvrtc;
  nvrtc.major = 13;
  nvrtc.archs = {75, 80, 86, 90, 100};
  BOOST_TEST(choose_nvrtc_target(nvrtc, 90).option == "-arch=sm_90a");
  BOOST_TEST(choose_nvrtc_target(nvrtc, 100).option == "-arch=sm_100");
  BOOST_TEST(choose_nvrtc_target(nvrtc, 90).message == "");
  const NvrtcTarget minor = choose_nvrtc_target(nvrtc, 89);
  BOOST_TEST(minor.option == "-arch=sm_86");
  BOOST_TEST(!minor.ptx);
  BOOST_TEST(minor.message == "NVRTC 13.0 does not know sm_89: kernels are compiled for sm_86, which it runs too");
  const NvrtcTarget major = choose_nvrtc_target(nvrtc, 120);
  BOOST_TEST(major.option == "-arch=compute_100");
  BOOST_TEST(major.ptx);
  BOOST_TEST(test::contains(major.message, "PTX of compute_100"));
  BOOST_CHECK_THROW(choose_nvrtc_target(nvrtc, 70), Error);
}

BOOST_AUTO_TEST_CASE(every_kernel_is_in_an_image_with_its_resources) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  for (const int arch : {80, 90, 100}) {
    const CompiledImages images = make_nvrtc_compiler(nvrtc, arch, "", 2)->compile(batch_of(9));
    BOOST_TEST(images.compiled == 9);
    BOOST_TEST(names_in(images).size() == 9u);
    for (const Image& image : images.images) {
      BOOST_REQUIRE(is_cubin(image.data));
      const std::vector<KernelResources> all = kernel_resources(image.data);
      BOOST_TEST(all.size() == image.names.size());
      for (const KernelResources& kernel : all) {
        BOOST_TEST(kernel.registers > 4);
        BOOST_TEST(kernel.registers < 32);
        BOOST_TEST(kernel.local_bytes == 0);
        BOOST_TEST(kernel.shared_bytes == 1024 * (kernel.name.back() - '0') % 3072);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(without_threads_the_caller_compiles_alone) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  const test::FewThreads few(0);
  const CompiledImages images = make_nvrtc_compiler(nvrtc, 90, "", 4)->compile(batch_of(9));
  BOOST_TEST(names_in(images).size() == 9u);
}

// An array whose index is known only at run time lies in local memory.
BOOST_AUTO_TEST_CASE(local_memory_is_seen) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  KernelBatch batch;
  batch.kernels.push_back(
      {"k_local",
       "extern \"C\" __global__ void k_local(float* x, const int* at) { float s[64]; for (int i = 0; "
       "i < 64; ++i) s[at[i]] = x[i]; x[0] = s[at[64]]; }"});
  const CompiledImages images = make_nvrtc_compiler(nvrtc, 90, "", 1)->compile(batch);
  BOOST_TEST(kernel_resources(images.images.at(0).data).at(0).local_bytes >= 256);
}

BOOST_AUTO_TEST_CASE(beyond_what_is_known_there_is_ptx) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  const CompiledImages images = make_nvrtc_compiler(nvrtc, 999, "", 1)->compile(batch_of(1));
  BOOST_TEST(test::contains(images.images.at(0).data, ".visible .entry k_0"));
  BOOST_TEST(images.images[0].data.back() == '\0');
  BOOST_TEST(images.warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(second_time_from_the_cache) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  const test::TemporaryDirectory folder;
  const auto compiler = make_nvrtc_compiler(nvrtc, 90, folder.path(), 2);
  KernelBatch batch = batch_of(5);
  batch.kernels.push_back(batch.kernels[0]);
  const CompiledImages first = compiler->compile(batch);
  BOOST_TEST(first.compiled == 5);
  BOOST_TEST(list_cache(folder.path()).size() == 5u);
  BOOST_TEST(verify_cache(folder.path()).empty());
  const CompiledImages second = compiler->compile(batch);
  BOOST_TEST(second.compiled == 0);
  BOOST_TEST(second.cache_hits == 5);
  BOOST_TEST(names_in(second) == names_in(first));
  std::multiset<std::string> before, after;
  for (const Image& image : first.images) before.insert(image.data);
  for (const Image& image : second.images) after.insert(image.data);
  BOOST_TEST((before == after));
  BOOST_TEST(make_nvrtc_compiler(nvrtc, 80, folder.path(), 2)->compile(batch).cache_hits == 0);
  BOOST_TEST(make_nvrtc_compiler(nvrtc, 90, folder.path(), 2, {})->compile(batch).cache_hits == 0);
  batch.kernels.push_back(doubling("k_new"));
  BOOST_TEST(compiler->compile(batch).compiled == 1);
}

BOOST_AUTO_TEST_CASE(damaged_entry_is_built_again) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  const test::TemporaryDirectory folder;
  const auto compiler = make_nvrtc_compiler(nvrtc, 90, folder.path(), 1);
  compiler->compile(batch_of(1));
  const std::filesystem::path entry = list_cache(folder.path()).at(0).path;
  std::string bytes = read_file(entry);
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(entry, bytes);
  const CompiledImages again = compiler->compile(batch_of(1));
  BOOST_TEST(again.compiled == 1);
  BOOST_TEST(again.warnings.size() == 1u);
  BOOST_TEST(test::contains(again.warnings[0], "1 entry is not used and built again"));
  BOOST_TEST(compiler->compile(batch_of(1)).cache_hits == 1);
}

// Returns what is said about a text that NVRTC refuses.
std::string refusal(const Nvrtc& nvrtc, const std::filesystem::path& cache) {
  KernelBatch batch = batch_of(2);
  batch.kernels.push_back({"k_wrong", "extern \"C\" __global__ void k_wrong(float* x) { x[0] = unknown; }"});
  return test::error_of<InternalError>([&] { make_nvrtc_compiler(nvrtc, 90, cache, 1)->compile(batch); });
}

BOOST_AUTO_TEST_CASE(refused_text_is_named_and_kept) {
  Nvrtc nvrtc;
  if (skipped(nvrtc)) return;
  const test::TemporaryDirectory folder;
  write_file_atomically(folder.path() / "file", "");
  for (const std::filesystem::path& cache : {folder.path(), folder.path() / "file" / "cache"}) {
    const std::string text = refusal(nvrtc, cache);
    BOOST_TEST(test::contains(text, "refuses kernel k_wrong"));
    BOOST_TEST(test::contains(text, "\"unknown\" is undefined"));
    BOOST_TEST(test::contains(text, "failed-"));
    BOOST_TEST((text.find("not kept (cannot write") != std::string::npos) == (cache != folder.path()), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::nvrtc_test
