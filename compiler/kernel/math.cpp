// Expands transcendental functions. Coefficients are minimax fits of the relative error of the whole function, rounded
// to f32 one after the other from the lowest power up, the rest fitted again after each. The 2^-b beside a polynomial
// is the error that is left after rounding.
#include "compiler/kernel/math.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "graph/error.h"
#include "graph/formula.h"

namespace kb {
namespace {

using ir::Builder;
using ir::kNone;
using ir::Reg;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Writes the functions in f32 arithmetic on registers.
class Math {
 public:
  explicit Math(Builder& b) : b_(b) {}

  // Clamping keeps NaN, as minimum and select do; 2^n is applied in two halves, so that results below the normal range
  // round once. Below -104 the result is 0 without a product, since one that underflows takes hundreds of cycles on
  // Intel's processors, and half of the scores of causal attention are -infinity.
  Reg exp(Reg x) {
    const Reg vanishes = lt(x, -104);
    const Reg inside = minimum(select(vanishes, number(0), x), number(89));
    const Reg n = floor(fma(inside, number(0x1.715476p+0), number(0.5)));
    Reg r = fma(n, number(-0x1.62e43p-1), inside);  // ln 2 in two parts
    r = fma(n, number(0x1.05c61p-29), r);
    // e^r = 1 + r + r^2 q(r), |r| <= ln(2) / 2: 2^-28.2
    const Reg q = polynomial(r, {0x1.fffffcp-2, 0x1.55548cp-3, 0x1.55585ap-5, 0x1.123d72p-7, 0x1.6ab8d2p-10});
    return select(vanishes, number(0), scale(add(fma(q, mul(r, r), r), number(1)), b_.convert(DType::i32, n)));
  }

  Reg log(Reg x) {
    const Reduced m = reduce(x);
    Reg r = log_sum(m.exponent, sub(m.mantissa, number(1)));
    r = select(lt(x, kInfinity), r, x);  // keeps infinity and NaN
    r = select(lt(x, 0), number(kNan), r);
    return select(eq(x, 0), number(-kInfinity), r);
  }

  // 1 + x = u + c exactly; c is added to u's mantissa minus 1, which gives x itself while u is near 1.
  Reg log1p(Reg x) {
    const Reg u = add(x, number(1)), one = sub(u, x);
    const Reg c = add(sub(number(1), one), sub(x, sub(u, one)));
    const Reduced m = reduce(u);
    const Reg e = integer_minimum(m.power, 120);
    const Reg shrunk = mul(c, power_of_two(integer_sub(integer(0), e)));
    Reg r = log_sum(m.exponent, add(sub(m.mantissa, number(1)), shrunk));
    r = select(compare(Op::eq, add(x, x), x), x, r);  // keeps signed zeros and infinity
    r = select(eq(x, -1), number(-kInfinity), r);
    return select(compare(Op::ge, x, number(-1)), r, number(kNan));
  }

  // |tanh x| is |x| + |x|^3 P(x^2) near 0, else 1 - 2 / (e^(2|x|) + 1).
  Reg tanh(Reg x) {
    const Reg a = absolute(x), z = mul(a, a);
    // P for |x| <= 0.64: 2^-31.8
    const Reg p =
        polynomial(z, {-0x1.555554p-2, 0x1.11106ep-3, -0x1.b9edcp-5, 0x1.63718ep-6, -0x1.0b3a62p-7, 0x1.1595dcp-9});
    const Reg near = fma(mul(p, z), a, a);
    const Reg grown = exp(add(a, a));
    const Reg far = sub(number(1), div(number(2), add(grown, number(1))));
    return with_sign_of(select(lt(a, 0.625), near, far), x);
  }

  // |erf x| is |x| + |x| P(x^2) for |x| < 1, else 1 - exp(Q(|x|)), where Q approximates log(erfc).
  Reg erf(Reg x) {
    const Reg a = absolute(x), z = mul(a, a);
    // P: 2^-29.4
    const Reg p = polynomial(z, {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2ce6p-4, -0x1.b7f71ap-6, 0x1.53f224p-8,
                                 -0x1.a3515ep-11, 0x1.4771fep-14});
    const Reg near = fma(p, a, a);
    // Q for 1 <= |x| <= 4: 2^-29.7
    const Reg q = polynomial(minimum(a, number(4)), {-0x1.502cc6p-12, -0x1.208e5p+0, -0x1.46a992p-1, -0x1.a6c7e2p-4,
                                                     0x1.66a356p-6, -0x1.83fc1p-9, 0x1.896e66p-13});
    const Reg far = sub(number(1), exp(q));
    return with_sign_of(select(lt(a, 1), near, far), x);
  }

