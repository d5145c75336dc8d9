// Tests printed kernels: golden texts, and equal bits to the interpreter's at every width of vectors.
#include "compiler/print/cpp.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "tests/compiler/compiled_kernels.h"
#include "tests/compiler/sample_kernels.h"
#include "tests/interpreters/verify_kernel.h"

namespace kb::print_cpp_test {
namespace {

using namespace kb::test;
using Results = std::vector<std::pair<DType, Binary>>;

const std::vector<DType> kTypes = tensor_dtypes();

Kernel named(Kernel kernel, const std::string& name) {
  kernel.name = name;
  return kernel;
}

struct Case {
  Kernel kernel;
  Launch launch;
};

// Checks that every case gives the interpreter's bits at every width of vectors. One shared object is compiled per
// width.
void check(const std::vector<Case>& cases) {
  std::vector<Kernel> kernels;
  std::vector<Launch> expected;
  for (const Case& c : cases) {
    ir::verify(c.kernel);
    kernels.push_back(c.kernel);
    expected.push_back(c.launch);
    interpret(c.kernel, expected.back());
  }
  for (const int width : vector_widths()) {
    const auto entries = compile_kernels(kernels, width);
    for (size_t i = 0; i < cases.size(); ++i) {
      Launch got = cases[i].launch;
      call(entries.at(kernels[i].name), got);
      BOOST_TEST(test::first_difference(expected[i], got) == "", kernels[i].name << " at " << width << " bytes");
    }
  }
}

// Returns a kernel with general indices by lane. A tile writes one row of y, back to front: y[tile, columns - 1 - j] is
// x[rows[tile], j] for an even j and x[rows[tile], 0] for an odd j. It also writes n + n / 3 as u32, where n is the
// number of the element and n / 3 a division in i64. The arguments are the numbers of columns and of tiles.
Kernel table_rows(DType type) {
  Builder b("gather", 16);
  const int32_t x = b.add_buffer({.dtype = type}), rows = b.add_buffer({.dtype = DType::i32});
  const int32_t y = b.add_buffer({.dtype = type, .written = true, .read = false});
  const int32_t numbers = b.add_buffer({.dtype = DType::u32, .written = true, .read = false});
  const Reg columns_at = static_cast<Reg>(b.add_argument());
  b.add_argument();
  b.phase([&] {
    const Reg columns = b.argument(columns_at), zero = b.index(0);
    const Reg row = b.mul(b.convert(DType::i64, b.load(rows, b.tile(), Access::uniform)), columns);
    b.loop(zero, columns, 16, [&](Reg first) {
      b.lane_loop(b.min(b.index(16), b.sub(columns, first)), [&](Reg lane) {
        const Reg j = b.add(first, lane), at = b.mul_add(b.tile(), columns, j);
        const Reg even = b.less(b.mod(j, b.index(2)), b.index(1));
        const Reg odd = b.compute(Op::logical_not, even);
        const Reg own = b.load(x, b.add(row, j), Access::gather, even, 1.5);
        const Reg start = b.load(x, row, Access::gather, odd, 0.5);
        const Reg value = b.compute(Op::select, even, own, start);
        const Reg back = b.sub(b.sub(columns, b.index(1)), j);
        b.store(y, b.add(b.mul(b.tile(), columns), back), Access::gather, value, false);
        const Reg number = b.compute(Op::add, b.convert(DType::u32, at), b.convert(DType::u32, b.div(at, b.index(3))));
        b.store(numbers, b.mul_add(b.tile(), columns, first), Access::contiguous, number, false);
      });
    });
  });
  return b.finish();
}

// Returns a kernel that loads whole vectors under a mask: y[tile, j] = x[tile, j - 8] where j >= 8, else `otherwise`.
// The rows of x are 8 elements shorter than those of y. The arguments are the numbers of columns of y and of tiles.
Kernel shifted_rows(DType type, double otherwise) {
  Builder b("shift", 16);
  const int32_t x = b.add_buffer({.dtype = type});
  const int32_t y = b.add_buffer({.dtype = type, .written = true, .read = false});
  const int64_t columns_at = b.add_argument();
  b.add_argument();
  b.phase([&] {
    const Reg columns = b.argument(columns_at), eight = b.index(8);
    const Reg row = b.sub(b.mul(b.tile(), b.sub(columns, eight)), eight);
    b.loop(b.index(0), columns, 16, [&](Reg first) {
      b.lane_loop(b.min(b.index(16), b.sub(columns, first)), [&](Reg lane) {
        const Reg holds = b.less(b.index(7), b.add(first, lane));
        const Reg value = b.load(x, b.add(row, first), Access::contiguous, holds, otherwise);
        b.store(y, b.mul_add(b.tile(), columns, first), Access::contiguous, value, false);
      });
    });
  });
  return b.finish();
}

// Returns a kernel of y[i] = x[i] > 1 ? a[i] : b[i] in tiles of 48 elements; argument 0 is the number of elements.
Kernel chosen(DType by, DType of) {
  Builder b("chosen", 16);
  const int32_t x = b.add_buffer({.dtype = by}), first = b.add_buffer({.dtype = of}),
                second = b.add_buffer({.dtype = of});
  const int32_t y = b.add_buffer({.dtype = of, .written = true, .read = false});
  const int64_t n = b.add_argument();
  b.phase([&] {
    const Reg begin = b.mul(b.tile(), b.index(48)), end = b.min(b.add(begin, b.index(48)), b.argument(n));
    b.loop(begin, end, 16, [&](Reg i) {
      b.lane_loop(b.min(b.index(16), b.sub(end, i)), [&](Reg) {
        const Reg condition = b.compute(Op::gt, b.load(x, i, Access::contiguous), b.constant(by, 1));
        const Reg left = b.load(first, i, Access::contiguous), right = b.load(second, i, Access::contiguous);
        b.store(y, i, Access::contiguous, b.compute(Op::select, condition, left, right), false);
      });
    });
  });
  return b.finish();
}

// Whether kernels compute the primitive op on this type.
bool takes(const OpInfo& row, DType type) {
  switch (row.rule) {
    case TypeRule::floats:
      return row.cost == OpCost::function ? type == DType::f64 : is_float(type);
    case TypeRule::arithmetic:
      return type != DType::boolean;
    case TypeRule::bits:
      return !is_float(type);
    case TypeRule::integers:
      return is_integer(type);
    case TypeRule::special:
      return row.op == Op::logical_not && type == DType::boolean;
    default:
      return row.rule == TypeRule::compare;
  }
}

// Returns every operation that a type can do with two arguments of its own.
Results operations(DType type) {
  Results results;
  const auto add = [&](Op op, DType out) {
    const bool unary = info(op).arity == 1;
    results.push_back({out, [=](Builder& b, Reg x, Reg z) { return b.compute(op, x, unary ? kNone : z); }});
  };
  for (const OpInfo& row : all_ops()) {
    if (!is_pointwise(row.op) || !row.formula.empty() || row.op == Op::cast || row.op == Op::select) continue;
    if (takes(row, type)) add(row.op, row.rule == TypeRule::compare ? DType::boolean : type);
  }
  if (is_integer(type))
    for (Op op : {Op::shift_left, Op::shift_right})
      results.push_back({type, [=](Builder& b, Reg x, Reg) { return b.compute(op, x, b.constant(type, 3)); }});
  results.push_back(
      {type, [](Builder& b, Reg x, Reg z) { return b.compute(Op::select, b.compute(Op::lt, x, z), z, x); }});
  const double number = is_signed(type) ? -1 : 1;
  results.push_back({type, [=](Builder& b, Reg x, Reg z) {
                       return b.compute(Op::select, b.compute(Op::ge, x, b.constant(type, number)),
                                        b.constant(type, number), z);
                     }});
  if (type == DType::f32 || type == DType::f64)
    results.push_back({type, [](Builder& b, Reg x, Reg z) { return b.fma(x, z, x); }});
  return results;
}

Launch pointwise_launch(DType x, DType z, const Results& results, int64_t n) {
  Launch launch{{n, 1}, {(n + 1023) / 1024}, {Data::random(x, n, 1), Data::random(z, n, 2)}};
  for (const auto& [type, f] : results) launch.buffers.push_back(Data::output(type, n));
  return launch;
}

BOOST_AUTO_TEST_SUITE(print_cpp)

BOOST_AUTO_TEST_CASE(golden_texts) {
  test::golden_in_order("kernel/scale_shift_relu.txt", to_text(scale_shift_relu(DType::bf16)));
  test::golden_in_order("kernel/column_sums.txt", to_text(column_sums(40)));
  test::golden_in_order("cpp/scale_shift_relu.cpp", kb::print_cpp(scale_shift_relu(DType::bf16), 64));
  test::golden_in_order("cpp/column_sums.cpp", kb::print_cpp(column_sums(64), 64));
  test::golden_in_order("cpp/row_max_avx2.cpp", kb::print_cpp(row_max(40), 32));
  test::golden_in_order("cpp/transpose_portable.cpp", kb::print_cpp(lower_triangle_of_transpose(DType::f64, 40), 16));
}

BOOST_AUTO_TEST_CASE(every_operation_of_every_type) {
  std::vector<Case> cases;
  for (DType type : kTypes) {
    const Results results = operations(type);
    cases.push_back({named(test::pointwise(type, type, results), fmt::format("k_{}", name(type))),
                     pointwise_launch(type, type, results, 2500)});
  }
  check(cases);
}

// A condition and the values it chooses from may have lanes of different widths. Every pair of types has a kernel of
// its own, because a compiler may fail at one combination only: g++ 12 failed at u8 chosen by a comparison of f64 in 8
// lanes.
BOOST_AUTO_TEST_CASE(choices_by_comparisons_of_every_type) {
  std::vector<Case> cases;
  for (DType by : kTypes)
    for (DType of : kTypes)
      cases.push_back(
          {named(chosen(by, of), fmt::format("k_{}_{}", name(by), name(of))),
           {{75},
            {2},
            {Data::random(by, 75, 1), Data::random(of, 75, 2), Data::random(of, 75, 3), Data::output(of, 75)}}});
  check(cases);
}

// Floats outside the range of the integer type are clamped first, because their conversion is not specified.
BOOST_AUTO_TEST_CASE(conversions) {
  std::vector<Case> cases;
  for (DType from : kTypes) {
    Results results;
    for (DType to : kTypes)
      results.push_back({to, [=](Builder& b, Reg x, Reg) {
                           if (is_float(from) && is_integer(to)) {
                             const double most = std::min(static_cast<double>(greatest(to)), 60000.0);
                             const double low = std::max(static_cast<double>(least(to)), -60000.0);
                             x = b.compute(Op::minimum, x, b.constant(from, most));
                             x = b.compute(Op::maximum, x, b.constant(from, low));
                             x = b.compute(Op::select, b.compute(Op::eq, x, x), x, b.constant(from, 0));
                           }
                           return b.convert(to, x);
                         }});
    cases.push_back({named(test::pointwise(from, from, results), fmt::format("k_{}", name(from))),
                     pointwise_launch(from, from, results, 1000)});
  }
  const Results bits{{DType::u32, [](Builder& b, Reg x, Reg) { return b.bitcast(DType::u32, x); }},
                     {DType::i32, [](Builder& b, Reg x, Reg) { return b.bitcast(DType::i32, x); }},
                     {DType::f32, [](Builder& b, Reg, Reg z) { return b.bitcast(DType::f32, z); }}};
  cases.push_back({named(test::pointwise(DType::f32, DType::u32, bits), "k_bits"),
                   pointwise_launch(DType::f32, DType::u32, bits, 1000)});
  check(cases);
}

// All 65,536 values are converted to f32, and each of them with its neighbours in f32 is converted back.
BOOST_AUTO_TEST_CASE(low_precision_is_exhaustive) {
  std::vector<Case> cases;
  for (DType type : {DType::bf16, DType::f16}) {
    const auto convert = [](DType to) {
      return Results{{to, [=](Builder& b, Reg x, Reg) { return b.convert(to, x); }}};
    };
    Launch up = pointwise_launch(type, type, convert(DType::f32), 65536);
    for (uint32_t i = 0; i < 65536; ++i)
      reinterpret_cast<uint16_t*>(up.buffers[0].bytes.data())[i] = static_cast<uint16_t>(i);
    cases.push_back({named(test::pointwise(type, type, convert(DType::f32)), fmt::format("k_up_{}", name(type))), up});
    Launch down = pointwise_launch(DType::f32, DType::f32, convert(type), 5 * 65536);
    float* values = reinterpret_cast<float*>(down.buffers[0].bytes.data());
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto wide = static_cast<float>(up.buffers[0].at(i));
      const auto next = static_cast<float>(up.buffers[0].at(i + 1 < 65536 ? i + 1 : i));
      const float middle = wide / 2 + next / 2;
      const float near[] = {wide, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY),
                            std::nextafter(wide, -INFINITY)};
      std::copy_n(near, 5, values + 5 * i);
    }
    cases.push_back(
        {named(test::pointwise(DType::f32, DType::f32, convert(type)), fmt::format("k_down_{}", name(type))), down});
  }
  check(cases);
}

