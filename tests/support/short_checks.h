// BOOST_TEST of one argument behaves as Boost.Test documents it, and compiles in a third of the time: Boost's own goes
// through several layers of templates for each pair of types. With a second argument, a tolerance or a message, it
// stays Boost's. The precompiled header includes this file; a test that is compiled without it has Boost's BOOST_TEST.
#pragma once
#include <boost/test/unit_test.hpp>
#include <string_view>
#include <type_traits>

namespace kb::test {

// Reports the check of `text` to Boost.Test, with the values if it failed.
void report_check(const boost::test_tools::assertion_result& result, const char* text, const char* file, size_t line);

// Prints a value as Boost.Test does, and the elements of a container, which Boost.Test does not print.
template <class T>
[[gnu::noinline]] void print_value(std::ostream& to, const T& value) {
  if constexpr (
      !requires { to << value; } && requires { value.begin(); }) {
    to << "{";
    for (const auto& element : value) {
      to << " ";
      print_value(to, element);
    }
    to << " }";
  } else {
    boost::test_tools::tt_detail::print_log_value<T>()(to, value);
  }
}

// Returns the result of a comparison of `left` and `right`; `failed` is the sign that stands between them if it is
// false.
template <class L, class R>
[[gnu::noinline]] boost::test_tools::assertion_result failed_comparison(const L& left, const char* failed,
                                                                        const R& right) {
  boost::test_tools::assertion_result result(false);
  result.message() << " [";
  print_value(result.message().stream(), left);
  result.message() << failed;
  print_value(result.message().stream(), right);
  result.message() << "]";
  return result;
}

// Texts that end in a zero are compared by their characters.
template <class T>
concept CText = std::is_convertible_v<const T&, const char*>;

template <class T, class Other>
decltype(auto) operand(const T& value) {
  if constexpr (CText<T> && CText<Other>)
    return std::string_view(value);
  else
    return (value);
}

// LeftSide holds the left operand of a comparison, or a condition that stands alone.
template <class L>
struct LeftSide {
  const L& left;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"  // a size and a literal
#define KB_COMPARISON(sign, failed)                                                                      \
  template <class R>                                                                                     \
  boost::test_tools::assertion_result operator sign(const R& right) const {                              \
    if (operand<L, R>(left) sign operand<R, L>(right)) return boost::test_tools::assertion_result(true); \
    return failed_comparison(left, failed, right);                                                       \
  }
  KB_COMPARISON(==, " != ")
  KB_COMPARISON(!=, " == ")
  KB_COMPARISON(<, " >= ")
  KB_COMPARISON(<=, " > ")
  KB_COMPARISON(>, " <= ")
  KB_COMPARISON(>=, " < ")
#undef KB_COMPARISON
#pragma GCC diagnostic pop

  operator boost::test_tools::assertion_result() const { return boost::test_tools::assertion_result(left); }
};

// `CheckStart{} << a + b == c` takes a + b as the left side: << binds less than arithmetic, and more than comparisons.
struct CheckStart {
  template <class L>
  LeftSide<L> operator<<(const L& left) const {
    return {left};
  }
};

}  // namespace kb::test

// BOOST_TEST takes up to seven arguments, because a message may hold commas. Those of one argument are short.
#define KB_EIGHTH(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define KB_SHORT_CHECK(check) \
  ::kb::test::report_check(::kb::test::CheckStart{} << check, #check, __FILE__, static_cast<size_t>(__LINE__))
#undef BOOST_TEST
#define BOOST_TEST(...)                                                                                            \
  KB_EIGHTH(__VA_ARGS__, BOOST_TEST_CHECK, BOOST_TEST_CHECK, BOOST_TEST_CHECK, BOOST_TEST_CHECK, BOOST_TEST_CHECK, \
            BOOST_TEST_CHECK, KB_SHORT_CHECK)                                                                      \
  (__VA_ARGS__)
