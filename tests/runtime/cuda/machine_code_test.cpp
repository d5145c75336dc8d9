// Reads the machine code that ptxas makes of edge graphs and of products of matrices; skipped, with the reason, where
// there is no NVRTC or no cuobjdump.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <sstream>

#include "compiler/print/cuda.h"
#include "runtime/cuda/nvrtc_compiler.h"
#include "runtime/cuda/sass.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"
#include "tests/simt/class_graphs.h"
#include "tests/support/matches.h"
#include "tests/support/support.h"

namespace kb::machine_code_test {
namespace {

using test::all_matches;
using test::first_match;
using test::Match;

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
  const std::string& text(const std::string& name) const { return texts_.at(name); }

 private:
  std::map<std::string, std::string> texts_;
};

// Returns the number of VIMNMX.RELU instructions that set a predicate. ptxas uses this predicate for an equality with
// an operand, which it does not give.
size_t wrong_equalities(const std::string& sass) { return all_matches(sass, R"(VIMNMX\S*RELU\S* \S+, P[0-6])").size(); }

// Returns the instructions of each kernel in the text: "HGMMA.64x32x16.F32 R24, gdesc[UR4], R24, gsb0".
std::map<std::string, std::vector<std::string>> instructions_of(const std::string& sass) {
  constexpr std::string_view kFunction = "Function : ";
  std::map<std::string, std::vector<std::string>> kernels;
  std::vector<std::string>* current = nullptr;
  std::istringstream lines(sass);
  for (std::string line; std::getline(lines, line);) {
    const size_t function = line.find(kFunction), open = line.find("*/"), end = line.find(';');
    if (function != line.npos) current = &kernels[line.substr(function + kFunction.size())];
    if (!current || open == line.npos || end == line.npos || end < open) continue;
    const size_t first = line.find_first_not_of(' ', open + 2);
    current->push_back(line.substr(first, line.find_last_not_of(' ', end - 1) + 1 - first));
  }
  return kernels;
}

// A kernel's product by warpgroups, as its text has it.
struct WrittenProduct {
  explicit WrittenProduct(const std::string& text) {
    const Match sums = first_match(text, R"(Accumulators<\d+, (\d+), \d+, (\d+)>)");
    const Match product = first_match(text, R"(warpgroup_mma<m(\d+), (true|false), m\d+, (true|false)>)");
    BOOST_REQUIRE(!sums.empty() && !product.empty());
    columns = std::stoi(sums[1]) / std::stoi(sums[2]);
    const Match a = first_match(text, fmt::format(R"(using m{} = Matrix<(\d+), (\d+),)", product[1]));
    steps = std::stoi(product[2] == "true" ? a[1] : a[2]) / 16;
    head = fmt::format("HGMMA.64x{}x16.F32{} R", columns, text.find("bf16") != text.npos ? ".BF16" : "");
    transposed = fmt::format("]{}{}, R", product[2] == "true" ? ".tnspA" : "", product[3] == "true" ? ".tnspB" : "");
  }
  int columns, steps;
  std::string head, transposed;  // a multiplication begins with `head`, and its descriptors end with `transposed`
};

// Returns the order of what a product by warpgroups consists of: waits for copies to shared memory, fences before the
// tensor cores read it, barriers, begins, multiplications (the last one of a product by another word) and waits.
std::string order_of(const std::vector<std::string>& code) {
  constexpr std::pair<std::string_view, const char*> kWords[] = {{"DEPBAR.LE SB0", "copied "},
                                                                 {"FENCE.VIEW.ASYNC", "fence "},
                                                                 {"BAR.SYNC", "barrier "},
                                                                 {"WARPGROUP.ARRIVE", "begin "},
                                                                 {"WARPGROUP.DEPBAR.LE gsb0, 0x0", "wait "}};
  std::string order;
  for (const std::string& instruction : code) {
    if (instruction.starts_with("HGMMA")) order += instruction.ends_with(", gsb0") ? "last " : "multiply ";
    for (const auto& [start, word] : kWords)
      if (instruction.starts_with(start)) order += word;
  }
  return order;
}

// Returns the first instruction, from a product's begin to its wait, that touches its sums and is no multiplication.
std::string touches_sums(const std::vector<std::string>& code, const WrittenProduct& product) {
  const auto starting = [&](auto from, const char* what) {
    return std::find_if(from, code.end(), [&](const std::string& one) { return one.starts_with(what); });
  };
  const auto begin = starting(code.begin(), "WARPGROUP.ARRIVE"), wait = starting(begin, "WARPGROUP.DEPBAR");
  const auto multiply = starting(begin, "HGMMA");
  if (multiply == code.end()) return "no multiplication";
  const Match sums = first_match(*multiply, R"( R(\d+),)");
  const int first = std::stoi(sums.at(1));
  for (auto at = begin; at != wait; ++at)
    for (const Match& named : all_matches(*at, R"(\bR(\d+))"))
      if (const int number = std::stoi(named[1]);
          number >= first && number < first + product.columns / 2 && !at->starts_with("HGMMA"))
        return *at;
  return "";
}

// Returns the machine code of the kernels for an architecture, a text an image; nothing, and prints the reason, if it
// cannot be made and read here.
std::vector<std::string> machine_code_of(const PrintedKernels& kernels, int arch) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  cuda::Nvrtc nvrtc;
  std::string why;
  if (cuda::open_nvrtc(nvrtc, why) && !std::filesystem::exists(options.cuobjdump)) why = "no " + options.cuobjdump;
  if (!why.empty()) return fmt::print("skipped: {}\n", why), std::vector<std::string>{};
  const auto compiler = cuda::make_nvrtc_compiler(nvrtc, arch, options.cache_dir, usable_processors());
  std::vector<std::string> texts;
  for (const cuda::Image& image : compiler->compile(kernels.batch()).images)
    texts.push_back(cuda::disassembled(options.cuobjdump, image.data));
  return texts;
}

