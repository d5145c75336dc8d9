#include "runtime/cuda/cudnn/convolutions.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "graph/error.h"
#include "runtime/cuda/cudnn/conv_graph.h"
#include "runtime/cuda/cudnn/device.h"
#include "tests/support/says.h"

namespace kb::convolutions_test {

using namespace kb::cudnn;

namespace {

ConvSpec square(DType dtype, ConvKind kind, int64_t c = 64, int64_t o = 64, int64_t kernel = 3) {
  ConvSpec s{.kind = kind, .dtype = dtype, .n = 32, .c = c, .h = 28, .w = 28, .o = o, .kh = kernel, .kw = kernel};
  s.padding[0] = s.padding[1] = kernel / 2;
  s.block_in = c;
  s.block_out = o;
  s.weights_last = true;
  s.wide = false;
  return s;
}

std::vector<Plan> plans_of(const ConvSpec& spec, const PlanRules& rules) {
  const PlanDevice device(std::string("sm_90"));
  return candidates(conv_graph(spec, device), device, rules, 100);
}

// Returns the numbers of the plans' engines.
std::set<std::string> engines(const std::vector<Plan>& plans) {
  std::set<std::string> found;
  for (const Plan& plan : plans) found.insert(plan.pick.substr(0, plan.pick.find(' ')));
  return found;
}

// Returns whether cuDNN has this engine for the graph, ready to run: without a kernel that is compiled when a plan is
// built, which takes a driver's library in the process.
bool is_ready(const Descriptor& graph, const PlanDevice& device, int64_t number) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number);
  device.set_engine(engine);
  if (!engine.supported()) return false;
  const auto notes = engine.get_all<cudnnBackendBehaviorNote_t>(
      CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  return std::ranges::count(notes, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) == 0;
}

// Returns how many of the engines that are ready build a plan for the convolution.
int engine_count(const ConvSpec& spec, const PlanDevice& device) {
  const Descriptor graph = conv_graph(spec, device);
  int count = 0;
  for (int64_t i = 0; i < graph.get_integer(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT); ++i) {
    if (!is_ready(graph, device, i)) continue;
    try {
      picked_plan(graph, device, std::to_string(i));
      ++count;
    } catch (const Error&) {
    }
  }
  return count;
}

constexpr ConvKind kKinds[] = {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad};
constexpr int64_t kMuch = int64_t{1} << 40;

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_convolutions)

// Few engines take these convolutions: channels that are no multiple of 8, groups, dilation, strides, both orders of
// layouts.
BOOST_AUTO_TEST_CASE(odd_convolutions_have_plans) {
  cuda::LibraryPicks picks;
  Convolutions convolutions("sm_90", picks, true);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (const ConvKind kind : kKinds)
      for (int which = 0; which < 8; ++which) {
        ConvSpec s = square(dtype, kind, which == 1 ? 1 : which == 2 ? 3 : 24, which == 3 ? 5 : 40, which == 4 ? 1 : 3);
        if (which == 5) s.groups = 4;
        if (which == 6) s.dilation[0] = s.dilation[1] = 2;
        if (which == 7) s.stride[0] = s.stride[1] = 2;
        for (const bool channels_last : {true, false}) {
          s.block_in = channels_last ? s.c : 1;
          s.block_out = channels_last ? s.o : 1;
          s.weights_last = channels_last;
          BOOST_TEST_CONTEXT(text(s)) BOOST_CHECK_NO_THROW(convolutions.plan(s));
        }
      }
}

BOOST_AUTO_TEST_CASE(biases_have_plans) {
  cuda::LibraryPicks picks;
  Convolutions convolutions("sm_90", picks, true);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (const int64_t channels : {1, 6, 64})
      for (const bool bias : {false, true}) {
        ConvSpec s = square(dtype, ConvKind::forward, channels, channels == 1 ? 6 : 64);
        s.bias = bias;
        BOOST_TEST_CONTEXT(text(s)) BOOST_CHECK_NO_THROW(convolutions.plan(s));
      }
}

