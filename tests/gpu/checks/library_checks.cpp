// Compares the results of a device library with the graph interpreter's, in every dtype and with epilogues, run
// directly and from captured graphs. The running test fails for a call whose result is too far off, whose bits differ
// between two runs or two libraries of equal picks, or that writes outside of its result and scratch.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "graph/interpreter.h"
#include "tests/gpu/checks/checks.h"
#include "tests/gpu/checks/device_block.h"
#include "tests/interpreters/schedule_interpreter.h"

namespace kb::test {
namespace {

// One library node with its inputs.
struct LibraryCase {
  std::string what;
  Graph graph{"call"};
  std::vector<Array> inputs;
  Node node;
  Epilogue epilogue;
  bool tf32 = false;

  Value add_input(const Type& type, std::mt19937& random) {
    Array array{type, std::vector<double>(static_cast<size_t>(type.elements()))};
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& x : array.data) x = round_to(type.dtype, uniform(random));
    return add_input(std::move(array));
  }
  Value add_input(Array array) {
    const Type type = array.type;
    inputs.push_back(std::move(array));
    return graph.add(Op::input, {},
                     {{"name", fmt::format("x{}", inputs.size())},
                      {"dtype", type.dtype},
                      {"shape", type.shape},
                      {"names", std::string()}});
  }
};

// ---- running a call

class Call {
 public:
  Call(const cuda::OpenDevice& device, cuda::DeviceLibrary& library, const LibraryCase& c)
      : device_(device),
        op_(library.plan(c.graph, c.node, c.epilogue)),
        scratch_(device, std::max<int64_t>(64, op_->scratch_bytes())) {
    BOOST_TEST(op_->scratch_bytes() <= library.scratch_bytes(c.graph, c.node, c.epilogue));
    for (const Type& type : c.node.outputs) results_.push_back(std::make_unique<DeviceBlock>(device, type.bytes()));
    for (const Array& array : c.inputs) {
      inputs_.push_back(std::make_unique<DeviceBlock>(device, array.type.bytes()));
      inputs_.back()->write(to_bytes(array));
    }
  }

  std::vector<std::byte> run() {
    clear();
    enqueue();
    return results();
  }

  // Returns the results of the same call from a captured graph that is launched twice.
  std::vector<std::byte> replay() {
    const cuda::Driver& driver = device_.driver;
    cuda::Captured captured = nullptr;
    cuda::CapturedExec graph = nullptr;
    driver(driver.capture_begin, device_.compute, cuda::CaptureMode::thread_local_);
    enqueue();
    driver(driver.capture_end, device_.compute, &captured);
    driver(driver.graph_instantiate, &graph, captured, 0ull);
    driver(driver.graph_launch, graph, device_.compute);
    clear();
    driver(driver.graph_launch, graph, device_.compute);
    std::vector<std::byte> bytes = results();
    driver(driver.graph_exec_destroy, graph);
    driver(driver.graph_destroy, captured);
    return bytes;
  }