BOOST_AUTO_TEST_SUITE(machine_code)

BOOST_AUTO_TEST_CASE(no_equality_is_the_predicate_of_a_maximum) {
  PrintedKernels kernels;
  test::KernelGraphs graphs(kernels);
  test::equalities_at_edges(graphs);
  for (const int arch : {90, 100}) {
    const std::vector<std::string> texts = machine_code_of(kernels, arch);
    if (texts.empty()) return;
    std::ptrdiff_t maxima = 0;
    for (const std::string& sass : texts) {
      maxima += sass.find("VIMNMX") != sass.npos ? 1 : 0;
      BOOST_TEST(wrong_equalities(sass) == 0u, "sm_" << arch << "\n" << sass);
    }
    BOOST_TEST(maxima > 0, "the machine code of sm_" << arch << " names its maxima otherwise");
  }
}

// The emulator has functions of its own in place of PTX. So this reads what becomes of the PTX: the shapes, types and
// transpositions of multiplications; that a step is one chain of them, behind a wait, a fence and a barrier (PTX ISA,
// "Async Proxy" and wgmma.fence); and that ptxas moved no use of the sums into it.
BOOST_AUTO_TEST_CASE(products_by_warpgroups) {
  PrintedKernels kernels;
  test::KernelGraphs graphs(kernels);
  test::products(graphs);
  const std::vector<std::string> texts = machine_code_of(kernels, 90);
  if (texts.empty()) return;
  int found = 0;
  for (const std::string& sass : texts)
    for (const auto& [name, code] : instructions_of(sass)) {
      if (kernels.text(name).find("warpgroup_mma<") == std::string::npos) continue;
      const WrittenProduct product(kernels.text(name));
      found++;
      std::string order = "copied fence barrier begin ";
      for (int step = 1; step < product.steps; ++step) order += "multiply ";
      const std::string all = order_of(code);
      BOOST_TEST(test::contains(all, order + "last wait "));
      BOOST_TEST(touches_sums(code, product) == "", name);
      std::ptrdiff_t multiplications = 0;
      for (const std::string& one : code) {
        if (!one.starts_with("HGMMA")) continue;
        multiplications++;
        BOOST_TEST(one.starts_with(product.head), one << ", not " << product.head);
        BOOST_TEST(test::contains(one, product.transposed));
      }
      BOOST_TEST(multiplications == product.steps, name);
    }
  BOOST_TEST(found == 15);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::machine_code_test
