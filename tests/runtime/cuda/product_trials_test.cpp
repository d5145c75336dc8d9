// Tests, on a fake GPU, which side computes a product of matrices: a kernel of our own, in which warpgroups or warps
// multiply, or the library's call and the launches behind it.
#include "runtime/cuda/product_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "compiler/pipeline/pipeline.h"
#include "graph/functions.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/runtime/cuda/fake_backend.h"

namespace kb::product_trials_test {
namespace {

using namespace kb::test;
using Choices = Backend::AlgorithmChoices;

// The sides of a trial have different kernels: those that multiply matrices are our own, all others follow the
// library's call. A set of sides is a sum of these.
enum Sides : int { none = 0, warpgroups = 1, warps = 2, own = 3, library = 4 };

struct Plan {
  Sides slow = none, refused = none;
  Sides wrong =
      none;  // kernels of ours that add each product twice, or kernels behind the library's call that give NaN
};

// Compiles as the fake GPU does, except that kernels of some sides are slow, refused or wrong.
class PlantedCompiler : public cuda::Compiler {
 public:
  PlantedCompiler(std::unique_ptr<cuda::Compiler> under, FakeGpu& gpu, const Plan& plan)
      : under_(std::move(under)), gpu_(gpu), plan_(plan) {}
  std::string name() const override { return under_->name(); }
  cuda::CompiledImages compile(const KernelBatch& all) override {
    KernelBatch batch = all;
    for (KernelSource& kernel : batch.kernels) {
      const size_t by_warpgroups = kernel.text.find("warpgroup_mma<"), by_warps = kernel.text.find("tile_mma<");
      const size_t multiplies = std::min(by_warpgroups, by_warps);
      const Sides side = multiplies == std::string::npos ? library : by_warps == multiplies ? warps : warpgroups;
      if (plan_.wrong & side & own) kernel.text.insert(multiplies, "for (int twice = 0; twice < 2; ++twice) ");
      if (plan_.wrong & side & library) kernel.text = with_nans(kernel.text);
      if (plan_.refused & side) throw InternalError("a kernel that nobody can compile");
      if (plan_.slow & side) gpu_.slow("kernel " + kernel.name, 1);
    }
    return under_->compile(batch);
  }

 private:
  static std::string with_nans(std::string text) {
    const std::string widens = " = widen(", by = " = real(0x7fc00000u) + widen(";
    for (size_t at = text.find(widens); at != std::string::npos; at = text.find(widens, at + by.size()))
      text.replace(at, widens.size(), by);
    return text;
  }

