// Makes every mistake that a user can make in the DSL and compares the error's text with golden/errors/NAME.txt.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <regex>

#include "graph/layers.h"
#include "graph/recurrent.h"
#include "graph/report.h"
#include "graph/scope.h"
#include "graph/transformer.h"
#include "tests/support/support.h"

namespace kb::errors_test {
namespace {

constexpr DType f32 = DType::f32, f64 = DType::f64, bf16 = DType::bf16, i32 = DType::i32, u8 = DType::u8,
                u32 = DType::u32;

// Graphs and tensors that the mistakes are made with.
struct Model {
  Graph graph{"model"};
  Graph other{"other"};
  Graph predict{"predict", Mode::inference};
  Tensor x = input(graph, "x", f32, {64, 128}, "NK");
  Tensor labels = input(graph, "labels", i32, {64}, "N");
  Tensor classes = index_input(graph, "classes", {64}, 10, "N");
  Tensor images = input(graph, "images", f32, {8, 3, 32, 32}, "NCHW");
  Tensor pixels = input(graph, "pixels", u8, {8, 3, 32, 32}, "NCHW");
  Tensor mask = input(graph, "mask", DType::boolean, {64, 128}, "NK");
  Tensor narrow = input(graph, "narrow", bf16, {64, 128}, "NK");
  Tensor scalar = scalar_input(graph, "lr");
  Tensor running = state(graph, "running", {f32, {3}, "C"}, {});
  Tensor weight = parameter(graph, "weight", Role::weight, {f32, {10, 128}, "OI"}, {});
  Tensor filters = parameter(graph, "filters", Role::weight, {f32, {16, 3, 3, 3}, "OIHW"}, {});
  Tensor foreign = input(other, "x", f32, {64, 128});
  Tensor counter = state(predict, "counter", {f32, {}, ""}, {});
  Tensor none;
};

// A plain function of the user's, without a Call: the error names the line inside it.
constexpr int kHeadLine = __LINE__ + 3;
Tensor head(Tensor x) {
  Scope scope("head");
  return linear("fc", x, 10);
}

// A composite of the user's own, with a Call as the built-in ones have: the error names the line that calls it.
Tensor squash(Tensor x, Tensor y, Where where = Where::current()) {
  const Call call(where);
  return tanh(matmul(x, y));
}

struct Case {
  const char* name;
  int line;
  void (*make)(Model& m);
};
// Every case stands on one line, because the error's text names the line where the mistake was made.
// clang-format off
#define KB_CASE_AT(line, name, statement) {name, line, []([[maybe_unused]] Model& m) { statement; }}
#define KB_CASE(name, statement) KB_CASE_AT(__LINE__, name, statement)
const Case kCases[] = {
    KB_CASE("matmul_inner", { Scope a("layer1"); Scope b("0"); matmul(m.x, m.weight); }),
    KB_CASE("matmul_inner_two_flags", matmul(m.x, m.weight, true, true)),
    KB_CASE("matmul_nothing_fits", matmul(m.x, m.filters)),
    KB_CASE("matmul_vector", matmul(m.x, m.running)),
    KB_CASE("matmul_leading", matmul(m.images, transpose(m.images, {1, 0, 2, 3}))),
    KB_CASE("matmul_dtypes", matmul(m.x, m.narrow, false, true)),
    KB_CASE("matmul_integers", matmul(m.pixels, m.pixels)),
    KB_CASE("add_broadcast", m.x + m.labels),
    KB_CASE("add_dtypes", m.narrow + m.x),
    KB_CASE("add_integer_to_float", m.images * m.pixels),
    KB_CASE("add_booleans", m.mask + m.mask),
    KB_CASE("add_other_graph", m.x + m.foreign),
    KB_CASE("add_empty", m.x + m.none),
    KB_CASE("batch_norm_epsilon", batch_norm("bn", m.images, {.epsilon = -1})),
    KB_CASE("batch_norm_momentum", batch_norm("bn", m.images, {.momentum = 2})),
    KB_CASE("layer_norm_epsilon", layer_norm("ln", m.x, {.epsilon = NAN})),
    KB_CASE("convolution_kernel", convolution(m.images, m.filters, {.kernel = {5, 5}})),
    KB_CASE("shape_of_empty", m.none.shape()),
    KB_CASE("graph_of_empty", m.none.graph()),
    KB_CASE("add_number_not_exact", m.pixels + 0.5),
    KB_CASE("add_number_out_of_range", m.pixels + 256),
    KB_CASE("splat_number_out_of_range", splat(m.graph, u8, 300, {2})),
    KB_CASE("full_like_number_not_exact", full_like(m.labels, 2.7)),
    KB_CASE("constant_number_not_exact", constant(m.graph, i32, {2}, {1, 0.5})),
    KB_CASE("constant_nan_integer", constant(m.graph, i32, std::nan(""))),
    KB_CASE("pad_number_out_of_range", pad(m.pixels, {0, 0, 1, 1}, {0, 0, 1, 1}, -1)),
    KB_CASE("exp_integer", exp(m.labels)),
    KB_CASE("exp_empty", exp(m.none)),
    KB_CASE("relu_boolean", relu(m.mask)),
    KB_CASE("compare_dtypes", static_cast<void>(m.narrow < m.x)),
    KB_CASE("select_condition", select(m.x, m.x, 0.0)),
    KB_CASE("select_dtypes", select(m.mask, m.x, m.narrow)),
    KB_CASE("select_two_numbers", select(m.mask, 1.0, 0.0) + m.narrow),
    KB_CASE("select_broadcast", select(m.mask, m.x, m.running)),
    KB_CASE("logical_not_float", logical_not(m.x)),
    KB_CASE("bit_and_float", bit_and(m.x, m.x)),
    KB_CASE("shift_booleans", shift_right(m.mask, m.mask)),
    KB_CASE("mul_high_booleans", mul_high(m.mask, m.mask)),
    KB_CASE("pointwise_arity", pointwise(Op::add, {m.x})),
    KB_CASE("pointwise_of_a_reduction", pointwise(Op::reduce_sum, {m.x})),
    KB_CASE("clamp_low_above_high", clamp(m.x, 1.0, -1.0)),
    KB_CASE("clamp_nan", clamp(m.x, std::numeric_limits<double>::quiet_NaN(), 1.0)),
    KB_CASE("sum_axis", sum(m.x, {2})),
    KB_CASE("sum_axis_twice", sum(m.x, {1, -1})),
    KB_CASE("sum_booleans", sum(m.mask)),
    KB_CASE("sum_bytes", sum(m.pixels)),
    KB_CASE("sum_pool_bytes", sum_pool(m.pixels, {.kernel = {2, 2}})),
    KB_CASE("mean_integers", mean(m.labels)),
    KB_CASE("argmax_axis", argmax(m.scalar, 0)),
    KB_CASE("moments_integers", moments(m.pixels, {0})),
    KB_CASE("norm_integers", norm(m.labels)),
    KB_CASE("count_axis", count(m.labels, {1})),
    KB_CASE("reshape_elements", reshape(m.x, {64, 100})),
    KB_CASE("reshape_two_unknown", reshape(m.x, {-1, -1, 4})),
    KB_CASE("reshape_unknown_does_not_divide", reshape(m.x, {-1, 100})),
    KB_CASE("reshape_to_nothing", reshape(m.x, {0, 128})),
    KB_CASE("reshape_rest_of_nothing", reshape(m.x, {0, -1})),
    KB_CASE("reshape_overflows", reshape(m.x, {int64_t{1} << 40, int64_t{1} << 40, -1})),
    KB_CASE("reshape_negative", reshape(m.x, {-2, 64})),
    KB_CASE("reshape_letters", reshape(m.x, {64, 2, 64}, "NK")),
    KB_CASE("flatten_axis", flatten(m.labels)),
    KB_CASE("transpose_twice", transpose(m.images, {0, 1, 1, 2})),
    KB_CASE("transpose_too_few", transpose(m.images, {1, 0})),
    KB_CASE("transpose_axis", transpose(m.x, {0, 2})),
    KB_CASE("slice_end", slice(m.x, 1, 0, 129)),
    KB_CASE("slice_begin_behind_end", slice(m.x, 1, 5, 4)),
    KB_CASE("slice_of_nothing", slice(m.x, 0, 3, 3)),
    KB_CASE("slice_step_too_large", slice(m.x, 0, 0, 3, int64_t{1} << 62)),
    KB_CASE("slice_step", slice(m.x, 1, 0, 128, 0)),
    KB_CASE("slice_axis", slice(m.x, 2, 0, 1)),
    KB_CASE("slice_per_axis", slice(m.x, Ints{0}, Ints{1}, Ints{1})),
    KB_CASE("pad_negative", pad(m.x, {-1, 0}, {0, 0})),
    KB_CASE("pad_too_large", pad(m.x, {0, 0}, {int64_t{1} << 36, 0})),
    KB_CASE("pad_between_too_large", pad(m.x, {0, 0}, {0, 0}, 0, {0, int64_t{1} << 40})),
    KB_CASE("pad_overflows", pad(m.x, {0, 0}, {0, std::numeric_limits<int64_t>::max()})),
    KB_CASE("pad_per_axis", pad(m.x, {1}, {1})),
    KB_CASE("concat_extents", concat({m.x, m.weight}, 1)),
    KB_CASE("concat_dtypes", concat({m.x, m.narrow}, 0)),
    KB_CASE("concat_axis", concat({m.x, m.x}, 2)),
    KB_CASE("concat_axis_of_one_part", concat({m.x}, 2)),
    KB_CASE("concat_nothing", concat({}, 0)),
    KB_CASE("broadcast_to_fewer", broadcast_to(m.images, {32, 32})),
    KB_CASE("broadcast_to_nothing", broadcast_to(m.scalar, {3, 0})),
    KB_CASE("broadcast_to_negative", broadcast_to(m.scalar, {-3})),
    KB_CASE("broadcast_to_overflows", broadcast_to(m.scalar, Dims(5, int64_t{1} << 16))),
    KB_CASE("broadcast_to_extents", broadcast_to(m.x, {64, 64})),
    KB_CASE("broadcast_axes_too_few", broadcast_axes(m.x, {64, 128, 3}, {0})),
    KB_CASE("broadcast_axes_of_equal_shape", broadcast_axes(m.x, {64, 128}, {1, 0})),
    KB_CASE("broadcast_axes_order", broadcast_axes(m.x, {64, 128, 3}, {1, 0})),
    KB_CASE("one_hot_classes", one_hot(m.labels, 0)),
    KB_CASE("one_hot_floats", one_hot(m.x, 10)),
    KB_CASE("gather_floats", gather(m.weight, m.x)),
    KB_CASE("gather_scalar_table", gather(m.scalar, m.labels)),
    KB_CASE("scatter_add_updates", scatter_add(m.labels, m.weight, 10)),
    KB_CASE("gather_no_rows", gather(parameter(m.graph, "table", Role::embedding, {f32, {0, 8}, ""}, {}), m.labels)),
    KB_CASE("scatter_add_booleans", scatter_add(m.labels, m.mask, 10)),
    KB_CASE("index_order_floats", index_order(m.x, 10)),
    KB_CASE("index_order_rows", index_order(m.labels, int64_t{1} << 31)),
    KB_CASE("index_order_indices", index_order(input(m.graph, "indices", i32, {1 << 16, 1 << 15}), 9)),
    KB_CASE("scatter_add_rows", scatter_add(m.labels, m.x, 0)),
    KB_CASE("crop_window", crop(m.images, m.labels, {32, 32})),
    KB_CASE("crop_size", crop(m.images, constant(m.images.graph(), DType::i32, 0, {m.images.size(0), 3}), {32, 0})),
    KB_CASE("gather_axis", gather(m.x, m.labels, 2)),
    KB_CASE("gather_axis_floats", gather(m.x, m.x, 1)),
    KB_CASE("take_along_axis_shape", take_along_axis(m.x, m.labels, 1)),
    KB_CASE("take_along_axis_floats", take_along_axis(m.x, m.x, 1)),
    KB_CASE("flip_axis", flip(m.x, {2})),
    KB_CASE("flip_axis_twice", flip(m.x, {1, -1})),
    KB_CASE("sum_pool_axes", sum_pool(m.images, {.kernel = {2, 2}}, {3})),
    KB_CASE("sum_pool_kernel", sum_pool(m.images, {.kernel = {40, 2}})),
    KB_CASE("sum_pool_stride", sum_pool(m.images, {.kernel = {2, 2}, .stride = {0, 1}})),
    KB_CASE("sum_pool_booleans", sum_pool(reshape(m.mask, {1, -1}), {.kernel = {1, 1}})),
    KB_CASE("cross_entropy_vector", cross_entropy(m.running, m.labels)),
    KB_CASE("cross_entropy_ignored_labels", cross_entropy(m.images, m.labels, 0.0, -100)),
    KB_CASE("cross_entropy_ignored_dtype", cross_entropy(m.x, cast(m.labels, u8), 0.0, 255)),
    KB_CASE("cross_entropy_ignored_number", cross_entropy(m.x, m.labels, 0.0, int64_t{1} << 40)),
    KB_CASE("argmax_equals_labels", argmax_equals(m.x, cast(m.labels, u8))),
    KB_CASE("argmax_equals_floats", argmax_equals(m.x, cast(m.labels, f32))),
    KB_CASE("argmax_equals_flatten", argmax_equals(m.images, slice(m.labels, 0, 0, 8))),
    KB_CASE("argmax_equals_rank", argmax_equals(m.images, m.labels)),
    KB_CASE("in_top_k_number", in_top_k(m.x, m.labels, 129)),
    KB_CASE("topk_number", topk(m.x, 129)),
    KB_CASE("topk_axis", topk(m.x, 1, 2)),
    KB_CASE("sort_axis", sort(m.x, 2)),
    KB_CASE("cumsum_axis", cumsum(m.x, 2)),
    KB_CASE("order_key_integers", order_key(m.labels)),
    KB_CASE("cross_entropy_classes", cross_entropy(linear("fc", m.x, 7), m.classes)),
    KB_CASE("argmax_equals_classes", argmax_equals(m.x, gather(m.classes, m.labels))),
    KB_CASE("index_input_beyond_i32", index_input(m.graph, "rows", {3}, INT64_MAX)),
    KB_CASE("index_input_of_nothing", index_input(m.graph, "rows", {3}, 0)),
    KB_CASE("cross_entropy_one_hot", cross_entropy(m.x, one_hot(m.labels, 128))),
    KB_CASE("cross_entropy_labels", cross_entropy(m.x, cast(m.labels, f32))),
    KB_CASE("cross_entropy_flatten", cross_entropy(m.images, slice(m.labels, 0, 0, 8))),
    KB_CASE("cross_entropy_classes_second", cross_entropy(m.images, argmax(m.images, 1))),
    KB_CASE("cross_entropy_rank", cross_entropy(m.images, m.labels)),
    KB_CASE("cross_entropy_smoothing", cross_entropy(m.x, m.labels, 1.0)),
    KB_CASE("cross_entropy_smoothing_tensor", cross_entropy(m.x, m.labels, m.x)),
    KB_CASE("softmax_axis", softmax(m.x, 2)),
    KB_CASE("softmax_integers", softmax(m.labels)),
    KB_CASE("log_softmax_axis", log_softmax(m.x, -3)),
    KB_CASE("mse_shapes", mse(m.x, m.labels)),
    KB_CASE("conv2d_rank", conv2d("conv", m.x, 8, {})),
    KB_CASE("conv2d_of_volumes", conv2d("conv", reshape(m.images, {8, 3, 4, 8, 32}), 8, {})),
    KB_CASE("conv2d_kernel_too_large", conv2d("conv", m.images, 8, {.kernel = 35, .padding = 1})),
    KB_CASE("conv2d_dilated_kernel", conv2d("conv", m.images, 8, {.kernel = 5, .dilation = 8})),
    KB_CASE("conv2d_groups", conv2d("conv", m.images, 8, {.groups = 2})),
    KB_CASE("conv2d_stride", conv2d("conv", m.images, 8, {.stride = 0})),
    KB_CASE("conv2d_padding", conv2d("conv", m.images, 8, {.padding = -1})),
    KB_CASE("conv2d_padding_too_large", conv2d("conv", m.images, 8, {.padding = int64_t{1} << 40})),
    KB_CASE("conv2d_kernel", conv2d("conv", m.images, 8, {.kernel = 0})),
    KB_CASE("conv1d_sides", conv1d("conv", reshape(m.images, {8, 3, 1024}), 8, {.kernel = {1, 3}})),
    KB_CASE("conv_transpose2d_output_padding",
            conv_transpose2d("up", m.images, 8, {.stride = {2, 1}, .output_padding = 1})),
    KB_CASE("conv_transpose2d_nothing_left", conv_transpose2d("up", m.images, 8, {.padding = 17})),
    KB_CASE("conv2d_channels", conv2d("conv", m.images, 0, {})),
    KB_CASE("conv2d_integers", conv2d("conv", m.pixels, 8, {})),
    KB_CASE("convolution_channels", convolution(concat({m.images, m.images}, 1), m.filters, {.kernel = {3, 3}})),
    KB_CASE("convolution_weight", convolution(m.images, m.weight, {.kernel = {3, 3}})),
    KB_CASE("convolution_dtypes", convolution(m.images, cast(m.filters, bf16), {.kernel = {3, 3}})),
    KB_CASE("convolution_input_grad", convolution_input_grad(m.images, m.filters, {{3, 3}}, 1, {34, 34}, 3)),
    KB_CASE("convolution_input_grad_size", convolution_input_grad(m.images, m.filters, {{3, 3}}, 1, {34}, 3)),
    KB_CASE("convolution_weight_grad", convolution_weight_grad(m.images, m.images, {{3, 3}}, 1)),
    KB_CASE("max_pool_kernel_too_large", max_pool2d(m.images, {.kernel = 33})),
    KB_CASE("max_pool_padding", max_pool2d(m.images, {.kernel = 3, .padding = 2})),
    KB_CASE("max_pool_booleans", max_pool2d(m.images > 0, {})),
    KB_CASE("max_pool_rank", max_pool2d(m.x, {})),
    KB_CASE("max_pool_axes", max_pool_with_index(m.images, {{2, 2}}, {1, 2, 3})),
    KB_CASE("max_pool_window_in_padding",
            max_pool_with_index(m.images, {.kernel = {2, 2}, .padding = {2, 0}}, {2, 3})),
    KB_CASE("max_pool_last_window_in_padding",
            max_pool_with_index(m.images, {.kernel = {1, 2}, .stride = {1, 33}, .padding = {0, 2}}, {2, 3})),
    KB_CASE("max_pool_window_around_the_input",
            max_pool_with_index(slice(m.images, 3, 0, 2),
                                {.kernel = {2, 2}, .padding = {0, 2}, .dilation = {1, 3}}, {2, 3})),
    KB_CASE("max_pool_too_many_to_number",
            max_pool_with_index(broadcast_to(m.scalar, {1 << 16, 1 << 16}), {{1 << 16, 1 << 15}}, {0, 1})),
    KB_CASE("avg_pool_integers", avg_pool2d(m.pixels, {})),
    KB_CASE("global_avg_pool_rank", global_avg_pool(m.x)),
    KB_CASE("adaptive_avg_pool2d_size", adaptive_avg_pool2d(m.images, {4, 0})),
    KB_CASE("linear_vector", linear("fc", m.running, 10)),
    KB_CASE("linear_features", linear("fc", m.x, -1)),
    KB_CASE_AT(kHeadLine, "linear_integers_in_a_function", { Scope scope("net"); head(m.pixels); }),
    KB_CASE("batch_norm_rank", batch_norm("bn", m.running)),
    KB_CASE("batch_norm_one_value", batch_norm("bn", slice(m.x, 0, 0, 1))),
    KB_CASE("group_norm_groups", group_norm("gn", m.images, {.groups = 2})),
    KB_CASE("group_norm_epsilon", group_norm("gn", m.images, {.groups = 1, .epsilon = -1})),
    KB_CASE("group_norm_dimensions", group_norm("gn", reshape(m.x, {-1}))),
    KB_CASE("layer_norm_axes", layer_norm("ln", m.x, {.axes = 2})),
    KB_CASE("rms_norm_axes", rms_norm("rms", m.x, {.axes = 0})),
    KB_CASE("rms_norm_integers", rms_norm("rms", m.pixels)),
    KB_CASE("logsumexp_integers", logsumexp(m.labels)),
    KB_CASE("upsample2d_factor", upsample2d(m.images, 0, Interpolation::nearest)),
    KB_CASE("upsample2d_factor_beyond_memory", upsample2d(m.images, {1, INT64_MAX}, Interpolation::nearest)),
    KB_CASE("grid_sample_places", grid_sample(m.images, reshape(m.images, {8, 32, 32, 3}))),
    KB_CASE("rotary_heads", rotary(reshape(m.images, {8, 32, 96}), {.heads = INT64_MAX})),
    KB_CASE("lstm_features", lstm("rnn", reshape(m.images, {8, 32, 96}), INT64_MAX)),
    KB_CASE("orthogonal_norm", batch_norm("bn", m.images, {.init = orthogonal()})),
    KB_CASE("upsample2d_rank", upsample2d(m.x, 2, Interpolation::bilinear)),
    KB_CASE("random_normal_integers", random_normal(m.graph, "noise", {4, 2}, i32)),
    KB_CASE("embedding_floats", embedding("tokens", m.x, 100, 16)),
    KB_CASE("embedding_rows", embedding("tokens", m.labels, 0, 16)),
    KB_CASE("embedding_init", embedding("tokens", m.labels, 100, 16, {.init = normal(-1)})),
    KB_CASE("conv2d_init", conv2d("conv", m.images, 8, {.init = normal(0)})),
    KB_CASE("linear_init", linear("fc", m.x, 8, {.init = normal(std::numeric_limits<double>::quiet_NaN())})),
    KB_CASE("linear_init_infinite", linear("fc", m.x, 8, {.init = normal(std::numeric_limits<double>::infinity())})),
    KB_CASE("batch_norm_init", batch_norm("bn", m.images, {.init = he_normal(fan_out)})),
    KB_CASE("batch_norm_init_std", batch_norm("bn", m.images, {.init = normal(-1)})),
    KB_CASE("layer_norm_init", layer_norm("ln", m.x, {.init = uniform_fan_in()})),
    KB_CASE("dropout_p", dropout("drop", m.x, 1.0)),
    KB_CASE("dropout_integers", dropout("drop", m.labels, 0.5)),
    KB_CASE("random_bits_none", random_bits(m.graph, "noise", {4, 0, 2})),
    KB_CASE("random_bits_overflow", random_bits(m.graph, "noise", Dims(5, int64_t{1} << 20))),
    KB_CASE("random_bits_scalar", random_bits(m.graph, "noise", {})),
    KB_CASE("dropout_twice", { Scope s("layer1"); dropout("drop", m.x, 0.5); dropout("drop", m.x, 0.5); }),
    KB_CASE("parameter_twice", { Scope s("layer1"); linear("fc", m.x, 10); linear("fc", m.x, 20); }),
    KB_CASE("parameter_integer", parameter(m.graph, "w", Role::weight, {i32, {3, 4}, "OI"}, {})),
    KB_CASE("parameter_other_dtype", parameter(m.graph, "w", Role::weight, {f64, {3, 4}, "OI"}, {})),
    KB_CASE("parameter_letters", parameter(m.graph, "w", Role::weight, {f32, {3, 4}, "OIHW"}, {})),
    KB_CASE("state_twice", state(m.graph, "running", {f32, {3}, "C"}, {})),
    KB_CASE("input_twice", input(m.graph, "x", f32, {2}, "N")),
    KB_CASE("input_scalar", input(m.graph, "y", f32, {}, "")),
    KB_CASE("input_letters", input(m.graph, "y", f32, {2, 3}, "N")),
    KB_CASE("input_no_samples", input(m.graph, "y", f32, {0, 3}, "NC")),
    KB_CASE("input_i64", input(m.graph, "y", DType::i64, {2, 3}, "NC")),
    KB_CASE("cast_i64", cast(m.labels, DType::i64)),
    KB_CASE("parameter_no_elements", parameter(m.graph, "w", Role::weight, {f32, {3, 0}, "OI"}, {})),
    KB_CASE("input_negative_extent", input(m.graph, "y", f32, {2, -3}, "NC")),
    KB_CASE("scalar_input_other_type", scalar_input(m.graph, "lr", f64)),
    KB_CASE("scalar_input_of_a_sample_input", scalar_input(m.graph, "x")),
    KB_CASE("constant_values", constant(m.graph, f32, {2, 3}, {1, 2, 3})),
    KB_CASE("constant_of_nothing", constant(m.graph, f32, Dims{0}, std::vector<double>{})),
    KB_CASE("constant_too_large", constant(m.graph, f32, 1, {int64_t{1} << 39})),
    KB_CASE("iota_of_nothing", iota(m.graph, i32, 0)),
    KB_CASE("iota_too_long", iota(m.graph, u32, int64_t{1} << 31)),
    KB_CASE("argmax_too_long", argmax(broadcast_to(m.scalar, {int64_t{1} << 31}), 0)),
    KB_CASE("count_too_large_for_bytes", count(m.pixels, {})),
    KB_CASE("count_of_booleans", count(m.mask, {0})),
    KB_CASE("iota_of_bytes", iota(m.graph, DType::u8, 10)),
    KB_CASE("write_state_parameter", write_state(m.weight, m.weight * 2)),
    KB_CASE("write_state_result", write_state(m.x * 2, m.x)),
    KB_CASE("write_state_type", write_state(m.running, m.x)),
    KB_CASE("write_state_twice", { write_state(m.running, m.running); write_state(m.running, m.running * 2); }),
    KB_CASE("write_state_inference", write_state(m.counter, m.counter + 1)),
    KB_CASE("dim_letter", m.images.dim("D")),
    KB_CASE("dim_unnamed", reshape(m.x, {2, -1}).dim("N")),
    KB_CASE("dim_two_letters", m.images.dim("HW")),
    KB_CASE("size_axis", m.images.size(4)),
    KB_CASE("size_empty", m.none.size(0)),
    KB_CASE("named_letters", m.images.named("NC")),
    KB_CASE("users_composite", { Scope scope("tower"); squash(m.x, m.weight); }),
};
// clang-format on

// Returns the error's text with "LINE" for the number of its line, or a complaint if that is not the line of the case,
// and with "MAKER" for those of the operands.
std::string text_of(const Case& mistake) {
  Model model;
  try {
    mistake.make(model);
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string place = "errors_test.cpp:" + std::to_string(mistake.line);
    const size_t at = text.find(place);
    if (at == std::string::npos) return text + "\n(the line is wrong)\n";
    text.replace(at, place.size(), "errors_test.cpp:LINE");
    return std::regex_replace(text, std::regex("errors_test.cpp:[0-9]+"), "errors_test.cpp:MAKER") + "\n";
  }
  return "(no error)\n";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(every_mistake_is_reported_where_it_was_written) {
  for (const Case& mistake : kCases) {
    BOOST_TEST_CONTEXT(mistake.name) {
      const std::string text = text_of(mistake);
      BOOST_TEST(test::contains(text, "\n  at errors_test.cpp:LINE"));
      BOOST_TEST(test::contains(text, "\n  expected: "));
      BOOST_TEST(test::contains(text, "\n  got:      "));
      test::golden("errors/" + std::string(mistake.name) + ".txt", text);
    }
  }
}

BOOST_AUTO_TEST_CASE(operands_are_told_with_the_lines_that_made_them) {
  Model m;
  const auto block = [](Tensor x) {
    Scope scope("layer3");
    return relu(conv2d("conv", x, 5, {.kernel = 1}));
  };
  constexpr int kReluLine = __LINE__ - 2;
  const Tensor half = cast(m.images, DType::bf16), other = block(m.images);
  constexpr int kCastLine = __LINE__ - 1;
  const std::string relu_text = fmt::format("f32[N=8,C=5,H=32,W=32]: relu, errors_test.cpp:{} (in layer3)", kReluLine);
  BOOST_CHECK_EXCEPTION(m.images + other, Error,
                        test::says("f32[N=8,C=3,H=32,W=32]: input, errors_test.cpp:", relu_text));
  BOOST_CHECK_EXCEPTION(
      half + m.images, Error,
      test::says(fmt::format("made by:  bf16[N=8,C=3,H=32,W=32]: cast, errors_test.cpp:{}\n", kCastLine)));
  BOOST_CHECK_EXCEPTION(matmul(exp(m.x), exp(m.x)), Error, [](const Error& error) {  // both are of the line told above
    return !test::says("made by")(error);
  });
}

BOOST_AUTO_TEST_CASE(a_failed_call_leaves_no_scope_and_no_frame_behind) {
  Model model;
  for (const Case& mistake : kCases) BOOST_CHECK_THROW(mistake.make(model), Error);
  BOOST_TEST(scope_path() == "");
  BOOST_TEST(call_stack().empty());
}

BOOST_AUTO_TEST_CASE(a_pass_that_makes_a_mistake_is_an_internal_error) {
  Model m;
  BOOST_CHECK_THROW(m.graph.add(Op::add, {m.x.value(), m.labels.value()}), InternalError);
  BOOST_CHECK_THROW(m.graph.add_like(m.graph, m.graph.node(m.x.value()), Op::add, {m.x.value(), m.labels.value()}),
                    InternalError);
  const Node& x = m.graph.node(m.x.value());
  const Origin origin(m.graph, x.scope, x.frame);
  BOOST_CHECK_THROW(m.x + m.labels, InternalError);
}

BOOST_AUTO_TEST_CASE(nothing_is_added_by_a_call_that_fails) {
  Model m;
  const size_t before = m.graph.nodes.size();
  BOOST_CHECK_THROW(matmul(m.x, m.weight), Error);
  BOOST_CHECK_THROW(linear("weight", m.pixels, 3), Error);
  BOOST_TEST(m.graph.nodes.size() == before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::errors_test
