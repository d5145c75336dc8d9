// Boost.Test's macros, which behave as it documents them and compile in a third of the time: its own checks go through
// several layers of templates for each pair of types, and each of its cases compiles five messages about where it is.
// A check with a second argument, a tolerance or a message, stays Boost's. The precompiled header includes this file; a
// test that is compiled without it has Boost's macros.
#pragma once
#include <boost/test/unit_test.hpp>
#include <string_view>
#include <type_traits>

namespace kb::test {

// Check says which check it is, and whether the case ends if it fails.
struct Check {
  const char* text;
  const char* file;
  int line;
  boost::test_tools::tt_detail::tool_level level;
};

// Reports to Boost.Test that a check holds or fails.
void report_check(const boost::test_tools::assertion_result& result, const Check& check);
// Reports likewise, with a text that describes the outcome in place of the condition.
void report_outcome(const boost::test_tools::assertion_result& result, const Check& check);
// Tells Boost.Test that the test has come to this line, which it names if an exception or a signal ends the test.
void pass_line(const char* file, int line);

// Prints a value as Boost.Test does, and the elements of a container, which Boost.Test does not print.
template <class T>
void print_value(std::ostream& to, const T& value) {
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

// Printable is a value whose type only its function knows, so that comparisons of all types share one report.
struct Printable {
  const void* value;
  void (*print)(std::ostream& to, const void* value);
};

template <class T>
void print_erased(std::ostream& to, const void* value) {
  print_value(to, *static_cast<const T*>(value));
}

// Compared is what the check of a comparison has left to do: nothing.
struct Compared {};

// Reports a comparison; `failed` is the sign that stands between both sides if it does not hold.
Compared report_comparison(bool holds, const Check& check, Printable left, const char* failed, Printable right);

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

// LeftSide holds the left operand of a comparison, or a condition that stands alone. On the right a literal is taken as
// a pointer: otherwise each of its lengths would be a type to compile for.
template <class L>
struct LeftSide {
  const Check& check;
  const L& left;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"  // a size and a literal
#define KB_COMPARISON(sign, failed)                                                      \
  template <class R>                                                                     \
  Compared operator sign(const R& right) const {                                         \
    return report_comparison(operand<L, R>(left) sign operand<R, L>(right), check,       \
                             {static_cast<const void*>(&left), print_erased<L>}, failed, \
                             {static_cast<const void*>(&right), print_erased<R>});       \
  }                                                                                      \
  Compared operator sign(const char* right) const { return operator sign<const char*>(right); }
  KB_COMPARISON(==, " != ")
  KB_COMPARISON(!=, " == ")
  KB_COMPARISON(<, " >= ")
  KB_COMPARISON(<=, " > ")
  KB_COMPARISON(>, " <= ")
  KB_COMPARISON(>=, " < ")
#undef KB_COMPARISON
#pragma GCC diagnostic pop
};

// `check << a + b == c` takes a + b as the left side: << binds less than arithmetic, and more than comparisons.
template <class L>
LeftSide<L> operator<<(const Check& check, const L& left) {
  return {check, left};
}

inline void finish(Compared) {}
template <class L>
void finish(const LeftSide<L>& condition) {
  report_check(boost::test_tools::assertion_result(condition.left), condition.check);
}

// Runs a test case of this type, as Boost.Test does.
void enter_case();
template <class Case>
void run_case() {
  enter_case();
  Case test;
  if constexpr (requires { test.setup(); }) test.setup();
  test.test_method();
  if constexpr (requires { test.teardown(); }) test.teardown();
}
boost::unit_test::test_case* make_case(void (*run)(), const char* name, const char* file, int line);

}  // namespace kb::test

#define KB_PLACE(text, level) \
  ::kb::test::Check { text, __FILE__, __LINE__, ::boost::test_tools::tt_detail::level }
#define KB_SHORT_CHECK(check) ::kb::test::finish(KB_PLACE(#check, CHECK) << check)

// BOOST_TEST takes up to seven arguments, because a message may hold commas. Those of one argument are short.
#define KB_EIGHTH(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#undef BOOST_TEST
#define BOOST_TEST(...)                                                                                            \
  KB_EIGHTH(__VA_ARGS__, BOOST_TEST_CHECK, BOOST_TEST_CHECK, BOOST_TEST_CHECK, BOOST_TEST_CHECK, BOOST_TEST_CHECK, \
            BOOST_TEST_CHECK, KB_SHORT_CHECK)                                                                      \
  (__VA_ARGS__)
#undef BOOST_CHECK
#define BOOST_CHECK(condition) ::kb::test::finish(KB_PLACE(#condition, CHECK) << (condition))
#undef BOOST_REQUIRE
#define BOOST_REQUIRE(condition) ::kb::test::finish(KB_PLACE(#condition, REQUIRE) << (condition))

#define KB_CHECK_EXCEPTION(work, caught, holds_if_none, none, holds_if_caught, one) \
  do {                                                                              \
    try {                                                                           \
      ::kb::test::pass_line(__FILE__, __LINE__);                                    \
      work;                                                                         \
      ::kb::test::report_outcome(holds_if_none, KB_PLACE(none, CHECK));             \
    } catch (caught) {                                                              \
      ::kb::test::report_outcome(holds_if_caught, KB_PLACE(one, CHECK));            \
    }                                                                               \
  } while (false)
#undef BOOST_CHECK_THROW
#define BOOST_CHECK_THROW(work, kind) \
  KB_CHECK_EXCEPTION(work, const kind&, false, "exception " #kind " expected but not raised", true, "")
#undef BOOST_CHECK_EXCEPTION
#define BOOST_CHECK_EXCEPTION(work, kind, predicate)                                                            \
  KB_CHECK_EXCEPTION(work, const kind& ex, false, "exception " #kind " expected but not raised", predicate(ex), \
                     "exception " #kind " raised, but not as " #predicate " says")
#undef BOOST_CHECK_NO_THROW
#define BOOST_CHECK_NO_THROW(work) \
  KB_CHECK_EXCEPTION(work, ..., true, "", false, "unexpected exception thrown by " #work)

#undef BOOST_FIXTURE_TEST_CASE_WITH_DECOR
#define BOOST_FIXTURE_TEST_CASE_WITH_DECOR(name, fixture, decorators)                          \
  struct name : public fixture {                                                               \
    void test_method();                                                                        \
  };                                                                                           \
  BOOST_AUTO_TU_REGISTRAR(name)                                                                \
  (::kb::test::make_case(&::kb::test::run_case<name>, #name, __FILE__, __LINE__), decorators); \
  void name::test_method()