BOOST_AUTO_TEST_CASE(a_pick_builds_the_same_plan) {
  const PlanDevice device(std::string("sm_90"));
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const ConvKind kind : kKinds) {
      const Descriptor graph = conv_graph(square(dtype, kind), device);
      const std::vector<Plan> plans = candidates(graph, device, {true, true, false, kMuch}, 100);
      BOOST_TEST(plans.size() >= 5u);
      for (const Plan& plan : plans) {
        const Plan again = picked_plan(graph, device, plan.pick);
        BOOST_TEST(again.pick == plan.pick);
        BOOST_TEST(again.workspace == plan.workspace, plan.pick);
      }
    }
}

BOOST_AUTO_TEST_CASE(picks_given_are_used) {
  cuda::LibraryPicks picks;
  const ConvSpec spec = square(DType::bf16, ConvKind::forward);
  const std::string last = plans_of(spec, {true, true, false, kMuch}).back().pick;
  Convolutions(std::string("sm_90"), picks, true).plan(spec);
  BOOST_TEST(picks.at(text(spec)) != last);
  picks[text(spec)] = last;
  BOOST_TEST((Convolutions(std::string("sm_90"), picks, true).plan(spec)->implementation() == "cudnn engine " + last));
  for (const char* bad : {"", "x", "9999", "62 2", "62 2=400 13=0", "0 2=1"}) {
    picks[text(spec)] = bad;
    BOOST_CHECK_EXCEPTION(Convolutions(std::string("sm_90"), picks, true).plan(spec), Error, [&](const Error& error) {
      const std::string text = error.what();
      return text.starts_with("the recorded choice '" + std::string(bad) + "' of a call of cuDNN's") &&
             text.ends_with(cuda::kPickHint);
    });
  }
}

// Engines may round f32 operands to tf32 only if the rules say so.
BOOST_AUTO_TEST_CASE(f32_is_not_rounded_to_tf32_unless_allowed) {
  for (const ConvKind kind : kKinds) {
    const ConvSpec spec = square(DType::f32, kind);
    const std::set<std::string> strict = engines(plans_of(spec, {true, false, false, kMuch})),
                                free = engines(plans_of(spec, {true, true, false, kMuch}));
    BOOST_TEST(!strict.empty());
    BOOST_TEST(!std::includes(strict.begin(), strict.end(), free.begin(), free.end()));
  }
}

BOOST_AUTO_TEST_CASE(engines_whose_bits_vary_need_leave) {
  const ConvSpec spec = square(DType::f64, ConvKind::weight_grad);
  const std::set<std::string> same = engines(plans_of(spec, {true, true, false, kMuch})),
                              vary = engines(plans_of(spec, {false, true, false, kMuch}));
  BOOST_TEST(!same.empty());
  BOOST_TEST(vary.size() > same.size());
}

BOOST_AUTO_TEST_CASE(the_workspace_is_limited) {
  const ConvSpec spec = square(DType::f32, ConvKind::weight_grad);
  const std::vector<Plan> some = plans_of(spec, {true, true, false, 1 << 20}),
                          all = plans_of(spec, {true, true, false, kMuch});
  BOOST_TEST(!some.empty());
  BOOST_TEST(some.size() < all.size());
  for (const Plan& plan : some) BOOST_TEST(plan.workspace <= 1 << 20);
}

