// Reads the machine code that ptxas makes of edge graphs; skipped, with the reason, where there is no NVRTC or no
// cuobjdump.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>

#include "compiler/print/cuda.h"
#include "runtime/cuda/nvrtc_compiler.h"
#include "runtime/cuda/sass.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"
#include "tests/simt/class_graphs.h"
#include "tests/support/matches.h"

namespace kb::machine_code_test {
namespace {

// Kernels that are printed and never run.
class PrintedKernels : public test::GpuKernels {
 public:
  using GpuKernels::add;
  void add(const ir::Kernel& kernel) override { texts_.try_emplace(kernel.name, print_cuda(kernel)); }
  void compile() override {}
  void run(const ir::Kernel&, std::span<const int64_t>, std::span<const int64_t>,
           std::span<const ir::Memory>) override {}

  KernelBatch batch() const {
    KernelBatch batch;
    batch.prelude = cuda_prelude();
    for (const auto& [name, text] : texts_) batch.kernels.push_back({name, text});
    return batch;
  }

 private:
  std::map<std::string, std::string> texts_;
};

// Returns the number of VIMNMX.RELU instructions that set a predicate. ptxas uses this predicate for an equality with
// an operand, which it does not give.
size_t wrong_equalities(const std::string& sass) {
  return test::all_matches(sass, R"(VIMNMX\S*RELU\S* \S+, P[0-6])").size();
}

// Returns true, and prints the reason, if nothing can be compiled and read here.
bool skipped(cuda::Nvrtc& nvrtc, const std::string& cuobjdump) {
  std::string why;
  if (cuda::open_nvrtc(nvrtc, why) && !std::filesystem::exists(cuobjdump)) why = "no " + cuobjdump;
  if (!why.empty()) fmt::print("skipped: {}\n", why);
  return !why.empty();
}

BOOST_AUTO_TEST_SUITE(machine_code)

BOOST_AUTO_TEST_CASE(no_equality_is_the_predicate_of_a_maximum) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  cuda::Nvrtc nvrtc;
  if (skipped(nvrtc, options.cuobjdump)) return;
  PrintedKernels kernels;
  test::KernelGraphs graphs(kernels);
  test::equalities_at_edges(graphs);
  for (const int arch : {90, 100}) {
    const auto compiler = cuda::make_nvrtc_compiler(nvrtc, arch, options.cache_dir, usable_processors());
    std::ptrdiff_t maxima = 0;
    for (const cuda::Image& image : compiler->compile(kernels.batch()).images) {
      const std::string sass = cuda::disassembled(options.cuobjdump, image.data);
      maxima += sass.find("VIMNMX") != sass.npos ? 1 : 0;
      BOOST_TEST(wrong_equalities(sass) == 0u, "sm_" << arch << "\n" << sass);
    }
    BOOST_TEST(maxima > 0, "the machine code of sm_" << arch << " names its maxima otherwise");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::machine_code_test
