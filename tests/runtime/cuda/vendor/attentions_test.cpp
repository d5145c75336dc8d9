// Plans cuDNN's flash attention for a GPU that is not here. cuDNN compiles its kernels when it plans, for which it
// needs a driver's library: where there is none, one that knows no device stands in for it.
#include "runtime/cuda/cudnn/attentions.h"

#include <dlfcn.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "graph/error.h"
#include "runtime/cuda/cudnn/attention_graph.h"
#include "tests/support/says.h"

namespace kb::attentions_test {

using namespace kb::cudnn;

namespace {

// Loads a driver's library, or the one that stands in for it. The vendor's tests all run in one process: it must be
// loaded before the first plan.
struct Driver {
  Driver() {
    if (dlopen("libcuda.so.1", RTLD_NOW)) return;
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").replace_filename("libabsent_driver.so");
    BOOST_REQUIRE_MESSAGE(dlopen(beside.c_str(), RTLD_NOW), dlerror());
  }
};

AttentionSpec spec_of(bool backward, int64_t length, int64_t features, bool causal, bool lengths) {
  AttentionSpec spec{AttentionShape{8, 4, length, length, features, features}};
  spec.backward = backward;
  spec.causal = causal;
  spec.lengths = lengths;
  spec.scale = 0.125;
  return spec;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_attentions)

// The shapes of gpt (causal), bert (key lengths) and transformer (both, and other numbers of queries than of keys). The
// table of all shapes is gpu_attention's.
BOOST_FIXTURE_TEST_CASE(each_mask_has_a_deterministic_plan, Driver) {
  cuda::LibraryPicks picks;
  Attentions attentions("sm_90", picks);
  for (const bool backward : {false, true})
    for (const bool causal : {false, true}) {
      AttentionSpec spec = spec_of(backward, 200, 64, causal, true);
      if (!causal) spec.s = 72, spec.e = 32, spec.dtype = DType::f16;
      BOOST_TEST_CONTEXT(text(spec)) {
        const auto op = attentions.plan(spec);
        BOOST_TEST(op->implementation().starts_with("cudnn attention engine "));
        const int64_t sums = backward ? row_sums_bytes(spec) : 0, most = attention_workspace(spec) + sums + 512;
        BOOST_TEST(op->scratch_bytes() <= most);
        BOOST_TEST(op->scratch_bytes() >= most - (2 << 20));
      }
    }
  BOOST_TEST(picks.size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(a_pick_gives_the_same_plan_again, Driver) {
  const AttentionSpec spec = spec_of(true, 128, 32, true, false);
  cuda::LibraryPicks picks;
  const std::string first = Attentions("sm_90", picks).plan(spec)->implementation();
  BOOST_REQUIRE(picks.contains(text(spec)));
  BOOST_TEST(Attentions("sm_90", picks).plan(spec)->implementation() == first);
  picks[text(spec)] = "999";
  BOOST_CHECK_EXCEPTION(Attentions("sm_90", picks).plan(spec), Error, test::says("the recorded choice '999'"));
}

// The gradients take 16 bits, in whole tiles of 64 x 128: 8 samples, 4 heads, 4 x 2 tiles.
BOOST_AUTO_TEST_CASE(the_workspace_holds_the_gradients_of_all_scores) {
  const int64_t backward = attention_workspace(spec_of(true, 200, 64, true, true)),
                forward = attention_workspace(spec_of(false, 200, 64, true, true));
  BOOST_TEST(backward - forward == 8 * 4 * 256 * 256 * 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::attentions_test
