// Tests the accuracy of the f32 functions, in units in the last place, and their special values, against the C library
// in double.
#include "compiler/kernel/math.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cfenv>
#include <cmath>
#include <random>

#include "compiler/print/cpp.h"
#include "tests/compiler/compiled_kernels.h"
#include "tests/compiler/sample_kernels.h"
#include "tests/interpreters/verify_kernel.h"

namespace kb::kernel_math_test {
namespace {

using namespace kb::test;

// Returns the rows of the table of ops that are functions of one argument.
const std::vector<OpInfo>& functions() {
  static const std::vector<OpInfo> rows = [] {
    std::vector<OpInfo> found;
    for (const OpInfo& row : all_ops())
      if (row.cost == OpCost::function && row.arity == 1) found.push_back(row);
    return found;
  }();
  return rows;
}

// Returns one kernel that has a result for every function of x; the last result is pow(x, z).
Kernel all_functions(DType type) {
  std::vector<std::pair<DType, Binary>> results;
  for (const OpInfo& f : functions())
    results.push_back({type, [op = f.op, type](Builder& b, Reg x, Reg) { return emit_math(b, op, type, x); }});
  results.push_back({type, [=](Builder& b, Reg x, Reg z) { return emit_math(b, Op::pow, type, x, z); }});
  Kernel kernel = test::pointwise(type, type, results);
  ir::verify(kernel);
  return kernel;
}

Launch launch_of(const Data& x, const Data& z) {
  Launch launch{{x.elements, 0}, {(x.elements + 1023) / 1024}, {x, z}};
  for (size_t i = 0; i <= functions().size(); ++i) launch.buffers.push_back(Data::output(x.dtype, x.elements));
  return launch;
}

double exact(const OpInfo& function, double x) { return function.real(x, 0, 0); }

// Returns |got - exact| in units in the last place of a float near `exact`.
double ulps(double exact, float got) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : INFINITY;
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || std::isinf(got))
    return nearest == got ? 0 : (std::fabs(exact) > 3.4028235e38 ? 1 : INFINITY);
  const int exponent = std::max(std::ilogb(exact == 0 ? 1e-45 : exact), -126);
  return std::fabs(exact - static_cast<double>(got)) / std::ldexp(1.0, exponent - 23);
}

Data floats(const std::vector<float>& values) {
  return Data::of(DType::f32, std::vector<double>(values.begin(), values.end()));
}

BOOST_AUTO_TEST_SUITE(kernel_math)

// The arguments are every 16,381st float of either sign, and dense grids where the functions have their kinks.
BOOST_AUTO_TEST_CASE(accuracy_of_one_argument) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < 0x100000000u; bits += 16381)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int i = -100000; i <= 100000; ++i) values.push_back(static_cast<float>(i) * 0x1p-13f);
  for (int i = -20000; i <= 20000; ++i) values.push_back(static_cast<float>(i) * 0.5f);
  const Kernel kernel = all_functions(DType::f32);
  const auto entries = compile_kernels({kernel}, vector_widths().back());
  Launch launch = launch_of(floats(values), floats(std::vector<float>(values.size(), 1.0f)));
  call(entries.at(kernel.name), launch);
  for (size_t f = 0; f < functions().size(); ++f) {
    const OpInfo& function = functions()[f];
    const auto* got = reinterpret_cast<const float*>(launch.buffers[2 + f].bytes.data());
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::fabs(values[i]) > function.ulps_to && std::isfinite(values[i])) continue;
      const double error = ulps(exact(function, values[i]), got[i]);
      if (error > worst) worst = error, where = values[i];
    }
    BOOST_TEST_MESSAGE(fmt::format("{}: {:.3f} ulp at {} ({:a})", function.name, worst, where, where));
    BOOST_TEST(worst <= function.ulps, fmt::format("{}: {} ulp at {} ({:a})", function.name, worst, where, where));
  }
}