  // |x|^y is 2^(y log2 |x|), with the logarithm and the product in two f32 each.
  Reg pow(Reg x, Reg y) {
    const Reg a = absolute(x);
    const Pair log2 = log2_pair(a);
    const Reg product = mul(y, log2.high);
    const Reg rest = fma(y, log2.low, fma(y, log2.high, neg(product)));
    const Reg t = minimum(maximum(product, number(-200)), number(200));
    const Reg n = floor(add(t, number(0.5)));
    const Reg inside = compare(Op::eq, t, product);
    const Reg r = add(sub(t, n), select(inside, rest, number(0)));
    // 2^r = 1 + r q(r), |r| <= 1/2: 2^-32.4
    const Reg q = polynomial(
        r, {0x1.62e43p-1, 0x1.ebfbep-3, 0x1.c6b07p-5, 0x1.3b2a3ap-7, 0x1.5da4eep-10, 0x1.443504p-13, 0x1.df963ap-17});
    return pow_specials(x, y, scale(fma(r, q, number(1)), b_.convert(DType::i32, n)));
  }

  // atan t is t + t^3 P(t^2) on [0, 1]; beyond that, atan a = pi / 2 + atan(-1 / a).
  Reg atan(Reg x) {
    const Reg a = absolute(x);
    const Reg beyond = compare(Op::gt, a, number(1));
    const Reg t = div(select(beyond, number(-1), a), select(beyond, a, number(1))), z = mul(t, t);
    // P: 2^-28.5
    const Reg p = polynomial(z, {-0x1.55553ep-2, 0x1.9991e6p-3, -0x1.2420b6p-3, 0x1.c08f62p-4, -0x1.58155p-4,
                                 0x1.da5e86p-5, -0x1.fdfb44p-6, 0x1.64c0a4p-7, -0x1.d495bap-10});
    const Reg near = fma(mul(p, z), t, t);
    const Reg far = add(number(0x1.921fb6p+0), add(near, number(-0x1.777a5cp-25)));  // pi / 2 in two parts
    return with_sign_of(select(beyond, far, near), x);
  }

  Reg sin(Reg x) { return sine(x, 0); }
  Reg cos(Reg x) { return sine(x, 1); }

 private:
  // Returns sin(x + quarters * pi / 2).
  Reg sine(Reg x, double quarters) {
    const Reg n = floor(fma(x, number(0x1.45f306p-1), number(0.5)));
    Reg r = fma(n, number(-0x1.921fb6p+0), x);  // pi / 2 in three parts (Cody and Waite)
    r = fma(n, number(0x1.777a5cp-25), r);
    r = fma(n, number(0x1.ee59dap-50), r);
    r = minimum(maximum(r, number(-0.8)), number(0.8));  // bounds r where n is too large to be exact
    const Reg z = mul(r, r);
    // |r| <= pi / 4: sin 2^-27.9, cos 2^-32.7
    const Reg s = polynomial(z, {-0x1.555544p-3, 0x1.1106bcp-7, -0x1.991696p-13});
    const Reg sin = fma(mul(s, z), r, r);
    const Reg c = polynomial(z, {-0.5, 0x1.55554ap-5, -0x1.6c0c14p-10, 0x1.99de6ap-16});
    const Reg cos = fma(c, z, number(1));
    const Reg turned = add(n, number(quarters));
    const Reg quarter = fma(floor(mul(turned, number(0.25))), number(-4), turned);  // quadrant: 0, 1, 2 or 3
    const Reg half = compare(Op::ge, quarter, number(2));
    const Reg odd = compare(Op::ge, select(half, sub(quarter, number(2)), quarter), number(1));
    const Reg positive = select(odd, cos, sin);
    const Reg value = select(half, neg(positive), positive);
    return quarters == 0 ? select(eq(x, 0), x, value) : value;  // keeps -0
  }

  struct Reduced {
    Reg mantissa;  // in [sqrt(1/2), sqrt(2))
    Reg exponent;  // an f32
    Reg power;     // the exponent as i32
  };
  struct Pair {
    Reg high, low;
  };