// The convolution is the first one of ResNet-50. The engine that cuDNN likes best pads its 3 channels, which takes 206
// MB of workspace at 256 samples.
BOOST_AUTO_TEST_CASE(a_large_minibatch_has_the_same_engines_as_a_small_one) {
  cuda::LibraryPicks picks;
  Convolutions convolutions("sm_90", picks, true);
  ConvSpec s = square(DType::bf16, ConvKind::forward, 3, 64, 7);
  s.h = s.w = 224;
  s.stride[0] = s.stride[1] = 2;
  std::set<std::string> engines;
  for (const int64_t n : {256, 512, 1024}) {
    s.n = n;
    const auto op = convolutions.plan(s);
    BOOST_TEST(op->scratch_bytes() > 800'000 * n);
    BOOST_TEST(op->scratch_bytes() < 810'000 * n);
    engines.insert(op->implementation());
  }
  BOOST_TEST(engines.size() == 1u);
}

// A strided convolution in strict f32 has no engine in cuDNN 9 but those that copy both operands.
BOOST_AUTO_TEST_CASE(where_no_engine_keeps_to_the_limit_the_least_workspace_is_taken_and_said) {
  cuda::LibraryPicks picks;
  Convolutions convolutions("sm_90", picks, true);
  ConvSpec s = square(DType::f32, ConvKind::forward, 256, 512, 1);
  s.n = 256;
  s.h = s.w = 56;
  s.stride[0] = s.stride[1] = 2;
  int64_t least = kMuch;
  for (const Plan& plan : plans_of(s, {true, false, false, kMuch})) least = std::min(least, plan.workspace);
  BOOST_TEST(least > 1'000'000'000);
  const auto op = convolutions.plan(s);
  BOOST_TEST(op->scratch_bytes() == least + 256);
  BOOST_TEST(op->implementation().ends_with(" 1233 MB of workspace: no fast engine keeps to 617"));
  s.n = 32;
  BOOST_TEST((convolutions.plan(s)->implementation().find("workspace") == std::string::npos));
}

// The precision pass rounds the weight gradients of a GPU, and those of the CPU that it is compared with, because no
// engine that is ready, with or without leave, gives f32 of 16 bits. If a new version of cuDNN has one, the pass should
// use it.
BOOST_AUTO_TEST_CASE(no_engine_gives_a_wide_weight_gradient_of_16_bits) {
  const PlanDevice device(std::string("sm_90"));
  const auto check = [&](DType dtype, int64_t c, int64_t size, int64_t o, int64_t kernel, int64_t stride) {
    ConvSpec s = square(dtype, ConvKind::weight_grad, c, o, kernel);
    s.n = 256;
    s.h = s.w = size;
    s.stride[0] = s.stride[1] = stride;
    BOOST_TEST(engine_count(s, device) > 0, text(s));
    s.wide = true;
    BOOST_TEST(engine_count(s, device) == 0, text(s));
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    check(dtype, 3, 224, 64, 7, 2);
    for (int64_t width = 64, size = 56; width <= 512; width *= 2, size /= 2) {
      check(dtype, width, size, width, 3, 1);
      check(dtype, width, size, 4 * width, 1, 1);
      check(dtype, 4 * width, size, width, 1, 1);
      if (width == 512) continue;
      check(dtype, 2 * width, size, 2 * width, 3, 2);
      check(dtype, 4 * width, size, 8 * width, 1, 2);
    }
  }
}

// cuDNN gives no weight gradient in f32 of 16-bit inputs, so the precision pass asks for one of 16 bits.
BOOST_AUTO_TEST_CASE(what_cudnn_lacks_is_an_error_that_says_so) {
  cuda::LibraryPicks picks;
  Convolutions convolutions("sm_90", picks, true);
  ConvSpec wide = square(DType::bf16, ConvKind::weight_grad);
  wide.wide = true;
  BOOST_CHECK_EXCEPTION(convolutions.plan(wide), Error, [&](const Error& error) {
    const std::string what = error.what();
    return what.starts_with(version() + " has no deterministic implementation of conv2d_weight_grad bf16") &&
           what.find("--fast") != std::string::npos;
  });
  ConvSpec blocked = square(DType::f32, ConvKind::forward);
  blocked.block_in = 16;
  BOOST_CHECK_THROW(convolutions.plan(blocked), InternalError);
  BOOST_CHECK_THROW(PlanDevice(std::string("sm_10")), Error);
}

BOOST_AUTO_TEST_CASE(a_failed_call_is_named_with_cudnns_own_words) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  BOOST_TEST(test::error_of<InternalError>([&] {
               tensor.finalize();
             }).starts_with("cudnnBackendFinalize failed: CUDNN_STATUS_BAD_PARAM"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::convolutions_test
