// Tests the pass that keeps a GPU's masks as one bit an element, with equal values.
#include <boost/test/unit_test.hpp>

#include "compiler/pipeline/pipeline.h"
#include "graph/functions.h"
#include "graph/infer.h"
#include "tests/compiler/passes/checked_pass.h"

namespace kb::pack_masks_test {

namespace {

struct Block {
  DType dtype = DType::bf16;
  int64_t channels = 16;
  bool residual = true;     // the activation follows from two large values, not from one
  bool reads_it = false;    // backward reads the activation for another purpose, too
  bool reads_both = false;  // backward reads both values that the activation follows from
};

// The end of a residual block and its gradient, which has a sum behind it.
Graph block_of(const Block& block) {
  Graph graph("block");
  const Dims shape{2, 3, 3, block.channels};
  const auto in = [&](const char* name) { return input(graph, name, block.dtype, shape, "NHWC"); };
  const Tensor x = in("x"), y = in("y");
  const Tensor z = relu(block.residual ? x + y : x);
  // A library call between forward and backward keeps them from being one launch.
  const Tensor w = input(graph, "w", block.dtype, {block.channels, block.channels}, "__");
  const Tensor dz = in("dz") + reshape(matmul(reshape(z, {-1, block.channels}), w), shape);
  const Tensor dx = select(z > 0.0, block.reads_it ? dz * z : dz, 0.0);
  graph.outputs.push_back({"z", z.value(), Merge::per_sample});
  graph.outputs.push_back({"dx", dx.value(), Merge::per_sample});
  const Tensor wide = cast(dx, DType::f32);
  const auto put = [&](const char* name, const Tensor& sums) {
    graph.outputs.push_back({name, sum(sums, {0, 1, 2}).value(), Merge::sum});
  };
  put("bias", wide);
  if (block.reads_both) put("weight", wide * cast(x, DType::f32));
  if (block.reads_both) put("other weight", wide * cast(y, DType::f32));
  return graph;
}

// Returns the number of masks that are packed, and checks that the pass keeps all values.
int64_t packed(const Block& block, const Target& target) {
  const Graph after = test::checked_pass("pack_masks", pack_masks, block_of(block), target);
  return std::count_if(after.nodes.begin(), after.nodes.end(),
                       [](const Node& node) { return node.op == Op::pack_bits; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pack_masks_pass)

BOOST_AUTO_TEST_CASE(the_mask_of_a_residual_block_is_packed) {
  const Target gpu = gpu_target("sm_90");
  BOOST_TEST(packed({}, gpu) == 1);
  BOOST_TEST(packed({.dtype = DType::f16, .channels = 8}, gpu) == 1);
}

BOOST_AUTO_TEST_CASE(all_others_stay) {
  const Target gpu = gpu_target("sm_90");
  BOOST_TEST(packed({}, generic_cpu_target()) == 0);
  BOOST_TEST(packed({.dtype = DType::f32}, gpu) == 0);
  BOOST_TEST(packed({.channels = 12}, gpu) == 0);
  BOOST_TEST(packed({.residual = false}, gpu) == 0);
  BOOST_TEST(packed({.reads_it = true}, gpu) == 0);
  BOOST_TEST(packed({.reads_both = true}, gpu) == 0);
}

// The bits are written where the activation is, and read where the gradient is written and added up.
BOOST_AUTO_TEST_CASE(bits_need_no_launch_of_their_own) {
  CompileOptions options;
  options.target = gpu_target("sm_90");
  const Compiled compiled = compile(block_of({}), options);
  const std::vector<Step>& steps = compiled.program.at(PartRole::final).steps;
  BOOST_REQUIRE(steps.size() == 3u);
  const auto has_bits = [&](const Step& step, bool written) {
    const ir::Kernel& kernel =
        compiled.program.at(PartRole::final).kernels.at(static_cast<size_t>(step.launch()->kernel));
    return std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [&](const ir::BufferParam& buffer) {
      return buffer.dtype == DType::u8 && buffer.written == written;
    });
  };
  BOOST_TEST(has_bits(steps[0], true));
  BOOST_TEST(has_bits(steps[2], false));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_packed_is_refused) {
  const auto refused = [](Op op, const Type& type) {
    const std::vector<Type> types{type};
    BOOST_CHECK_EXCEPTION(infer(op, types, {}), Mistake,
                          [&](const Mistake& mistake) { return mistake.got == to_string(type); });
  };
  refused(Op::pack_bits, {DType::boolean, {4, 12}, ""});
  refused(Op::pack_bits, {DType::u8, {4, 16}, ""});
  refused(Op::pack_bits, {DType::boolean, {}, ""});
  refused(Op::unpack_bits, {DType::boolean, {4, 16}, ""});
  refused(Op::unpack_bits, {DType::u8, {}, ""});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::pack_masks_test