  // Splits positive x into mantissa * 2^exponent; denormal numbers are scaled up first.
  Reduced reduce(Reg x) {
    const Reg small = lt(x, 0x1p-126);
    const Reg bits = b_.bitcast(DType::i32, select(small, mul(x, number(0x1p+23)), x));
    const Reg above = integer_sub(bits, integer(0x3f3504f3));  // sqrt(1/2)
    Reg power = b_.compute(Op::shift_right, above, integer(23));
    const Reg mantissa = b_.bitcast(DType::f32, integer_sub(bits, b_.compute(Op::shift_left, power, integer(23))));
    power = integer_sub(power, select(small, integer(23), integer(0)));
    return {mantissa, b_.convert(DType::f32, power), power};
  }

  // Returns e ln 2 + log(1 + f) = e ln 2 + f - f^2 / 2 + f^3 P(f) for sqrt(1/2) <= 1 + f <= sqrt(2): 2^-29.2
  Reg log_sum(Reg e, Reg f) {
    const Reg z = mul(f, f);
    const Reg p = polynomial(f, {0x1.555548p-2, -0x1.00007p-2, 0x1.99a54p-3, -0x1.552f18p-3, 0x1.23036ap-3,
                                 -0x1.0103dcp-3, 0x1.eff128p-4, -0x1.bf2be4p-4, 0x1.b5ad92p-5});
    Reg r = fma(mul(p, f), z, mul(e, number(-0x1.05c61p-29)));
    r = fma(z, number(-0.5), r);
    return fma(e, number(0x1.62e43p-1), add(f, r));
  }

  // Returns log2 of a positive number as high + low: with s = (m - 1) / (m + 1), log2 m = 2 / ln 2 (s + s^3 / 3 + ...).
  Pair log2_pair(Reg a) {
    const Reduced m = reduce(a);
    const Reg f = sub(m.mantissa, number(1)), d = add(m.mantissa, number(1));
    const Reg d_low = sub(m.mantissa, sub(d, number(1)));
    const Reg s = div(f, d);
    const Reg s_low = div(fma(neg(s), d_low, fma(neg(s), d, f)), d);
    const Reg z = mul(s, s);
    // (2 / ln 2) (atanh(s) - s) / s^3: 2^-36.3
    const Reg q = polynomial(z, {0x1.ec709ep-1, 0x1.2776ep-1, 0x1.a5d042p-2, 0x1.589108p-2});
    const Reg first = number(0x1.715476p+1), second = number(0x1.4ae0cp-25);  // 2 / ln 2
    const Reg p = mul(s, first);
    Reg p_low = fma(s, second, fma(s, first, neg(p)));
    p_low = fma(mul(s, z), q, fma(s_low, first, p_low));
    const Reg sum = add(m.exponent, p);
    const Reg low = add(add(sub(m.exponent, sum), p), p_low);
    const Reg high = add(sum, low);  // the larger part, so that the product with y keeps its bits
    const Reg rest = add(sub(sum, high), low);
    const Reg zero = eq(a, 0), finite = lt(a, kInfinity);
    return {select(zero, number(-kInfinity), select(finite, high, a)),
            select(zero, number(0), select(finite, rest, number(0)))};
  }

  // Turns r = |x|^y into x^y with the special cases of C99, F.9.4.4.
  Reg pow_specials(Reg x, Reg y, Reg r) {
    const Reg whole = compare(Op::eq, floor(y), y);
    const Reg half = mul(y, number(0.5));
    const Reg odd = both(whole, b_.compute(Op::logical_not, compare(Op::eq, floor(half), half)));
    const Reg minus = compare(Op::lt, b_.bitcast(DType::i32, x), integer(0));
    r = select(both(minus, odd), neg(r), r);
    const Reg no_root =
        both(both(lt(x, 0), compare(Op::gt, x, number(-kInfinity))), b_.compute(Op::logical_not, whole));
    r = select(no_root, number(kNan), r);
    r = select(both(eq(x, -1), eq(absolute(y), kInfinity)), number(1), r);
    const Reg sum = add(x, y);  // NaN if either is, or if they are opposite infinities
    const Reg is_nan = b_.compute(Op::bit_or, compare(Op::ne, x, x), compare(Op::ne, y, y));
    r = select(is_nan, sum, r);
    return select(b_.compute(Op::bit_or, eq(y, 0), eq(x, 1)), number(1), r);
  }