// graph/pointwise_ops.inc promises no accuracy of sine and cosine beyond 1e6, but their results are at most 1 there,
// and NaN at infinity.
BOOST_AUTO_TEST_CASE(sine_and_cosine_of_large_numbers) {
  std::vector<float> values;
  for (float x = 1e6f; std::isfinite(x); x *= 1.37f) values.insert(values.end(), {x, -x});
  const size_t finite = values.size();
  values.insert(values.end(), {INFINITY, -INFINITY, NAN});
  const Kernel kernel = all_functions(DType::f32);
  const auto entries = compile_kernels({kernel}, vector_widths().back());
  Launch launch = launch_of(floats(values), floats(std::vector<float>(values.size(), 1.0f)));
  call(entries.at(kernel.name), launch);
  for (size_t f = 0; f < functions().size(); ++f) {
    if (functions()[f].ulps_to > 1e6) continue;
    const auto* got = reinterpret_cast<const float*>(launch.buffers[2 + f].bytes.data());
    for (size_t i = 0; i < values.size(); ++i)
      BOOST_TEST((i < finite ? std::fabs(got[i]) <= 1 : std::isnan(got[i])), values[i] << " gives " << got[i]);
  }
}

BOOST_AUTO_TEST_CASE(accuracy_of_pow) {
  std::mt19937 engine(1);
  std::vector<float> x, z;
  for (int i = 0; i < 300000; ++i) {
    const auto base = std::bit_cast<float>(static_cast<uint32_t>(engine() & 0x7fffffff));
    if (!(base > 0) || std::isinf(base)) continue;
    const bool near_one = i % 2;
    x.push_back(near_one ? 1 + static_cast<float>(static_cast<int32_t>(engine())) * 0x1p-33f : base);
    // With this exponent the results lie anywhere in the range of floats.
    z.push_back(static_cast<float>(static_cast<int32_t>(engine())) * 0x1p-31f * 150.0f /
                std::fabs(std::log2(x.back())));
  }
  const Kernel kernel = all_functions(DType::f32);
  const auto entries = compile_kernels({kernel}, vector_widths().back());
  Launch launch = launch_of(floats(x), floats(z));
  call(entries.at(kernel.name), launch);
  const auto* got = reinterpret_cast<const float*>(launch.buffers.back().bytes.data());
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(std::pow(static_cast<double>(x[i]), static_cast<double>(z[i])), got[i]);
    if (error > worst) worst = error, where = i;
  }
  BOOST_TEST_MESSAGE(fmt::format("pow: {:.3f} ulp at {}, {}", worst, x[where], z[where]));
  BOOST_TEST(worst <= info(Op::pow).ulps, fmt::format("pow: {} ulp at {}, {}", worst, x[where], z[where]));
}

BOOST_AUTO_TEST_CASE(special_values) {
  const float special[] = {0.0f,  -0.0f,  1.0f,    -1.0f, 2.0f,   -2.0f,       3.0f,     -3.0f,     0.5f,
                           -0.5f, 1e-42f, -1e-42f, 1e30f, -1e30f, 16777216.0f, INFINITY, -INFINITY, NAN};
  std::vector<float> x, z;
  for (float a : special)
    for (float b : special) x.push_back(a), z.push_back(b);
  const Kernel kernel = all_functions(DType::f32);
  Launch launch = launch_of(floats(x), floats(z));
  interpret(kernel, launch);
  const auto same = [](double exact, double got) {
    const auto nearest = static_cast<float>(exact);
    if (std::isnan(nearest) || std::isnan(got)) return std::isnan(nearest) && std::isnan(got);
    return std::signbit(nearest) == std::signbit(got) && ulps(exact, static_cast<float>(got)) <= 2;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t f = 0; f < functions().size(); ++f) {
      const OpInfo& function = functions()[f];
      if (std::fabs(x[i]) > function.ulps_to && std::isfinite(x[i])) continue;
      const double got = launch.buffers[2 + f].at(static_cast<int64_t>(i));
      BOOST_TEST(same(exact(function, x[i]), got), function.name << "(" << x[i] << ") = " << got);
    }
    const double got = launch.buffers.back().at(static_cast<int64_t>(i));
    BOOST_TEST(same(std::pow(static_cast<double>(x[i]), static_cast<double>(z[i])), got),
               "pow(" << x[i] << ", " << z[i] << ") = " << got);
  }
}