BOOST_AUTO_TEST_CASE(tails_and_streaming) {
  std::vector<Case> cases;
  for (DType type : {DType::f32, DType::bf16, DType::f16})
    for (int64_t n : {1, 15, 16, 17, 31, 1024, 1033, 5000})
      for (int64_t streaming : {0, 1}) {
        Launch launch{{n, streaming},
                      {(n + 1023) / 1024},
                      {Data::random(type, n, 3), Data::random(DType::f32, 2, 4), Data::output(type, n)}};
        cases.push_back({named(scale_shift_relu(type), fmt::format("k_{}", name(type))), launch});
      }
  std::vector<Case> distinct;  // one definition of each kernel
  for (const int width : vector_widths()) {
    const auto entries = compile_kernels({cases[0].kernel, cases[16].kernel, cases[32].kernel}, width);
    for (const Case& c : cases) {
      Launch expected = c.launch, got = c.launch;
      interpret(c.kernel, expected);
      call(entries.at(c.kernel.name), got);
      BOOST_TEST(test::first_difference(expected, got) == "", c.kernel.name << " of " << c.launch.arguments[0]);
    }
  }
}

BOOST_AUTO_TEST_CASE(reductions) {
  std::vector<Case> cases;
  for (int64_t channels : {64, 40, 7}) {
    const int64_t rows = 150, chunks = 3;
    Launch launch{{rows, chunks},
                  {chunks * ((channels + 31) / 32), (2 * channels + 15) / 16},
                  {Data::random(DType::f32, rows * channels, 5), Data::output(DType::f32, chunks * 2 * channels),
                   Data::output(DType::f32, 2 * channels)}};
    cases.push_back({named(column_sums(channels), fmt::format("k_columns_{}", channels)), launch});
  }
  for (int64_t length : {16, 1000, 5}) {
    Launch launch{{21}, {3}, {Data::random(DType::f32, 21 * length, 6), Data::output(DType::f32, 21)}};
    cases.push_back({named(row_max(length), fmt::format("k_rows_{}", length)), launch});
  }
  check(cases);
}

BOOST_AUTO_TEST_CASE(gathers_and_masks) {
  std::vector<Case> cases;
  for (DType type : kTypes) {
    if (!is_signed(type)) continue;  // these hold no -1
    Launch launch{{33}, {33}, {Data::random(type, 33 * 40, 7), Data::output(type, 33 * 40)}};
    cases.push_back({named(lower_triangle_of_transpose(type, 40), fmt::format("k_{}", name(type))), launch});
  }
  cases.push_back({named(table_rows(DType::f32), "k_table"),
                   {{37, 5},
                    {5},
                    {Data::random(DType::f32, 8 * 37, 10), Data::of(DType::i32, {3, 0, 7, 7, 1}),
                     Data::output(DType::f32, 5 * 37), Data::output(DType::u32, 5 * 37)}}});
  for (DType type : {DType::f32, DType::f64, DType::i32, DType::bf16})
    for (double otherwise : {0.0, 2.0})
      cases.push_back({named(shifted_rows(type, otherwise), fmt::format("k_shift_{}_{}", name(type), otherwise)),
                       {{75, 4}, {4}, {Data::random(type, 4 * 67, 11), Data::output(type, 4 * 75)}}});
  check(cases);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::print_cpp_test
