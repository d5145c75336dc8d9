// Tests functions that are composed of others against plain loops in double.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/support/support.h"

namespace kb::composites_test {
namespace {

using Reals = std::vector<double>;
constexpr DType f64 = DType::f64, i32 = DType::i32;

Reals values(Tensor result) {
  const Value value = result.value();
  return interpret_values(result.graph(), {}, {&value, 1}).front().data;
}

Reals numbers(const Dims& shape) {
  Reals result;
  for (int64_t i = 0; i < element_count(shape); ++i) result.push_back(std::sin(static_cast<double>(i * i + 1)) * 3);
  return result;
}

// Calls f with every index of the shape, in row-major order.
void each_index(const Dims& shape, const std::function<void(const Ints&)>& f) {
  Ints index(shape.size(), 0);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    int64_t rest = i;
    for (size_t a = shape.size(); a-- > 0; rest /= shape[a]) index[a] = rest % shape[a];
    f(index);
  }
}

double at(const Reals& x, const Dims& shape, const Ints& index) {
  int64_t place = 0;
  for (size_t a = 0; a < shape.size(); ++a) place = place * shape[a] + index[a];
  return x[static_cast<size_t>(place)];
}

void check_equal(const Reals& got, const Reals& expected, double tolerance = 0) {
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::fabs(got[i] - expected[i]) <= tolerance, i << ": " << got[i] << ", not " << expected[i]);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(composites)

// The C library's lgamma; psi by psi(1) = -C, psi(1/2) = -C - 2 log 2, psi(x + 1) = psi(x) + 1 / x and psi(1 - x) =
// psi(x) + pi / tan(pi x) (Abramowitz and Stegun 1964, 6.3.2 to 6.3.7).
BOOST_AUTO_TEST_CASE(gamma_functions) {
  constexpr double kEuler = 0.57721566490153286;
  Reals x = {1, 0.5, -0.5, 1e-300, -1e-10, 2, 7.999, 8, 8.001, 170, 1e10, 1e300, -1e5 - 0.25};
  for (int i = -40; i <= 40; ++i) x.push_back(0.37 * i + 0.011);
  Graph graph;
  const Tensor at = constant(graph, f64, {std::ssize(x)}, x);
  const Reals logarithm = values(lgamma(at)), psi = values(digamma(at)), next = values(digamma(at + 1.0)),
              mirrored = values(digamma(1.0 - at));
  BOOST_TEST(std::fabs(psi[0] + kEuler) < 1e-14);
  BOOST_TEST(std::fabs(psi[1] + kEuler + 2 * std::log(2.0)) < 1e-14);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::lgamma(x[i]), tolerance = 2e-14 + 4e-15 * std::fabs(expected);
    BOOST_TEST(std::fabs(logarithm[i] - expected) <= tolerance, x[i] << ": " << logarithm[i] << ", not " << expected);
    if (std::fabs(x[i]) > 100 || std::fabs(x[i]) < 1e-5 || x[i] == std::floor(x[i])) continue;
    const double turn = M_PI / std::tan(M_PI * x[i]);
    BOOST_TEST(std::fabs(next[i] - psi[i] - 1 / x[i]) <= 1e-12 * std::max(1.0, std::fabs(psi[i])), x[i]);
    BOOST_TEST(std::fabs(mirrored[i] - psi[i] - turn) <= 1e-11 * std::max(1.0, std::fabs(turn)), x[i]);
  }
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor poles = constant(graph, f64, {4}, {0, -1, -7, inf});
  BOOST_TEST(values(lgamma(poles)) == (Reals{inf, inf, inf, inf}));
  BOOST_TEST(values(digamma(poles)) == (Reals{-inf, -inf, -inf, inf}));
}

