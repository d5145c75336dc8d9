#include "runtime/finite.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::finite_test {
namespace {

NamedTensor tensor(const std::string& name, DType dtype, const std::vector<double>& values) {
  NamedTensor result{name, {dtype, {std::ssize(values)}, ""}, {}};
  result.data.resize(static_cast<size_t>(result.type.bytes()));
  for (size_t i = 0; i < values.size(); ++i)
    store_element(dtype, result.data.data(), static_cast<int64_t>(i), values[i]);
  return result;
}

std::string text(const std::vector<NamedTensor>& tensors) { return not_finite_text(views_of(tensors)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(finite)

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_named_with_its_place) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    BOOST_TEST(text({tensor("a", dtype, {1, -2, 0}), tensor("b", dtype, {})}) == "");
    BOOST_TEST(text({tensor("a", dtype, {1, 2}), tensor("b", dtype, {1, NAN, 2, -INFINITY})}) ==
               "b: 2 of 4 values are not finite, the first at index 1: nan");
    BOOST_TEST(text({tensor("a", dtype, {INFINITY}), tensor("b", dtype, {NAN}), tensor("c", dtype, {NAN})}) ==
               "a: 1 of 1 values is not finite, the first at index 0: inf; and 2 more tensors");
  }
  BOOST_TEST(text({tensor("a", DType::f32, {3.4e38, -3.4e38, 1e-45})}) == "");
  BOOST_TEST(text({tensor("i", DType::i32, {2139095040, -1})}) == "");  // 2139095040 has the bits of an f32 infinity
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::finite_test
