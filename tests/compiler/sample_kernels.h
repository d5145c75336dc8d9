// Small kernels written by hand with ir::Builder, one for each kind of code that the printer of C++ knows.
#pragma once
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "compiler/kernel/builder.h"

namespace kb::test {

using namespace ir;

// Returns a kernel of y_k[i] = f_k(x[i], z[i]) in tiles of 1024 elements. Argument 0 is the number of elements,
// argument 1 the streaming flag.
using Binary = std::function<Reg(Builder&, Reg x, Reg z)>;
inline Kernel pointwise(DType x_type, DType z_type, const std::vector<std::pair<DType, Binary>>& results) {
  Builder b("pointwise", 16);
  const int32_t x = b.add_buffer({.dtype = x_type}), z = b.add_buffer({.dtype = z_type});
  std::vector<int32_t> outs;
  for (const auto& [type, f] : results) outs.push_back(b.add_buffer({.dtype = type, .written = true, .read = false}));
  const int64_t n = b.add_argument();
  b.set_streaming_argument(b.add_argument());
  b.phase([&] {
    const Reg begin = b.mul(b.tile(), b.index(1024));
    const Reg end = b.min(b.add(begin, b.index(1024)), b.argument(n));
    b.loop(begin, end, 16, [&](Reg i) {
      b.lane_loop(b.min(b.index(16), b.sub(end, i)), [&](Reg) {
        const Reg left = b.load(x, i, Access::contiguous), right = b.load(z, i, Access::contiguous);
        for (size_t k = 0; k < outs.size(); ++k)
          b.store(outs[k], i, Access::contiguous, results[k].second(b, left, right), true);
      });
    });
  });
  Kernel kernel = b.finish();
  kernel.name = "k_pointwise";
  return kernel;
}

// Returns a kernel of relu(x * z[0] + z[1]), which rounds the product before it adds.
inline Kernel scale_shift_relu(DType type) {
  Builder b("pointwise", 16);
  const int32_t x = b.add_buffer({.dtype = type}), z = b.add_buffer({.dtype = DType::f32});
  const int32_t y = b.add_buffer({.dtype = type, .written = true, .read = false});
  const int64_t n = b.add_argument();
  b.set_streaming_argument(b.add_argument());
  b.phase([&] {
    const Reg begin = b.mul(b.tile(), b.index(1024));
    const Reg end = b.min(b.add(begin, b.index(1024)), b.argument(n));
    b.loop(begin, end, 16, [&](Reg i) {
      b.lane_loop(b.min(b.index(16), b.sub(end, i)), [&](Reg) {
        const Reg scaled = b.compute(Op::mul, b.convert(DType::f32, b.load(x, i, Access::contiguous)),
                                     b.load(z, b.index(0), Access::uniform));
        const Reg shifted = b.compute(Op::add, scaled, b.load(z, b.index(1), Access::uniform));
        const Reg zero = b.constant(DType::f32, 0);
        const Reg value = b.compute(Op::select, b.compute(Op::gt, shifted, zero), shifted, zero);
        b.store(y, i, Access::contiguous, b.convert(type, value), true);
      });
    });
  });
  Kernel kernel = b.finish();
  kernel.name = "k_scale_shift_relu";
  return kernel;
}

// Returns a kernel that sums up x and x^2 over the rows of x[rows, channels]. A tile adds up to 64 rows by 32 channels
// in local arrays and writes the sums to scratch memory; the second phase adds up the sums of all tiles. Argument 0 is
// the number of rows, argument 1 the number of chunks of 64 rows.
inline Kernel column_sums(int64_t channels) {
  Builder b("column_reduce", 16);
  const int32_t x = b.add_buffer({.dtype = DType::f32});
  const int32_t partial = b.add_buffer({.dtype = DType::f32, .written = true, .scratch = true});
  const int32_t out = b.add_buffer({.dtype = DType::f32, .written = true, .read = false});
  const int64_t rows = b.add_argument(), chunks = b.add_argument();
  const int64_t blocks = (channels + 31) / 32;
  const Reg none = kNone;
  b.phase([&] {
    const Reg chunk = b.div(b.tile(), b.index(blocks));
    const Reg column = b.mul(b.mod(b.tile(), b.index(blocks)), b.index(32));
    const Reg first = b.mul(chunk, b.index(64));
    const Reg last = b.min(b.add(first, b.index(64)), b.argument(rows));
    Local sums[2][2];
    for (auto& of : sums)
      for (Local& sum : of) sum = b.local(DType::f32, 16);
    const auto half = [&](int h, const std::function<void(Reg)>& body) {
      const Reg at = b.add(column, b.index(16 * h));
      const bool whole = channels % 32 == 0;
      b.lane_loop(whole ? none : b.min(b.index(16), b.sub(b.index(channels), at)), [&](Reg) { body(at); });
    };
    const Reg zero = b.index(0);
    for (int h = 0; h < 2; ++h)
      half(h, [&](Reg) {
        for (int s = 0; s < 2; ++s) b.local_store(sums[h][s], zero, Access::contiguous, b.constant(DType::f32, 0));
      });
    b.loop(first, last, 1, [&](Reg row) {
      for (int h = 0; h < 2; ++h)
        half(h, [&](Reg at) {
          const Reg value = b.load(x, b.mul_add(row, b.index(channels), at), Access::contiguous);
          const auto add = [&](const Local& sum, Reg term) {
            const Reg old = b.local_load(sum, zero, Access::contiguous);
            b.local_store(sum, zero, Access::contiguous, b.compute(Op::add, old, term));
          };
          add(sums[h][0], value);
          add(sums[h][1], b.compute(Op::mul, value, value));
        });
    });
    for (int h = 0; h < 2; ++h)
      half(h, [&](Reg at) {
        for (int s = 0; s < 2; ++s) {
          const Reg place = b.mul_add(b.add(chunk, chunk), b.index(channels), b.add(at, b.index(s * channels)));
          b.store(partial, place, Access::contiguous, b.local_load(sums[h][s], zero, Access::contiguous), false);
        }
      });
  });
  b.phase([&] {  // a tile is 16 of the 2 * channels sums
    const Reg column = b.mul(b.tile(), b.index(16));
    const Local sum = b.local(DType::f32, 16);
    const Reg zero = b.index(0);
    b.lane_loop(b.min(b.index(16), b.sub(b.index(2 * channels), column)), [&](Reg) {
      b.local_store(sum, zero, Access::contiguous, b.constant(DType::f32, 0));
      b.loop(zero, b.argument(chunks), 1, [&](Reg chunk) {
        const Reg term = b.load(partial, b.mul_add(chunk, b.index(2 * channels), column), Access::contiguous);
        const Reg old = b.local_load(sum, zero, Access::contiguous);
        b.local_store(sum, zero, Access::contiguous, b.compute(Op::add, old, term));
      });
      b.store(out, column, Access::contiguous, b.local_load(sum, zero, Access::contiguous), false);
    });
  });
  Kernel kernel = b.finish();
  kernel.name = "k_column_sums";
  return kernel;
}

// Returns a kernel that takes the maximum of each row of x[rows, length] in 16 lanes, which it then folds to 8, 4, 2
// and 1. A tile is 8 rows; argument 0 is the number of rows.
inline Kernel row_max(int64_t length) {
  Builder b("row_reduce", 16);
  const int32_t x = b.add_buffer({.dtype = DType::f32});
  const int32_t out = b.add_buffer({.dtype = DType::f32, .written = true, .read = false});
  const int64_t rows = b.add_argument();
  b.phase([&] {
    const Reg first = b.mul(b.tile(), b.index(8)), zero = b.index(0);
    b.loop(first, b.min(b.add(first, b.index(8)), b.argument(rows)), 1, [&](Reg row) {
      const Local best = b.local(DType::f32, 16);
      const auto keep = [&](Reg value) {
        const Reg old = b.local_load(best, zero, Access::contiguous);
        b.local_store(best, zero, Access::contiguous, b.compute(Op::maximum, value, old));
      };
      b.lane_loop(kNone,
                  [&](Reg) { b.local_store(best, zero, Access::contiguous, b.constant(DType::f32, -INFINITY)); });
      b.loop(zero, b.index(length), 16, [&](Reg i) {
        b.lane_loop(b.min(b.index(16), b.sub(b.index(length), i)),
                    [&](Reg) { keep(b.load(x, b.mul_add(row, b.index(length), i), Access::contiguous)); });
      });
      for (int64_t lanes = 8; lanes >= 1; lanes /= 2)
        b.lane_loop(b.index(lanes), [&](Reg) { keep(b.local_load(best, b.index(lanes), Access::contiguous)); });
      b.store(out, row, Access::uniform, b.local_load(best, zero, Access::uniform), false);
    });
  });
  Kernel kernel = b.finish();
  kernel.name = "k_row_max";
  return kernel;
}

// Returns a kernel with strided lanes and masks by lane: y[i, j] = x[j, i] for x[columns, rows] where j <= i, else -1.
// A tile is a row of y; argument 0 is the number of rows.
inline Kernel lower_triangle_of_transpose(DType type, int64_t columns) {
  Builder b("transpose", 16);
  const int32_t x = b.add_buffer({.dtype = type});
  const int32_t y = b.add_buffer({.dtype = type, .written = true, .read = false});
  const int64_t rows = b.add_argument();
  b.phase([&] {
    const Reg i = b.tile();
    b.loop(b.index(0), b.index(columns), 16, [&](Reg first) {
      b.lane_loop(b.min(b.index(16), b.sub(b.index(columns), first)), [&](Reg lane) {
        const Reg j = b.add(first, lane);
        const Reg inside = b.less(j, b.add(i, b.index(1)));
        const Reg value = b.load(x, b.mul_add(j, b.argument(rows), i), Access::gather, inside, -1);
        b.store(y, b.mul_add(i, b.index(columns), first), Access::contiguous, value, false);
      });
    });
  });
  Kernel kernel = b.finish();
  kernel.name = "k_transpose";
  return kernel;
}

}  // namespace kb::test