BOOST_AUTO_TEST_CASE(samples_at_a_grid) {
  const Dims shape{2, 3, 4, 5}, grid_shape{2, 6, 4, 2};
  const Reals x = numbers(shape);
  Reals grid = numbers(grid_shape);
  for (double& place : grid) place *= 0.5;  // up to half an image beyond the edges
  grid[0] = -1, grid[1] = 1, grid[2] = 1, grid[3] = -1, grid[4] = std::nan("");
  for (const bool align_corners : {false, true})
    for (const bool border : {false, true}) {
      Reals expected;
      each_index({2, 3, 6, 4}, [&](const Ints& i) {
        double at_axis[2], sum = 0;  // column and row
        for (int64_t k = 0; k < 2; ++k) {
          const auto extent = static_cast<double>(shape[3 - static_cast<size_t>(k)]);
          const double place = at(grid, grid_shape, {i[0], i[2], i[3], k});
          double& to = at_axis[k] = align_corners ? (place + 1) / 2 * (extent - 1) : ((place + 1) * extent - 1) / 2;
          if (border) to = std::min(std::max(to, 0.0), extent - 1);
        }
        for (int64_t row = 0; row < shape[2]; ++row)
          for (int64_t column = 0; column < shape[3]; ++column) {
            const double down = 1 - std::fabs(at_axis[1] - static_cast<double>(row)),
                         across = 1 - std::fabs(at_axis[0] - static_cast<double>(column));
            if (down > 0 && across > 0) sum += down * across * at(x, shape, {i[0], i[1], row, column});
          }
        expected.push_back(sum);
      });
      Graph graph;
      const Tensor y = grid_sample(constant(graph, f64, shape, x), constant(graph, f64, grid_shape, grid),
                                   {.align_corners = align_corners, .border = border});
      BOOST_REQUIRE((y.shape() == Dims{2, 3, 6, 4}));
      check_equal(values(y), expected, 1e-12);
    }
  Graph graph;
  const Tensor images = constant(graph, f64, shape, x);
  BOOST_CHECK_THROW(grid_sample(images, constant(graph, f64, 0, {2, 6, 4, 3})), Error);
  BOOST_CHECK_THROW(grid_sample(images, constant(graph, DType::f32, 0, {2, 6, 4, 2})), Error);
}

BOOST_AUTO_TEST_CASE(gather_along_any_axis) {
  const Dims shape{3, 4, 5};
  const Reals x = numbers(shape);
  for (const int64_t axis : {0, 1, 2, -1, -3})
    for (const Dims& of : {Dims{}, Dims{6}, Dims{2, 3}}) {
      Graph graph;
      const auto real = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
      Reals indices;
      for (int64_t i = 0; i < element_count(of); ++i) indices.push_back(static_cast<double>((i * 7 + 2) % shape[real]));
      const Tensor result = gather(constant(graph, f64, shape, x), constant(graph, i32, of, indices), axis);
      Dims expected_shape(shape.begin(), shape.begin() + static_cast<int64_t>(real));
      expected_shape.insert(expected_shape.end(), of.begin(), of.end());
      expected_shape.insert(expected_shape.end(), shape.begin() + static_cast<int64_t>(real) + 1, shape.end());
      BOOST_REQUIRE((result.shape() == expected_shape));
      Reals expected;
      each_index(expected_shape, [&](const Ints& index) {
        const auto first = index.begin() + static_cast<int64_t>(real), last = first + static_cast<int64_t>(of.size());
        Ints from(index.begin(), first);
        from.push_back(static_cast<int64_t>(at(indices, of, Ints(first, last))));
        from.insert(from.end(), last, index.end());
        expected.push_back(at(x, shape, from));
      });
      BOOST_TEST_CONTEXT("axis " << axis << ", indices of rank " << of.size()) check_equal(values(result), expected);
    }
}