 private:
  void clear() {
    for (const auto& result : results_) result->clear();
    scratch_.clear();
  }
  void enqueue() {
    std::vector<const void*> in;
    for (const auto& input : inputs_) in.push_back(input->data());
    std::vector<void*> out;
    for (const auto& result : results_) out.push_back(result->data());
    op_->enqueue(device_.compute, in, out, scratch_.data());
  }
  // Returns the bytes of all results, one after the other.
  std::vector<std::byte> results() {
    scratch_.read();
    std::vector<std::byte> all;
    for (const auto& result : results_) {
      const std::vector<std::byte> bytes = result->read();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  const cuda::OpenDevice& device_;
  std::unique_ptr<cuda::LibraryOp> op_;
  DeviceBlock scratch_;
  std::vector<std::unique_ptr<DeviceBlock>> inputs_, results_;
};

// ---- judging a result

// Returns the channel that element i of a result belongs to.
size_t channel_of(const LibraryCase& c, size_t i) {
  const Dims& shape = c.node.type().shape;
  if (c.node.op == Op::matmul || c.node.attrs.has("block_out")) return i % static_cast<size_t>(shape.back());
  return i / static_cast<size_t>(shape[2] * shape[3]) % static_cast<size_t>(shape[1]);
}

// The largest error of a sum, relative to the sum of its terms' absolute values, and that of rounding the result.
struct Tolerance {
  double sum, rounding;
};

Tolerance tolerance(const LibraryCase& c) {
  Tolerance t{1e-5, 0};
  if (c.inputs[0].type.dtype == DType::f64) t.sum = 1e-13;
  if (c.tf32) t.sum = 1e-3;
  if (c.node.type().dtype == DType::bf16) t.rounding = 0x1p-8;
  if (c.node.type().dtype == DType::f16) t.rounding = 0x1p-11;
  return t;
}

void judge(const LibraryCase& c, const std::vector<std::byte>& bytes) {
  const size_t operands = c.node.inputs.size();
  const Array got = from_bytes(c.node.type(), bytes.data());
  const InterpretOptions exact{.round = false};
  const Array expected = evaluate_node(c.node, std::span(c.inputs).first(operands), exact)[0];
  std::vector<Array> absolute(c.inputs.begin(), c.inputs.begin() + static_cast<std::ptrdiff_t>(operands));
  for (Array& array : absolute)
    for (double& x : array.data) x = std::abs(x);
  const Array terms = evaluate_node(c.node, absolute, exact)[0];
  const Tolerance allowed = tolerance(c);
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const double bias = c.epilogue.bias.valid() ? c.inputs[2].data[channel_of(c, i)] : 0;
    const double value = expected.data[i] + bias;
    const double bound = allowed.sum * (terms.data[i] + std::abs(bias)) + allowed.rounding * std::abs(value) +
                         1e-7 * (allowed.rounding > 0);
    if (std::abs(got.data[i] - value) <= bound) continue;
    BOOST_ERROR(fmt::format("{}: element {}: expected {} +- {}, got {}", c.what, i, value, bound, got.data[i]));
    return;
  }
}

// Judges the results of attention by the greatest number of each: the weights of a row's keys are rounded to 16 bits
// before they are multiplied, and the gradient of a score is a difference.
void judge_attention(const LibraryCase& c, const std::vector<std::byte>& bytes) {
  const std::vector<Array> expected = evaluate_node(c.node, c.inputs, {.round = false});
  const double part = c.node.inputs.size() > 5 ? 0.02 : 0.01;
  size_t at = 0;
  for (size_t result = 0; result < expected.size(); ++result) {
    const Array got = from_bytes(c.node.outputs[result], bytes.data() + at);
    at += static_cast<size_t>(c.node.outputs[result].bytes());
    double greatest = 1e-3, error = 0;
    for (size_t i = 0; i < got.data.size(); ++i) {
      greatest = std::max(greatest, std::abs(expected[result].data[i]));
      const double difference = std::abs(got.data[i] - expected[result].data[i]);
      error = std::max(error, std::isnan(difference) ? HUGE_VAL : difference);
    }
    BOOST_TEST(error <= part * greatest, c.what << ": result " << result << ": an error of " << error
                                                << ", where the greatest number is " << greatest);
  }
}

void check(TestGpu& gpu, const std::vector<LibraryCase>& cases) {
  const OpenGpu open(gpu);
  const cuda::OpenDevice& device = open.device;
  const cuda::Factories factories = gpu.factories({});
  std::unique_ptr<cuda::DeviceLibrary> library = factories.library(open.handles());
  std::vector<std::vector<std::byte>> results;
  for (const LibraryCase& c : cases) BOOST_TEST_CONTEXT(c.what) {
      Call call(device, *library, c);
      results.push_back(call.run());
      c.node.outputs.size() > 1 ? judge_attention(c, results.back()) : judge(c, results.back());
      BOOST_TEST((call.run() == results.back()), "two runs differ");
      BOOST_TEST((call.replay() == results.back()), "a replay of the captured call differs");
    }
  std::unique_ptr<cuda::DeviceLibrary> again = factories.library(open.handles());
  again->use_algorithm_choices(library->algorithm_choices());
  for (size_t i = 0; i < cases.size(); ++i)
    BOOST_TEST((Call(device, *again, cases[i]).run() == results[i]), cases[i].what + ": equal picks, other bits");
}

// ---- cases of convolutions

struct ConvCase {
  DType dtype = DType::f32;
  int64_t n = 3, c = 24, size = 11, o = 40, kernel = 3, stride = 1, padding = 1, dilation = 1, groups = 1;
  bool channels_last = true, bias = false, tf32 = false;