  const std::unique_ptr<cuda::Compiler> under_;
  FakeGpu& gpu_;
  const Plan plan_;
};

struct Device {
  explicit Device(const Plan& plan = {}, const FakeOptions& options = {}) : fake(options) {
    cuda::Factories parts = fake.factories({});
    parts.compiler = [this, plan, under = parts.compiler](const cuda::OpenDevice& device) {
      return std::make_unique<PlantedCompiler>(under(device), fake.gpu, plan);
    };
    backend = cuda::make_backend(fake.driver(), {}, parts);
  }
  FakeTestGpu fake;
  std::unique_ptr<Backend> backend;
};

Graph forward(int64_t samples = 2) {
  Graph graph;
  const Tensor y = convolution(input_of(graph, {samples, 16, 4, 5}, DType::bf16),
                               input_of(graph, {24, 16, 1, 1}, DType::bf16, "w"), {{1, 1}});
  output("y", y);
  output("mean", moments(cast(y, DType::f32), {0, 2, 3}).mean);
  return graph;
}

Graph backward() {
  Graph graph;
  const Tensor dx = convolution_input_grad(input_of(graph, {2, 24, 4, 5}, DType::f16, "dy"),
                                           input_of(graph, {24, 16, 1, 1}, DType::f16, "w"), {{1, 1}}, 1, {4, 5}, 16);
  const Tensor d = select(input_of(graph, {2, 16, 4, 5}, DType::f16, "z") > 0.0, dx, 0.0);
  output("d", d);
  output("bias", sum(cast(d, DType::f32), {0, 2, 3}));
  return graph;
}

Graph filters() {
  Graph graph;
  output("dw", convolution_weight_grad(input_of(graph, {2, 16, 4, 5}, DType::bf16),
                                       input_of(graph, {2, 24, 4, 5}, DType::bf16, "dy"), {{1, 1}}, 1));
  return graph;
}

// Returns who computes the graph's convolution.
Sides computes(const Backend& backend, const Graph& graph) {
  CompileOptions options;
  options.target = backend.target();
  const Schedule schedule = compile(graph, options).program.at(PartRole::final);
  if (std::ranges::count(schedule.steps, FusionClass::library, &Step::cls) > 0) return library;
  return std::ranges::count(schedule.kernels, true, &ir::Kernel::warpgroups) > 0 ? warpgroups : warps;
}
bool is_own(const Backend& backend, const Graph& graph) { return computes(backend, graph) != library; }

Choices products_of(const Backend& backend) {
  Choices choices = backend.algorithm_choices();
  std::erase_if(choices, [](const auto& choice) { return !choice.first.starts_with("matrices "); });
  return choices;
}

constexpr const char* kForward = "matrices forward bf16 40 x 16 x 24";
constexpr const char* kBackward = "matrices input_grad f16 40 x 24 x 16";

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_product_trials)

BOOST_AUTO_TEST_CASE(the_fastest_side_is_picked) {
  const std::pair<Sides, const char*> fastest[] = {{warpgroups, "warpgroups"}, {warps, "warps"}, {library, "library"}};
  for (const auto& [side, pick] : fastest) {
    Device device({.slow = static_cast<Sides>((own | library) & ~side)});
    BOOST_TEST(computes(*device.backend, forward()) == side);
    BOOST_TEST(computes(*device.backend, backward()) == side);
    BOOST_TEST((products_of(*device.backend) == Choices{{kForward, pick}, {kBackward, pick}}));
  }
}

// The library's side takes its call as well as the launches behind it, which are faster than ours here.
BOOST_AUTO_TEST_CASE(the_librarys_call_counts) {
  Device device({.slow = own});
  device.fake.gpu.slow("library call", 2);
  BOOST_TEST(is_own(*device.backend, forward()));
}

// Nothing that is read behind a gradient of filters counts.
BOOST_AUTO_TEST_CASE(gradients_of_filters_are_timed_alone) {
  for (const bool ours : {false, true}) {
    Device device({.slow = ours ? none : own});
    if (ours) device.fake.gpu.slow("library call", 2);
    BOOST_TEST(is_own(*device.backend, filters()) == ours);
    BOOST_TEST((products_of(*device.backend) ==
                Choices{{"matrices weight_grad bf16 24 x 40 x 16", ours ? "warpgroups" : "library"}}));
  }
}

// Equal sizes are timed once. A pick that a checkpoint or rank 0 gives is not timed at all, whatever would be faster.
BOOST_AUTO_TEST_CASE(a_pick_is_used_again) {
  Choices choices;
  {
    Device first({.slow = own});
    BOOST_TEST(!is_own(*first.backend, forward()));
    const int64_t before = first.fake.gpu.operations();
    BOOST_TEST(before > 100);
    BOOST_TEST(!is_own(*first.backend, forward()));
    BOOST_TEST(first.fake.gpu.operations() == before);
    choices = first.backend->algorithm_choices();
  }
  Device second({.slow = library});
  second.backend->use_algorithm_choices(choices);
  const int64_t before = second.fake.gpu.operations();
  BOOST_TEST(!is_own(*second.backend, forward()));
  BOOST_TEST(second.fake.gpu.operations() == before);
  BOOST_TEST((second.backend->algorithm_choices() == choices));
}

BOOST_AUTO_TEST_CASE(another_size_is_another_product) {
  Device device({.slow = own});
  device.backend->use_algorithm_choices({{kForward, "warps; warpgroups differ"}});
  BOOST_TEST(is_own(*device.backend, forward()));
  BOOST_TEST(!is_own(*device.backend, forward(3)));
  BOOST_TEST((products_of(*device.backend) ==
              Choices{{kForward, "warps; warpgroups differ"}, {"matrices forward bf16 60 x 16 x 24", "library"}}));
}

// A block of a workstation's GPU has 99 KB of storage. Nothing is too large for it, whatever sums join a product.
BOOST_AUTO_TEST_CASE(products_fit_a_block_of_little_storage) {
  Graph graph;
  const Tensor y = convolution(input_of(graph, {2, 16, 4, 5}, DType::bf16),
                               input_of(graph, {128, 16, 1, 1}, DType::bf16, "w"), {{1, 1}});
  output("y", y);
  for (int i = 0; i < 12; ++i) output(fmt::format("sum {}", i), sum(relu(cast(y, DType::f32) - 0.5 * i), {0, 2, 3}));
  for (const int64_t bytes : {99 << 10, 227 << 10}) {
    Device device({}, {.capability = 120, .block_storage = static_cast<int>(bytes)});
    device.backend->use_algorithm_choices({{"matrices forward bf16 40 x 16 x 128", "warps"}});
    CompileOptions options;
    options.target = device.backend->target();
    const Schedule schedule = compile(graph, options).program.at(PartRole::final);
    int64_t most = 0;
    for (const ir::Kernel& kernel : schedule.kernels) most = std::max(most, ir::block_storage_bytes(kernel));
    BOOST_TEST(most <= bytes);
    BOOST_TEST(most > 64 << 10);
  }
}

BOOST_AUTO_TEST_CASE(a_side_that_cannot_be_compiled_is_not_picked) {
  for (const Sides refused : {own, library}) {
    Device device({.slow = refused == own ? library : own, .refused = refused});
    BOOST_TEST(is_own(*device.backend, forward()) == (refused == library));
    const char* pick = refused == own ? "library; warpgroups fail; warps fail" : "warpgroups; library fail";
    BOOST_TEST((products_of(*device.backend) == Choices{{kForward, pick}}));
  }
}

BOOST_AUTO_TEST_CASE(a_faster_side_with_other_results_is_not_picked) {
  const std::pair<Graph, Sides> cases[] = {{forward(), warpgroups}, {forward(), own}, {filters(), own}};
  for (const auto& [graph, wrong] : cases) {
    Device device({.slow = library, .wrong = wrong});
    device.fake.gpu.slow("library call", 2);
    BOOST_TEST(computes(*device.backend, graph) == (wrong == own ? library : warps));
    const std::string expected = wrong == own ? "library; warpgroups differ; warps differ" : "warps; warpgroups differ";
    BOOST_REQUIRE(products_of(*device.backend).size() == 1u);
    BOOST_TEST(products_of(*device.backend).begin()->second == expected);
  }
}

// Nothing is like the library's NaN, not even itself.
BOOST_AUTO_TEST_CASE(a_library_that_gives_nan_stays) {
  Device device({.slow = library, .wrong = library});
  BOOST_TEST(!is_own(*device.backend, forward()));
  BOOST_TEST((products_of(*device.backend) == Choices{{kForward, "library; warpgroups differ; warps differ"}}));
}

// A side of our own has one launch; that of warpgroups is run first.
BOOST_AUTO_TEST_CASE(a_side_that_fails_in_its_first_run_is_not_picked) {
  const char* const picks[] = {"warps; warpgroups fail", "warpgroups; warps fail", "warpgroups; library fail"};
  for (const int launch : {0, 1, 2}) {
    Device device({.slow = library});
    device.fake.gpu.fail("cuLaunchKernel", launch, cuda::kInvalidValue);
    BOOST_TEST(is_own(*device.backend, forward()));
    BOOST_TEST((products_of(*device.backend) == Choices{{kForward, picks[launch]}}));
  }
}

// The model decides where trials have no memory, and for good: no other rank and no resumed run may find otherwise.
BOOST_AUTO_TEST_CASE(a_model_picks_where_memory_is_short) {
  const Choices expected{{kForward, "model"}};
  {
    Device small({.slow = library}, {.memory = 8 << 10});
    BOOST_TEST(!is_own(*small.backend, forward()));
    BOOST_TEST((products_of(*small.backend) == expected));
  }
  for (const Sides refused : {warpgroups, own, library}) {
    Device small({.refused = refused}, {.memory = 8 << 10});
    BOOST_TEST(is_own(*small.backend, forward()) == (refused == library));
    BOOST_TEST((products_of(*small.backend) != expected));
  }
  Device large({.slow = library});
  large.backend->use_algorithm_choices(expected);
  BOOST_TEST(!is_own(*large.backend, forward()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::product_trials_test
