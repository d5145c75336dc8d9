// Tests that ir::verify() refuses kernels that break one rule each.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "graph/error.h"
#include "tests/compiler/sample_kernels.h"
#include "tests/interpreters/verify_kernel.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::kernel_verify_test {
namespace {

using namespace kb::test;

std::vector<Instr>& body_of(Kernel& kernel) { return kernel.phases[0].body; }

// Returns the first instruction of this kind, in this body or a body inside it.
Instr* find(std::vector<Instr>& body, Code code) {
  for (Instr& instr : body) {
    if (instr.code == code) return &instr;
    if (Instr* inside = find(instr.body, code)) return inside;
  }
  return nullptr;
}

std::string refusal(Kernel kernel, const std::function<void(Kernel&)>& damage) {
  damage(kernel);
  return test::error_of<InternalError>([&] { ir::verify(kernel); });
}

BOOST_AUTO_TEST_SUITE(kernel_verify)

BOOST_AUTO_TEST_CASE(accepts_what_the_builder_writes) {
  ir::verify(scale_shift_relu(DType::bf16));
  ir::verify(column_sums(40));
  ir::verify(row_max(40));
  ir::verify(lower_triangle_of_transpose(DType::f64, 40));
}

BOOST_AUTO_TEST_CASE(refuses_a_broken_rule) {
  const Kernel whole = scale_shift_relu(DType::f32);
  const auto expect = [&](const char* words, const std::function<void(Kernel&)>& damage) {
    const std::string message = refusal(whole, damage);
    BOOST_TEST(contains(message, words));
  };
  expect("a register used unset", [](Kernel& k) { body_of(k).erase(body_of(k).begin()); });
  expect("a register is set twice", [](Kernel& k) { body_of(k).push_back(body_of(k).front()); });
  expect("register out of range", [](Kernel& k) { k.registers -= 1; });
  expect("argument out of range", [](Kernel& k) { find(body_of(k), Code::argument)->integer = 2; });
  expect("an index operand is not i64",
         [](Kernel& k) { find(body_of(k), Code::loop)->body[0].a = find(body_of(k), Code::load)->dst; });
  expect("lane_varying does not follow", [](Kernel& k) { find(body_of(k), Code::compute)->lane_varying = false; });
  expect("buffer out of range", [](Kernel& k) { find(body_of(k), Code::store)->buffer = 3; });
  expect("used otherwise than declared", [](Kernel& k) { find(body_of(k), Code::store)->buffer = 0; });
  expect("type of a buffer", [](Kernel& k) { k.buffers[2].dtype = DType::f16; });
  expect("number of operands", [](Kernel& k) { find(body_of(k), Code::compute)->op = Op::neg; });
  expect("bits on floats", [](Kernel& k) { find(body_of(k), Code::compute)->op = Op::bit_and; });
  expect("emit_math should have expanded", [](Kernel& k) { find(body_of(k), Code::compute)->op = Op::pow; });
  expect("no primitive op", [](Kernel& k) { find(body_of(k), Code::compute)->op = Op::relu; });
  expect("a barrier inside a thread loop", [](Kernel& k) { body_of(k).push_back({.code = Code::barrier}); });
  expect("a loop's step", [](Kernel& k) { find(body_of(k), Code::loop)->integer = 0; });
  expect("streaming argument out of range", [](Kernel& k) { k.streaming_argument = 2; });
  expect("a thread loop inside another, or without a block",
         [](Kernel& k) { find(body_of(k), Code::loop)->bind = Bind::thread; });
}

BOOST_AUTO_TEST_CASE(an_index_by_lane_needs_a_gather) {
  const std::string message = refusal(lower_triangle_of_transpose(DType::f32, 40),
                                      [](Kernel& k) { find(body_of(k), Code::load)->access = Access::contiguous; });
  BOOST_TEST(contains(message, "access does not fit the index"));
}

BOOST_AUTO_TEST_CASE(lanes_do_not_store_at_one_place) {
  const Kernel whole = scale_shift_relu(DType::f32);
  const std::string message =
      refusal(whole, [](Kernel& k) { find(body_of(k), Code::store)->access = Access::uniform; });
  BOOST_TEST(contains(message, "a store for all lanes in a lane loop"));
}

// Lane loops of a CPU may be run in parts, each of which would store the byte.
BOOST_AUTO_TEST_CASE(only_a_gpu_packs_the_bits_of_lanes) {
  Builder b("pointwise", 8, 4);
  const int32_t bits = b.add_buffer({.dtype = DType::u8, .written = true, .read = false});
  b.phase([&] {
    b.threads([&](Reg thread) {
      b.lane_loop(kNone, [&](Reg lane) { b.store_bits(bits, thread, b.less(lane, b.index(3))); });
    });
  });
  const Kernel whole = b.finish();
  ir::verify(whole);
  const auto expect = [&](const char* words, const std::function<void(Kernel&)>& damage) {
    const std::string message = refusal(whole, damage);
    BOOST_TEST(contains(message, words));
  };
  expect("type of a buffer", [](Kernel& k) { k.buffers[0].dtype = DType::f32; });
  expect("used otherwise than declared", [](Kernel& k) { k.buffers[0].written = false; });
  expect("bits of no booleans", [](Kernel& k) {
    Instr* store = find(body_of(k), Code::store_bits);
    store->b = store->a;
  });
  expect("outside the lanes of a thread", [](Kernel& k) { find(body_of(k), Code::loop)->bind = Bind::serial; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::kernel_verify_test