  int64_t out_size() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  std::string text(Op op) const {
    return fmt::format("{} {}{} n{} c{} {}x{} o{} k{} s{} p{} d{} g{}{}{}", name(op), name(dtype), tf32 ? " tf32" : "",
                       n, c, size, size, o, kernel, stride, padding, dilation, groups, channels_last ? "" : " NCHW",
                       bias ? " +bias" : "");
  }
  Type image(int64_t channels, int64_t extent) const {
    return {dtype, channels_last ? Dims{n, extent, extent, channels} : Dims{n, channels, extent, extent}, ""};
  }
  Type filter() const {
    return {dtype, channels_last ? Dims{o, kernel, kernel, c / groups} : Dims{o, c / groups, kernel, kernel}, ""};
  }
  Attrs attrs(Op op) const {
    Attrs attrs = {{"stride", Ints{stride, stride}},
                   {"padding", Ints{padding, padding}},
                   {"dilation", Ints{dilation, dilation}},
                   {"groups", groups}};
    if (channels_last) attrs.set("block_in", c).set("block_out", o).set("weights_last", int64_t{1});
    if (tf32) attrs.set("tf32", int64_t{1});
    if (op == Op::conv2d_input_grad) attrs.set("input_size", Ints{size, size}).set("channels", c);
    if (op == Op::conv2d_weight_grad) attrs.set("kernel", Ints{kernel, kernel}).set("dtype", dtype);
    return attrs;
  }
};

LibraryCase make_case(const ConvCase& conv, Op op, std::mt19937& random) {
  LibraryCase c;
  c.what = conv.text(op);
  c.tf32 = conv.tf32;
  const Type x = conv.image(conv.c, conv.size), y = conv.image(conv.o, conv.out_size());
  const Value first = c.add_input(op == Op::conv2d_input_grad ? y : x, random),
              second = c.add_input(op == Op::conv2d_weight_grad ? y : conv.filter(), random);
  if (conv.bias) c.epilogue.bias = c.add_input({conv.dtype, {conv.o}, ""}, random);
  c.node = c.graph.node(c.graph.add(op, {first, second}, conv.attrs(op)));
  return c;
}

std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> cases;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    const ConvCase plain{.dtype = dtype};
    const auto add = [&](auto change) { change(cases.emplace_back(plain)); };
    add([](ConvCase&) {});
    add([](ConvCase& c) { c.channels_last = false; });
    add([](ConvCase& c) { c.kernel = 1, c.padding = 0; });
    add([](ConvCase& c) { c.kernel = 1, c.padding = 0, c.stride = 2; });
    add([](ConvCase& c) { c.stride = 2; });
    add([](ConvCase& c) { c.c = 3, c.o = 16, c.kernel = 7, c.padding = 3, c.stride = 2, c.size = 32; });
    add([](ConvCase& c) { c.c = 1, c.o = 6, c.kernel = 5, c.padding = 2; });
    add([](ConvCase& c) { c.c = 6, c.o = 16, c.kernel = 5, c.padding = 0; });
    add([](ConvCase& c) { c.dilation = 2, c.padding = 2; });
    add([](ConvCase& c) { c.groups = 4; });
    add([](ConvCase& c) { c.c = 64, c.o = 64, c.size = 14; });
    if (dtype == DType::f32) add([](ConvCase& c) { c.c = 64, c.o = 64, c.size = 14, c.tf32 = true; });
  }
  return cases;
}

// ---- cases of matrix products

struct MatmulCase {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 5, n = 9, k = 7;
  bool transpose_a = false, transpose_b = false, wide = false, bias = false, tf32 = false;
};

LibraryCase make_case(const MatmulCase& m, std::mt19937& random) {
  LibraryCase c;
  c.what = fmt::format("matmul {} batch {} {}x{}x{}{}{}{}{}{}", name(m.dtype), m.batch, m.m, m.n, m.k,
                       m.transpose_a ? " ta" : "", m.transpose_b ? " tb" : "", m.wide ? " wide" : "",
                       m.tf32 ? " tf32" : "", m.bias ? " +bias" : "");
  c.tf32 = m.tf32;
  const auto matrix = [&](int64_t rows, int64_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return Type{m.dtype, m.batch == 1 ? Dims{rows, columns} : Dims{m.batch, rows, columns}, ""};
  };
  const Value a = c.add_input(matrix(m.m, m.k, m.transpose_a), random),
              b = c.add_input(matrix(m.k, m.n, m.transpose_b), random);
  const DType result = m.wide ? DType::f32 : m.dtype;
  if (m.bias) c.epilogue.bias = c.add_input({result, {m.n}, ""}, random);
  Attrs attrs = {{"transpose_a", int64_t{m.transpose_a}}, {"transpose_b", int64_t{m.transpose_b}}, {"dtype", result}};
  if (m.tf32) attrs.set("tf32", int64_t{1});
  c.node = c.graph.node(c.graph.add(Op::matmul, {a, b}, attrs));
  return c;
}

// ---- cases of attention

