#include "runtime/cuda/alignment.h"

#include <array>
#include <boost/test/unit_test.hpp>

#include "tests/support/says.h"

namespace kb::alignment_test {

using namespace kb::cuda;

namespace {

alignas(kWorkspaceAlignment) std::array<std::byte, 1024> memory;

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_alignment)

BOOST_AUTO_TEST_CASE(a_workspace_starts_at_the_next_multiple_of_256) {
  for (const auto& [at, start] : {std::pair{0, 0}, {1, 256}, {64, 256}, {255, 256}, {256, 256}, {257, 512}}) {
    BOOST_TEST(workspace_in(memory.data() + at) - memory.data() == start);
    BOOST_TEST(workspace_aligned(at) == start);
  }
  BOOST_TEST(workspace_in(nullptr) == nullptr);
}

BOOST_AUTO_TEST_CASE(an_operand_lies_at_a_multiple_of_16) {
  BOOST_CHECK_NO_THROW(check_operand("matmul", memory.data() + 16));
  BOOST_CHECK_EXCEPTION(check_operand("matmul", memory.data() + 8), InternalError,
                        test::says("matmul: an operand that does not lie at a multiple of 16 bytes"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::alignment_test
