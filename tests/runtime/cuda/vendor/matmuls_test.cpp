// cuBLASLt without a device: its descriptors can be made and read back; its heuristics cannot be asked.
#include "runtime/cuda/cublaslt/matmuls.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::matmuls_test {

using namespace kb::cublaslt;

BOOST_AUTO_TEST_SUITE(cuda_matmuls)

BOOST_AUTO_TEST_CASE(descriptors_of_every_kind_are_accepted) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (int which = 0; which < 32; ++which) {
      const MatmulSpec spec{.dtype = dtype,
                            .wide = (which & 1) && is_low_precision(dtype),
                            .batch = 3,
                            .m = 5,
                            .n = 7,
                            .k = 9,
                            .transpose_a = (which & 2) != 0,
                            .transpose_b = (which & 4) != 0,
                            .tf32 = (which & 8) && dtype == DType::f32,
                            .bias = (which & 16) != 0};
      BOOST_TEST_CONTEXT(text(spec)) BOOST_CHECK_NO_THROW(Problem{spec});
    }
}

BOOST_AUTO_TEST_CASE(a_pick_is_the_algorithm_word_for_word) {
  cublasLtMatmulAlgo_t algorithm{};
  for (size_t i = 0; i < std::size(algorithm.data); ++i) algorithm.data[i] = 0x9e3779b97f4a7c15u * (i + 1) - (i == 3);
  algorithm.data[5] = 0;
  const cublasLtMatmulAlgo_t again = from_pick(to_pick(algorithm));
  BOOST_TEST(std::ranges::equal(again.data, algorithm.data));
}

BOOST_AUTO_TEST_CASE(a_pick_of_another_version_is_refused) {
  const std::string pick = to_pick({});
  for (const std::string& bad : {std::string(), std::string("1 2 3 4 5 6 7 8 9"), pick + " 7", pick.substr(0, 12)})
    BOOST_CHECK_EXCEPTION(from_pick(bad), Error, [&](const Error& error) {
      const std::string text = error.what();
      return text.starts_with("the recorded choice '" + bad + "' of a matrix product") &&
             text.ends_with(cuda::kPickHint);
    });
}

BOOST_AUTO_TEST_CASE(a_failed_call_is_named) {
  BOOST_TEST(test::error_of<InternalError>([&] {
               check(CUBLAS_STATUS_NOT_INITIALIZED, "cublasLtCreate");
             }).starts_with("cublasLtCreate failed: "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::matmuls_test