struct FlashCase {
  DType dtype = DType::bf16;
  int64_t n = 2, heads = 2, queries = 128, keys = 128, d = 64, e = 64;
  bool causal = false, lengths = false;
};

// The gradient's operands o and log-sum-exp are those that the interpreter gives.
LibraryCase make_case(const FlashCase& f, bool backward, std::mt19937& random) {
  LibraryCase c;
  c.what =
      fmt::format("flash_attention{} {} n{} heads{} {}x{} d{} e{}{}{}", backward ? "_grad" : "", name(f.dtype), f.n,
                  f.heads, f.queries, f.keys, f.d, f.e, f.causal ? " causal" : "", f.lengths ? " lengths" : "");
  const Attrs attrs{{"heads", f.heads}, {"causal", int64_t{f.causal}}, {"scale", 0.25}};
  std::vector<Value> in;
  for (const auto& [length, width] : {std::pair{f.queries, f.d}, std::pair{f.keys, f.d}, std::pair{f.keys, f.e}})
    in.push_back(c.add_input(Type{f.dtype, {f.n, length, f.heads * width}, ""}, random));
  std::vector<Array> lengths;
  if (f.lengths)
    for (const double longest : {static_cast<double>(f.queries), static_cast<double>(f.keys) - 3})
      lengths.push_back({{DType::i32, {f.n}, ""}, std::vector<double>(static_cast<size_t>(f.n), longest)});
  if (f.lengths) lengths[1].data[0] = 1;
  if (backward) {
    LibraryCase forward = make_case(f, false, random);
    std::copy(c.inputs.begin(), c.inputs.begin() + 3, forward.inputs.begin());
    for (Array& result : evaluate_node(forward.node, forward.inputs)) in.push_back(c.add_input(std::move(result)));
    in.push_back(c.add_input(Type{f.dtype, {f.n, f.queries, f.heads * f.e}, ""}, random));
  }
  for (Array& one : lengths) in.push_back(c.add_input(std::move(one)));
  c.node = c.graph.node(c.graph.add(backward ? Op::flash_attention_grad : Op::flash_attention, in, attrs));
  return c;
}

void check_attention(TestGpu& gpu) {
  std::mt19937 random(7);
  std::vector<LibraryCase> cases;
  for (const FlashCase& f :
       {FlashCase{}, FlashCase{.causal = true}, FlashCase{.lengths = true},
        FlashCase{.dtype = DType::f16, .queries = 72, .keys = 72, .d = 32, .e = 32, .causal = true, .lengths = true},
        FlashCase{.queries = 24, .keys = 200, .d = 128, .e = 64, .lengths = true}})
    for (const bool backward : {false, true}) cases.push_back(make_case(f, backward, random));
  check(gpu, cases);
}

void check_convolutions(TestGpu& gpu) {
  std::mt19937 random(5);
  std::vector<LibraryCase> cases;
  for (const ConvCase& conv : conv_cases()) {
    for (const Op op : {Op::conv2d, Op::conv2d_input_grad, Op::conv2d_weight_grad})
      cases.push_back(make_case(conv, op, random));
    if (is_low_precision(conv.dtype)) continue;  // epilogues are in f32 and f64 alone
    ConvCase fused = conv;
    fused.bias = true;
    cases.push_back(make_case(fused, Op::conv2d, random));
  }
  check(gpu, cases);
}

void check_matmuls(TestGpu& gpu) {
  std::mt19937 random(6);
  std::vector<LibraryCase> cases;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    const bool low = is_low_precision(dtype);
    for (int which = 0; which < 16; ++which) {
      MatmulCase m{.dtype = dtype,
                   .transpose_a = (which & 1) != 0,
                   .transpose_b = (which & 2) != 0,
                   .wide = low && (which & 4) != 0,
                   .tf32 = dtype == DType::f32 && (which & 4) != 0};
      if (!low || m.wide) {
        m.bias = (which & 8) != 0;
      } else if (which >= 8) {
        continue;
      }
      cases.push_back(make_case(m, random));
      m.m = 64, m.n = 10, m.k = 784;
      cases.push_back(make_case(m, random));
      m.m = 33, m.n = 65, m.k = 129, m.batch = 3;
      if (!m.bias) cases.push_back(make_case(m, random));
    }
  }
  check(gpu, cases);
}

}  // namespace

std::vector<GpuCheck> library_checks() {
  return {{"convolutions", check_convolutions, &DriverCalls::copies},
          {"matrix_products", check_matmuls, &DriverCalls::copies},
          {"attention", check_attention, &DriverCalls::copies}};
}

}  // namespace kb::test
