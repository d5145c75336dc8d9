// Walks the table of ops and checks that the columns of every row agree with each other.
#include "graph/ops.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "graph/error.h"
#include "graph/formula.h"

namespace kb::ops_test {
namespace {

using Point = std::vector<double>;

// Returns arguments at which the op is defined and smooth: in the row's interval, away from ties, and from 0 and the
// integers and halves, where ops have kinks.
Point random_point(Op op, std::mt19937& random) {
  const OpInfo& row = info(op);
  std::uniform_real_distribution<double> inside(row.smooth.low, row.smooth.high);
  Point point;
  while (point.size() < static_cast<size_t>(row.arity)) {
    const double value = inside(random);
    const bool at_kink = std::fabs(2 * value - std::round(2 * value)) < 0.05;
    const bool tied = !point.empty() && std::fabs(value - point[0]) < 0.02;
    if (!at_kink && !tied) point.push_back(value);
  }
  if (op == Op::select) point[0] = static_cast<double>(random() % 2);
  return point;
}

// Returns a central difference of the fourth order, whose relative error is about 1e-11 for these functions.
double difference(Op op, Point point, size_t argument) {
  const double h = 1e-3, x = point[argument];
  const auto at = [&](double offset) {
    point[argument] = x + offset;
    return evaluate_op(op, point);
  };
  return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
}

bool is_differentiable(const OpInfo& row, int argument) {
  if (row.op == Op::select) return argument > 0;
  return row.rule == TypeRule::floats || row.rule == TypeRule::arithmetic;
}

// Whether every call in the formula is of a point-wise op and has the op's number of arguments.
bool uses_only_pointwise(const Formula& formula) {
  if (formula.kind != Formula::Kind::call) return true;
  if (!is_pointwise(formula.op) || formula.args.size() != static_cast<size_t>(info(formula.op).arity)) return false;
  for (const FormulaRef& arg : formula.args)
    if (!uses_only_pointwise(*arg)) return false;
  return true;
}

bool mentions_result(const Formula& formula) {
  if (formula.kind == Formula::Kind::result) return true;
  for (const FormulaRef& arg : formula.args)
    if (mentions_result(*arg)) return true;
  return false;
}

double derivative(Op op, int argument, const Point& point) {
  return evaluate(*derivative_of(op, argument), point, evaluate_op(op, point));
}

const double kNan = std::nan("");

}  // namespace

BOOST_AUTO_TEST_SUITE(ops)

BOOST_AUTO_TEST_CASE(every_row_has_a_name_of_its_own_and_a_doc_line) {
  std::set<std::string_view> names;
  for (const OpInfo& row : all_ops()) {
    BOOST_TEST_CONTEXT(row.name) {
      BOOST_TEST(names.insert(row.name).second);
      BOOST_TEST(!row.doc.empty());
      BOOST_TEST((parse_op(row.name) == row.op));
      BOOST_TEST(&info(row.op) == &row);
      BOOST_TEST((row.cls == OpClass::pointwise) == (row.rule != TypeRule::none));
      const bool is_primitive = row.cls == OpClass::pointwise && row.formula.empty();
      BOOST_TEST((row.real != nullptr || row.integer != nullptr) == is_primitive);
      BOOST_TEST((row.ulps > 0) == (row.cost == OpCost::function));
      BOOST_TEST(row.smooth.low < row.smooth.high);
    }
  }
  BOOST_TEST(names.size() == static_cast<size_t>(Op::kCount));
  BOOST_CHECK_THROW(parse_op("no_such_op"), Error);
}

BOOST_AUTO_TEST_CASE(formulas_are_made_of_pointwise_ops) {
  for (const OpInfo& row : all_ops()) {
    BOOST_TEST_CONTEXT(row.name) {
      const FormulaRef formula = formula_of(row.op);
      BOOST_TEST((formula != nullptr) == !row.formula.empty());
      if (formula) BOOST_TEST(uses_only_pointwise(*formula));
      if (formula) BOOST_TEST(!mentions_result(*formula));
      for (int i = 0; row.cls == OpClass::pointwise && i < row.arity; ++i)
        BOOST_TEST(uses_only_pointwise(*derivative_of(row.op, i)));
    }
  }
}

BOOST_AUTO_TEST_CASE(derivatives_agree_with_finite_differences) {
  std::mt19937 random(1);
  for (const OpInfo& row : all_ops()) {
    for (int argument = 0; argument < row.arity; ++argument) {
      if (!is_differentiable(row, argument)) continue;
      for (int trial = 0; trial < 50; ++trial) {
        const Point point = random_point(row.op, random);
        const double expected = difference(row.op, point, static_cast<size_t>(argument));
        const double got = derivative(row.op, argument, point);
        BOOST_TEST(std::fabs(got - expected) <= 1e-6 * std::max(1.0, std::fabs(expected)),
                   row.name << " argument " << argument << " at " << point[0] << ": " << got << ", not " << expected);
      }
    }
  }
}

// Compares each op that has a function of its own in the C library with that function.
BOOST_AUTO_TEST_CASE(composites_are_the_c_librarys_functions) {
  struct Case {
    Op op;
    double (*exact)(double);
  };
  const Case cases[] = {{Op::ceil, std::ceil}, {Op::trunc, std::trunc}, {Op::round, std::nearbyint},
                        {Op::atan, std::atan}, {Op::asin, std::asin},   {Op::acos, std::acos}};
  Point values{0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1e-300, -1e-300, 4503599627370497, 1e300, kNan};
  for (const double x : {0.5, 1.5, 1.0})
    for (const double towards : {-9.0, 9.0})
      values.push_back(std::nextafter(x, towards)), values.push_back(-values.back());
  for (int i = -300; i <= 300; ++i) values.push_back(i / 64.0);
  for (const double sign : {1.0, -1.0}) values.push_back(sign * std::numeric_limits<double>::infinity());
  for (const auto& [op, exact] : cases)
    for (const double x : values) {
      const double wanted = exact(x), got = evaluate_op(op, Point{x});
      const bool same = std::isnan(wanted) ? std::isnan(got)
                        : info(op).exact   ? got == wanted && std::signbit(got) == std::signbit(wanted)
                                           : std::fabs(got - wanted) <= 1e-15 * std::fabs(wanted);
      BOOST_TEST(same, name(op) << "(" << x << ") is " << got << ", not " << wanted);
    }
}

BOOST_AUTO_TEST_CASE(kinks_and_ties_are_as_in_pytorch) {
  BOOST_TEST(derivative(Op::relu, 0, {0}) == 0);
  BOOST_TEST(derivative(Op::abs, 0, {0}) == 0);
  BOOST_TEST(derivative(Op::sign, 0, {3}) == 0);
  BOOST_TEST(derivative(Op::floor, 0, {2}) == 0);
  for (const Op op : {Op::maximum, Op::minimum}) {
    BOOST_TEST(derivative(op, 0, {2, 2}) == 0.5);
    BOOST_TEST(derivative(op, 1, {2, 2}) == 0.5);
  }
  BOOST_TEST(derivative(Op::pow, 0, {0, 0}) == 0);
  BOOST_TEST(derivative(Op::pow, 0, {0, 1}) == 1);
  BOOST_TEST(derivative(Op::pow, 0, {0, 2}) == 0);
  BOOST_TEST(derivative(Op::pow, 1, {0, 2}) == 0);
  BOOST_TEST(derivative(Op::pow, 0, {-2, 3}) == 12);
}

BOOST_AUTO_TEST_CASE(nan_goes_through_relu_maximum_and_minimum) {
  BOOST_TEST(std::isnan(evaluate_op(Op::relu, Point{kNan})));
  for (const Op op : {Op::maximum, Op::minimum}) {
    BOOST_TEST(std::isnan(evaluate_op(op, Point{kNan, 1})));
    BOOST_TEST(std::isnan(evaluate_op(op, Point{1, kNan})));
  }
}

BOOST_AUTO_TEST_CASE(saturated_functions_stay_finite) {
  for (const double x : {-1000.0, -100.0, 100.0, 1000.0}) {
    const bool above = x > 0;
    BOOST_TEST(evaluate_op(Op::sigmoid, Point{x}) == (above ? 1 : 0), boost::test_tools::tolerance(1e-40));
    BOOST_TEST(evaluate_op(Op::softplus, Point{x}) == (above ? x : 0), boost::test_tools::tolerance(1e-40));
    BOOST_TEST(std::fabs(evaluate_op(Op::silu, Point{x}) - (above ? x : 0)) < 1e-40);
    BOOST_TEST(evaluate_op(Op::gelu, Point{x}) == (above ? x : 0));
    for (const Op op : {Op::sigmoid, Op::softplus, Op::silu, Op::gelu, Op::tanh, Op::erf})
      BOOST_TEST(std::isfinite(derivative(op, 0, {x})), name(op) << " at " << x);
  }
}

// The reference values are from Abramowitz and Stegun 1964, tables 7.1 (erf) and 26.1 (normal distribution).
BOOST_AUTO_TEST_CASE(known_values) {
  BOOST_TEST(std::fabs(evaluate_op(Op::erf, Point{0.5}) - 0.5204998778) < 1e-10);
  BOOST_TEST(std::fabs(evaluate_op(Op::gelu, Point{1}) - 0.8413447461) < 1e-10);
  BOOST_TEST(evaluate_op(Op::rsqrt, Point{4}) == 0.5);
  BOOST_TEST(evaluate_op(Op::sigmoid, Point{0}) == 0.5);
  BOOST_TEST(std::fabs(evaluate_op(Op::softplus, Point{0}) - 0.6931471806) < 1e-10);
}

BOOST_AUTO_TEST_CASE(bits_are_those_of_32_bit_integers) {
  BOOST_TEST(evaluate_op(Op::mul_high, Point{4294967295.0, 4294967295.0}) == 4294967294.0);
  BOOST_TEST(evaluate_op(Op::bit_xor, Point{4042322160.0, 4278255360.0}) == 267390960.0);
  BOOST_TEST(evaluate_op(Op::shift_left, Point{3, 31}) == 2147483648.0);
  BOOST_TEST(evaluate_op(Op::shift_right, Point{4294967295.0, 31}) == 1);
  BOOST_TEST(evaluate_op(Op::shift_right, Point{-5, 1}) == -3);
  BOOST_TEST(evaluate_op(Op::bit_and, Point{-1, 255}) == 255);
}

BOOST_AUTO_TEST_CASE(the_language_of_formulas) {
  const double args[] = {3, 5, 7};
  const auto value = [&](const char* text) { return evaluate(*parse_formula(text), args, 11); };
  BOOST_TEST(value("1 + 2 * x") == 7);
  BOOST_TEST(value("(1 + 2) * x - -y") == 14);
  BOOST_TEST(value("z - y - x") == -1);
  BOOST_TEST(value("8 / 4 / 2") == 1);
  BOOST_TEST(value("select(lt(x, y), r, 0.5e1)") == 11);
  for (const char* wrong : {"", "1 +", "(x", "x)", "exp(x, y)", "add(x)", "q", "reduce_sum(x)", "x y", "1..2"})
    BOOST_CHECK_THROW(parse_formula(wrong), std::exception);
}

BOOST_AUTO_TEST_CASE(derivatives_are_simplified) {
  const FormulaRef one = derivative_of(Op::add, 0);
  BOOST_TEST((one->kind == Formula::Kind::number && one->number == 1));
  const FormulaRef y = derivative_of(Op::mul, 0);
  BOOST_TEST((y->kind == Formula::Kind::argument && y->argument == 1));
}

// A reduction begins at its neutral value, which must leave every element as it is, and combines elements by an op of
// two numbers.
BOOST_AUTO_TEST_CASE(a_reduction_begins_at_the_neutral_value_of_its_op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::map<Neutral, double> values = {
      {Neutral::zero, 0}, {Neutral::one, 1}, {Neutral::lowest, -kInfinity}, {Neutral::highest, kInfinity}};
  int rows = 0;
  for (const OpInfo& op : all_ops()) {
    if (!is_fold(op.op)) continue;
    ++rows;
    BOOST_TEST((op.cls == OpClass::reduction));
    const OpInfo& combine = info(op.combine);
    BOOST_TEST_REQUIRE(combine.real != nullptr);
    BOOST_TEST(int{combine.arity} == 2);
    for (const double x : {-kInfinity, -2.5, 1.0, 3e300, kInfinity}) {
      BOOST_TEST(combine.real(x, values.at(op.neutral), 0) == x, op.name);
      BOOST_TEST(combine.real(values.at(op.neutral), x, 0) == x, op.name);
    }
  }
  BOOST_TEST(rows >= 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::ops_test