BOOST_AUTO_TEST_CASE(gather_along_an_axis_reads_nan_where_there_is_no_slice) {
  Graph graph;
  const Tensor x = constant(graph, f64, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Reals got = values(gather(x, constant(graph, i32, {2}, {3, 1}), 1));
  BOOST_TEST((std::isnan(got[0]) && got[1] == 2 && std::isnan(got[2]) && got[3] == 5));
}

// Indices 1 below and 1 beyond the axis are among those taken: there the result is NaN, and no element of another row.
BOOST_AUTO_TEST_CASE(take_along_any_axis) {
  const Dims shape{3, 4, 2};
  const Reals x = numbers(shape);
  for (const int64_t axis : {0, 1, -1})
    for (const int64_t extent : {1, 5}) {
      Graph graph;
      const auto real = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
      Dims of = shape;
      of[real] = extent;
      Reals indices, expected;
      for (int64_t i = 0; i < element_count(of); ++i)
        indices.push_back(static_cast<double>((i * i + 1) % (shape[real] + 2) - 1));
      each_index(of, [&](Ints index) {
        index[real] = static_cast<int64_t>(at(indices, of, index));
        const bool is_there = index[real] >= 0 && index[real] < shape[real];
        expected.push_back(is_there ? at(x, shape, index) : NAN);
      });
      const Tensor taken = take_along_axis(constant(graph, f64, shape, x), constant(graph, i32, of, indices), axis);
      BOOST_REQUIRE((taken.shape() == of));
      const Reals got = values(taken);
      for (size_t i = 0; i < got.size(); ++i)
        BOOST_TEST((got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))), "axis " << axis);
    }
}

BOOST_AUTO_TEST_CASE(flip_reverses_axes) {
  const Dims shape{3, 1, 4, 2};
  const Reals x = numbers(shape);
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{-1}, Ints{2, 0}, Ints{}, Ints{0, 1, 2, 3}}) {
    Graph graph;
    const Tensor result = flip(constant(graph, f64, shape, x), axes);
    Reals expected;
    each_index(shape, [&](Ints index) {
      for (size_t a = 0; a < shape.size(); ++a) {
        const bool reversed = axes.empty() || std::any_of(axes.begin(), axes.end(), [&](int64_t axis) {
                                return static_cast<size_t>(axis < 0 ? axis + 4 : axis) == a;
                              });
        if (reversed) index[a] = shape[a] - 1 - index[a];
      }
      expected.push_back(at(x, shape, index));
    });
    BOOST_REQUIRE((result.shape() == shape));
    check_equal(values(result), expected);
  }
}

BOOST_AUTO_TEST_CASE(sum_pool_of_any_window) {
  const Dims shape{2, 7, 6, 3};
  const Reals x = numbers(shape);
  const Window windows[] = {{{2, 3}, {1, 2}, {0, 0}, {1, 1}},
                            {{3, 3}, {2, 2}, {1, 1}, {1, 1}},
                            {{2, 2}, {3, 1}, {2, 1}, {2, 3}},
                            {{1, 1}, {4, 5}, {0, 0}, {1, 1}},
                            {{7, 6}, {1, 1}, {0, 0}, {1, 1}}};
  for (const Window& w : windows) {
    Graph graph;
    const Tensor result = sum_pool(constant(graph, f64, shape, x), w, {1, 2});
    Reals expected;
    each_index(result.shape(), [&](const Ints& index) {
      double sum = 0;
      for (int64_t i = 0; i < w.kernel[0]; ++i)
        for (int64_t j = 0; j < w.kernel[1]; ++j) {
          const int64_t h = index[1] * w.stride[0] - w.padding[0] + i * w.dilation[0];
          const int64_t v = index[2] * w.stride[1] - w.padding[1] + j * w.dilation[1];
          if (h >= 0 && h < shape[1] && v >= 0 && v < shape[2]) sum += at(x, shape, {index[0], h, v, index[3]});
        }
      expected.push_back(sum);
    });
    check_equal(values(result), expected, 1e-12);
  }
  Graph graph;
  const Tensor image = constant(graph, f64, 1.0, {1, 2, 4, 6});
  BOOST_TEST((sum_pool(image, {.kernel = {2, 3}, .stride = {2, 3}}).shape() == Dims{1, 2, 2, 2}));
}

