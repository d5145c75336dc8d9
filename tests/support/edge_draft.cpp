// A Draft writes one program of the table of edges: its graph, and the values of its inputs.
#include "tests/support/edge_draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <random>

namespace kb::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Reals edges(DType dtype) {
  Reals values{0, 1, 2, 3, 7, 200};
  if (is_float(dtype))
    values.insert(values.end(), {-0.0,          -1,           0.5,   -2.5,    0x1p-10,
                                 1.5e4,         kInf,         -kInf, kNan,    dtype == DType::f64 ? 5e-324 : 0x1p-149,
                                 -0x1p-130,     0x1p-24,      3e38,  -3.3e38, 65504,
                                 -2147483648.0, 4294967295.0, 1e-3,  -88,     100,
                                 -745});
  else
    values.insert(values.end(), {31, 32, 33, 255, 2147483647.0, 2147483648.0, 4294967295.0, -7});
  for (double& value : values) value = round_to(dtype, value);
  return values;
}

Reals sprinkled(DType dtype, int64_t count, uint32_t seed, int one_in) {
  std::mt19937 random(seed * 977 + static_cast<uint32_t>(dtype));
  const Reals special = is_float(dtype) ? Reals{kNan, kInf, -kInf, -0.0, 0x1p-140} : edges(dtype);
  Reals values(static_cast<size_t>(count));
  for (double& value : values) {
    const auto bits = static_cast<uint32_t>(random());
    value =
        one_in > 0 && bits % static_cast<uint32_t>(one_in) == 0
            ? special[bits / static_cast<uint32_t>(one_in) % special.size()]
            : round_to(dtype, static_cast<double>(static_cast<int>(bits >> 8 & 63) - 32) / (is_float(dtype) ? 8 : 1));
  }
  return values;
}

double rounding(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-52;
    case DType::f32:
      return 0x1p-23;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0;
  }
}

std::string text_of(const Dims& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string Draft::bind(const char* stem, DType dtype, const Dims& shape, const Reals& values) {
  std::string name = stem + std::to_string(made_++);
  Array array{{dtype, shape, ""}, {}};
  for (int64_t i = 0; i < array.type.elements(); ++i)
    array.data.push_back(values[static_cast<size_t>(i) % values.size()]);
  options().bindings[name] = std::move(array);
  return name;
}

Tensor Draft::given(DType dtype, const Dims& shape, const Reals& values) {
  const std::string name = bind("x", dtype, shape, values);
  return shape.empty() ? scalar_input(graph(), name, dtype) : input(graph(), name, dtype, shape);
}

Tensor Draft::trained(DType dtype, const Dims& shape, const Reals& values) {
  return parameter(graph(), bind("w", dtype, shape, values), Role::weight, {dtype, shape, ""}, {});
}

Tensor Draft::sprinkle(DType dtype, const Dims& shape, int one_in) {
  return given(dtype, shape, sprinkled(dtype, element_count(shape), static_cast<uint32_t>(made_), one_in));
}

Tensor Draft::trained_sprinkle(DType dtype, const Dims& shape, int one_in) {
  return trained(dtype, shape, sprinkled(dtype, element_count(shape), static_cast<uint32_t>(made_), one_in));
}

void Draft::gives(const std::string& name, Tensor x) {
  graph().outputs.push_back({name + "." + std::to_string(graph().outputs.size()), x.value(), Merge::sum});
}

void Draft::tries(const std::string& name, const std::function<Tensor()>& make) {
  try {
    gives(name, make());
  } catch (const Error& error) {
    table_.refusals.push_back(error.what());
  }
}

void Draft::trains() {
  Tensor loss;
  const std::vector<Output> outputs = graph().outputs;
  for (const Output& output : outputs) {
    const Tensor y(graph(), output.value);
    if (!is_float(y.dtype())) continue;
    Tensor wide = cast(y, y.dtype() == DType::f64 ? DType::f64 : DType::f32);
    const Tensor term = sum(wide * given(wide.dtype(), y.shape(), {0.5, -1, 0.25, 2, 1.5}));
    loss = loss.valid() ? loss + term : term;
  }
  graph().outputs = {{"loss", loss.value(), Merge::sum}};
  options().optimizer = plain_sgd();
}

void Draft::done() {
  if (!graph().outputs.empty()) table_.programs.push_back(std::move(program_));
}

}  // namespace kb::test