// The results of large arguments lie within [-1, 1] in the interpreter, too.
BOOST_AUTO_TEST_CASE(sine_of_large_arguments) {
  std::vector<float> values;
  for (int i = 0; i < 2000; ++i) values.push_back(std::ldexp(1.0f + static_cast<float>(i % 37) * 0.01f, 13 + i % 114));
  const Kernel kernel = all_functions(DType::f32);
  Launch launch = launch_of(floats(values), floats(values));
  interpret(kernel, launch);
  for (size_t f = 0; f < functions().size(); ++f)
    for (int64_t i = 0; functions()[f].ulps_to <= 1e6 && i < launch.buffers[0].elements; ++i)
      BOOST_TEST(std::fabs(launch.buffers[2 + f].at(i)) <= 1.0, "of " << launch.buffers[0].at(i));
}

BOOST_AUTO_TEST_CASE(same_bits_at_every_width_and_in_the_interpreter) {
  const Data x = Data::random(DType::f32, 3001, 8), z = Data::random(DType::f32, 3001, 9);
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;
  for (DType type : {DType::f32, DType::bf16}) {
    kernels.push_back(all_functions(type));
    kernels.back().name += name(type);
    launches.push_back(launch_of(Data::random(type, 3001, 8), Data::random(type, 3001, 9)));
  }
  std::vector<Launch> expected = launches;
  for (size_t i = 0; i < kernels.size(); ++i) interpret(kernels[i], expected[i]);
  for (const int width : vector_widths()) {
    const auto entries = compile_kernels(kernels, width);
    for (size_t i = 0; i < kernels.size(); ++i) {
      Launch got = launches[i];
      call(entries.at(kernels[i].name), got);
      BOOST_TEST(test::first_difference(expected[i], got) == "", kernels[i].name << " at " << width << " bytes");
    }
  }
}

BOOST_AUTO_TEST_CASE(composites_call_the_functions_of_their_formulas) {
  for (const Op op : {Op::exp, Op::pow, Op::sigmoid, Op::softplus, Op::gelu, Op::silu, Op::asin})
    BOOST_TEST(calls_math(op));
  for (const Op op : {Op::add, Op::sqrt, Op::rsqrt, Op::relu, Op::round, Op::select, Op::matmul})
    BOOST_TEST(!calls_math(op));
}

// A product that underflows takes hundreds of cycles on some processors; causal attention has an exponential of
// -infinity for half of its scores.
BOOST_AUTO_TEST_CASE(an_exponential_that_vanishes_does_not_underflow) {
  const Kernel kernel =
      test::pointwise(DType::f32, DType::f32,
                      {{DType::f32, [](Builder& b, Reg x, Reg) { return emit_math(b, Op::exp, DType::f32, x); }}});
  const auto entries = compile_kernels({kernel}, vector_widths().back());
  const auto raises = [&](float x) {
    const std::vector<float> many(64, x);
    Launch launch{{64, 0}, {1}, {floats(many), floats(many), Data::output(DType::f32, 64)}};
    std::feclearexcept(FE_UNDERFLOW);
    call(entries.at(kernel.name), launch);
    return std::fetestexcept(FE_UNDERFLOW) != 0;
  };
  for (const float x : {-INFINITY, -1e6f, -300.0f, -104.5f, -80.0f}) BOOST_TEST(!raises(x), x);
  BOOST_TEST(raises(-100.0f));  // its result lies below the normal range
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::kernel_math_test