// The row of graph/README.md for F.pixel_shuffle(x, 2).
BOOST_AUTO_TEST_CASE(pixels_shuffled_out_of_channels) {
  constexpr int64_t n = 2, c = 3, h = 3, w = 2;
  const Dims small{n, 4 * c, h, w}, twice{n, c, 2 * h, 2 * w};
  Graph g;
  const Reals pixels = numbers(small);
  const Tensor x = constant(g, f64, small, pixels);
  Reals expected;
  each_index(twice, [&](const Ints& i) {
    expected.push_back(at(pixels, small, {i[0], 4 * i[1] + 2 * (i[2] % 2) + i[3] % 2, i[2] / 2, i[3] / 2}));
  });
  const Tensor parts = transpose(reshape(x, {n, c, 2, 2, h, w}), {0, 1, 4, 2, 5, 3});
  check_equal(values(reshape(parts, twice)), expected);
}

BOOST_AUTO_TEST_CASE(upsample2d_repeats_or_interpolates) {
  const Dims small{2, 3, 3, 2};
  const Reals pixels = numbers(small);
  for (const Sides factor : {Sides(2), Sides(1, 3), Sides(4, 5)}) {
    const Ints factors{factor.height, factor.width};
    const Dims large{2, 3, 3 * factors[0], 2 * factors[1]};
    Graph graph;
    const Tensor x = constant(graph, f64, small, pixels);
    const auto near = [&](const Ints& i) {
      return at(pixels, small, {i[0], i[1], i[2] / factors[0], i[3] / factors[1]});
    };
    // The mean over both axes of the two elements whose centres are next, weighted by the distances of the other one.
    const auto mixed = [&](const Ints& i) {
      double total = 0;
      for (int64_t corner = 0; corner < 4; ++corner) {
        Ints place = i;
        double weight = 1;
        for (size_t a = 0; a < 2; ++a) {
          const double scale = static_cast<double>(factors[a]);
          const double centre = std::max(0.0, (static_cast<double>(i[2 + a]) + 0.5) / scale - 0.5);
          const auto low = static_cast<int64_t>(centre);
          const bool high = (corner >> a & 1) != 0;
          place[2 + a] = high ? std::min(low + 1, small[2 + a] - 1) : low;
          weight *= high ? centre - static_cast<double>(low) : 1 - centre + static_cast<double>(low);
        }
        total += weight * at(pixels, small, place);
      }
      return total;
    };
    Reals repeated, interpolated;
    each_index(large, [&](const Ints& i) { repeated.push_back(near(i)), interpolated.push_back(mixed(i)); });
    check_equal(values(upsample2d(x, factor, Interpolation::nearest)), repeated);
    const Tensor smooth = upsample2d(x, factor, Interpolation::bilinear);
    BOOST_TEST((smooth.shape() == large));
    check_equal(values(smooth), interpolated, 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(adaptive_avg_pool2d_takes_means_of_windows) {
  const Dims from{2, 3, 7, 6};
  const Reals pixels = numbers(from);
  for (const Sides size : {Sides(1), Sides(7, 6), Sides(1, 3), Sides(3, 4), Sides(5, 8)}) {
    Graph graph;
    const Dims to{2, 3, size.height, size.width};
    const auto window_mean = [&](const Ints& i) {
      const auto first = [&](size_t a) { return i[a] * from[a] / to[a]; };
      const auto last = [&](size_t a) { return (i[a] * from[a] + from[a] - 1) / to[a]; };
      double total = 0, count = 0;
      for (int64_t y = first(2); y <= last(2); ++y)
        for (int64_t x = first(3); x <= last(3); ++x) total += at(pixels, from, {i[0], i[1], y, x}), ++count;
      return total / count;
    };
    Reals expected;
    each_index(to, [&](const Ints& i) { expected.push_back(window_mean(i)); });
    const Tensor pooled = adaptive_avg_pool2d(constant(graph, f64, from, pixels), size);
    BOOST_TEST((pooled.shape() == to));
    check_equal(values(pooled), expected, 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(logsumexp_does_not_overflow) {
  Graph graph;
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = constant(graph, f64, {4, 2}, {1000, 1000 + std::log(3.0), -inf, -inf, 1, -inf, inf, 0});
  const Reals got = values(logsumexp(x, {1}));
  check_equal({got.at(0), got.at(2)}, {1000 + std::log(4.0), 1}, 1e-12);
  BOOST_TEST((got.at(1) == -inf && got.at(3) == inf));
}

// The labels have one, two or three axes, and one number among them is ignored.
BOOST_AUTO_TEST_CASE(cross_entropy_of_each_label) {
  for (const Dims& of : {Dims{5}, Dims{3, 4}, Dims{2, 3, 2}})
    for (const double smoothing : {0.0, 0.2})
      for (const int64_t ignored : {-100, 2, 4}) {
        Graph graph;
        const int64_t classes = 4;
        Dims shape = of;
        shape.push_back(classes);
        const Reals x = numbers(shape);
        Reals labels, expected;
        each_index(of, [&](const Ints& index) {
          const auto row = static_cast<int64_t>(labels.size());
          labels.push_back(static_cast<double>(row % 3 == 1 ? ignored : row % classes));
          if (labels.back() == static_cast<double>(ignored)) return expected.push_back(0);
          double total = 0, loss = 0;
          Ints place = index;
          place.push_back(0);
          for (int64_t k = 0; k < classes; ++k) place.back() = k, total += std::exp(at(x, shape, place));
          for (int64_t k = 0; k < classes; ++k) {
            place.back() = k;
            const double target = smoothing / 4 + (labels.back() == static_cast<double>(k) ? 1 - smoothing : 0);
            loss -= target * (at(x, shape, place) - std::log(total));
          }
          expected.push_back(loss);
        });
        const Tensor logits = constant(graph, f64, shape, x), y = constant(graph, i32, of, labels);
        const Tensor losses = cross_entropy(logits, y, smoothing, ignored);
        BOOST_REQUIRE((losses.shape() == of));
        check_equal(values(losses), expected, 1e-12);
        if (ignored != 2) continue;
        for (double& label : labels) label = std::fmod(label, 4);
        const Tensor all = cross_entropy(logits, constant(graph, i32, of, labels), smoothing);
        BOOST_REQUIRE((all.shape() == of));
        const Reals every = values(all);
        for (size_t i = 0; i < every.size(); ++i)
          if (labels[i] != 2) BOOST_TEST(std::fabs(every[i] - expected[i]) <= 1e-12);
      }
}

BOOST_AUTO_TEST_CASE(an_ignored_row_may_hold_anything) {
  Graph graph;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor logits = constant(graph, f64, {3, 2}, {inf, -inf, nan, 1, 0, 0});
  const Reals losses = values(cross_entropy(logits, constant(graph, i32, {3}, {-1, -1, 0}), 0.0, -1));
  check_equal(losses, {0, 0, std::log(2.0)}, 1e-15);
}

// Data often mark "none of the classes" by the number after the last class; only that number may be ignored.
BOOST_AUTO_TEST_CASE(declared_labels_may_have_one_more_number_to_be_ignored) {
  Graph graph;
  const Tensor logits = input(graph, "x", f64, {2, 3}), labels = index_input(graph, "labels", {2}, 4);
  BOOST_CHECK_NO_THROW(cross_entropy(logits, labels, 0.0, 3));
  BOOST_CHECK_THROW(cross_entropy(logits, labels, 0.0, 2), Error);
  BOOST_CHECK_THROW(cross_entropy(logits, labels), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::composites_test