  // Returns the polynomial with these coefficients, the lowest power first, by Horner's rule.
  Reg polynomial(Reg x, std::initializer_list<double> coefficients) {
    const double* at = coefficients.end();
    Reg sum = number(*--at);
    while (at != coefficients.begin()) sum = fma(sum, x, number(*--at));
    return sum;
  }

  // Returns 2^n for -126 <= n <= 127.
  Reg power_of_two(Reg n) {
    const Reg biased = b_.compute(Op::add, n, integer(127));
    return b_.bitcast(DType::f32, b_.compute(Op::shift_left, biased, integer(23)));
  }
  // Returns value * 2^n, multiplied in two halves.
  Reg scale(Reg value, Reg n) {
    const Reg half = b_.compute(Op::shift_right, n, integer(1));
    return mul(mul(value, power_of_two(half)), power_of_two(integer_sub(n, half)));
  }
  // Returns the non-negative `value` with the sign bit of x.
  Reg with_sign_of(Reg value, Reg x) {
    const Reg sign = b_.compute(Op::bit_and, b_.bitcast(DType::u32, x), b_.constant(DType::u32, 0x80000000u));
    return b_.bitcast(DType::f32, b_.compute(Op::bit_or, b_.bitcast(DType::u32, value), sign));
  }

  Reg number(double value) { return b_.constant(DType::f32, value); }
  Reg integer(double value) { return b_.constant(DType::i32, value); }
  Reg add(Reg x, Reg y) { return b_.compute(Op::add, x, y); }
  Reg sub(Reg x, Reg y) { return b_.compute(Op::sub, x, y); }
  Reg mul(Reg x, Reg y) { return b_.compute(Op::mul, x, y); }
  Reg div(Reg x, Reg y) { return b_.compute(Op::div, x, y); }
  Reg neg(Reg x) { return b_.compute(Op::neg, x); }
  Reg absolute(Reg x) { return b_.compute(Op::abs, x); }
  Reg floor(Reg x) { return b_.compute(Op::floor, x); }
  Reg fma(Reg x, Reg y, Reg z) { return b_.fma(x, y, z); }
  Reg maximum(Reg x, Reg y) { return b_.compute(Op::maximum, x, y); }
  Reg minimum(Reg x, Reg y) { return b_.compute(Op::minimum, x, y); }
  Reg select(Reg condition, Reg x, Reg y) { return b_.compute(Op::select, condition, x, y); }
  Reg compare(Op op, Reg x, Reg y) { return b_.compute(op, x, y); }
  Reg lt(Reg x, double y) { return compare(Op::lt, x, number(y)); }
  Reg eq(Reg x, double y) { return compare(Op::eq, x, number(y)); }
  Reg both(Reg x, Reg y) { return b_.compute(Op::bit_and, x, y); }
  Reg integer_sub(Reg x, Reg y) { return b_.compute(Op::sub, x, y); }
  Reg integer_minimum(Reg x, double y) { return b_.compute(Op::minimum, x, integer(y)); }

  Builder& b_;
};

Reg expand(Builder& b, Op op, Reg x, Reg y) {
  Math math(b);
  switch (op) {
#define KB_FUNCTION(name, ...) \
  case Op::name:               \
    return math.name(x);
#define KB_FUNCTION_OF_TWO(name, ...) \
  case Op::name:                      \
    return math.name(x, y);
#include "graph/pointwise_ops.inc"
    default:
      throw InternalError("an op without an expansion");
  }
}

}  // namespace

bool is_math(Op op) { return info(op).cost == OpCost::function; }

namespace {

bool calls_math(const Formula& formula) {
  return (formula.kind == Formula::Kind::call && calls_math(formula.op)) ||
         std::any_of(formula.args.begin(), formula.args.end(), [](const FormulaRef& arg) { return calls_math(*arg); });
}

}  // namespace

bool calls_math(Op op) {
  if (is_math(op)) return true;
  const FormulaRef formula = formula_of(op);
  return formula && calls_math(*formula);
}

Reg emit_math(Builder& b, Op op, DType dtype, Reg x, Reg y) {
  if (!is_math(op) || dtype == DType::f64) return b.compute(op, x, y);
  const Reg wide_y = y == kNone ? kNone : b.convert(DType::f32, y);
  return b.convert(dtype, expand(b, op, b.convert(DType::f32, x), wide_y));
}

}  // namespace kb
