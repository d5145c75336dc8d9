// Printed kernels with planted faults: a barrier or a fence is removed, a bound is moved, memory is misaligned. The
// emulator must find each fault.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "compiler/print/cuda.h"
#include "tests/compiler/lowered_group.h"
#include "tests/simt/emulated_kernels.h"
#include "tests/support/support.h"

namespace kb::planted_test {

using namespace kb::simt;

namespace {

using test::contains;

// One kernel, and copies of it with one fault each.
class Planted {
 public:
  // Takes a kernel of `graph`: the only one, or that of its launch number `group`.
  explicit Planted(const Graph& graph, Instrument instrument = Instrument::accesses, size_t group = 0,
                   const Target& target = gpu_target("sm_90"))
      : run_(test::prepare_group(graph, test::kernel_groups(graph, target).at(group), target)), kernels_(instrument) {
    run_.lowered.kernel.name = "whole";
    text_ = print_cuda(run_.lowered.kernel);
    kernels_.add(run_.lowered.kernel);
  }

  // Plants faults: makes a copy for each place of `what` in the text, with `by` in its place. Returns the number of
  // copies.
  size_t plant(const std::string& what, const std::string& by) {
    size_t count = 0;
    for (size_t at = text_.find(what); at != std::string::npos; at = text_.find(what, at + 1), ++count) {
      std::string text = text_;
      text.replace(at, what.size(), by);
      add("planted_" + std::to_string(planted_++), text);
    }
    return count;
  }
  void compile() { kernels_.compile(); }

  // Returns the message of the fault in copy `number`, or in the printed kernel for 0; empty when there is none.
  std::string fault(size_t number) {
    ir::Kernel kernel = run_.lowered.kernel;
    if (number > 0) kernel.name = "planted_" + std::to_string(number - 1);
    try {
      kernels_.run(kernel, run_.lowered.arguments, run_.lowered.tiles, run_.memory);
    } catch (const Fault& error) {
      return error.what();
    }
    return "";
  }

  test::GroupRun& run() { return run_; }

 private:
  void add(const std::string& name, std::string text) {
    ir::Kernel kernel = run_.lowered.kernel;
    const std::string head = " whole(";
    text.replace(text.find(head), head.size(), " " + name + "(");
    kernel.name = name;
    kernels_.add(kernel, text);
  }

  test::GroupRun run_;
  EmulatedKernels kernels_;
  std::string text_;
  size_t planted_ = 0;
};

Tensor x_of(Graph& graph, const Dims& shape) { return input(graph, "x", DType::f32, shape, ""); }

Graph pointwise() {
  Graph graph;
  Tensor x = x_of(graph, {50, 48});
  test::output("y", relu(x * 2.0));
  return graph;
}

Graph column_reduce() {
  Graph graph;
  const Moments m = moments(x_of(graph, {1024, 48}), {0});  // each group of threads that merges has two chunks
  test::output("mean", m.mean);
  test::output("variance", m.variance);
  return graph;
}

Graph row_reduce() {
  Graph graph;
  test::output("y", softmax(x_of(graph, {20, 600})));
  return graph;
}

Graph full_reduce() {
  Graph graph;
  Tensor x = x_of(graph, {4096, 64});  // each thread that merges has one chunk
  test::output("norm", sqrt(sum(x * x)));
  return graph;
}

Graph scatter() {
  Graph graph;
  test::output("y", scatter_add(input(graph, "at", DType::i32, {30}, ""), x_of(graph, {30, 32}), 100));
  return graph;
}

// Nearly all ranges of its updates share a row with both neighbours.
Graph crowded_scatter() {
  Graph graph;
  test::output("y", scatter_add(input(graph, "at", DType::i32, {400}, ""), x_of(graph, {400, 32}), 12));
  return graph;
}

// A convolution of one tap over images with their channels last, with moments of the result.
Graph product() {
  Graph graph;
  const Tensor x = input(graph, "x", DType::bf16, {3, 16, 9, 40}, "");
  const Tensor w = input(graph, "w", DType::bf16, {72, 1, 1, 40}, "");
  const Tensor y(graph, graph.add(Op::conv2d, {x.value(), w.value()},
                                  {{"stride", Ints{1, 1}},
                                   {"padding", Ints{0, 0}},
                                   {"dilation", Ints{1, 1}},
                                   {"groups", int64_t{1}},
                                   {"block_in", int64_t{40}},
                                   {"block_out", int64_t{72}},
                                   {"weights_last", int64_t{1}}}));
  test::output("y", y);
  test::output("mean", moments(cast(y, DType::f32), {0, 1, 2}).mean);
  return graph;
}

// Tiles have an eighth of their elements, so that small shapes have the chunks of large ones.
Target small_tiles() {
  Target target = gpu_target("sm_90");
  target.tile_elements /= 8;
  return target;
}

Target with_products() {
  Target target = gpu_target("sm_90");
  target.products = Products::all;
  target.processors = 1;  // a block goes through two tiles of rows and more
  return target;
}

// Runs the faulty kernel in a child process, and returns all that it wrote.
std::string run_apart(Planted& planted) {
  const test::TemporaryDirectory scratch;
  const std::string log = (scratch / "log").string();
  const pid_t child = ::fork();
  if (child == 0) {
    if (!std::freopen(log.c_str(), "w", stderr)) ::_exit(1);
    const std::string message = planted.fault(1);
    std::fprintf(stderr, "%s", message.c_str());
    std::fflush(stderr);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return test::read_file(log);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(planted)

// The cases list the barriers whose loss is no fault, because nothing needs them: one ends a tree of sums whose result
// is read, and counted, by the thread that wrote it.
BOOST_AUTO_TEST_CASE(every_missing_barrier) {
  const std::pair<Graph, std::vector<size_t>> cases[] = {
      {column_reduce(), {6, 14}}, {row_reduce(), {}}, {full_reduce(), {9, 10, 20}}};
  for (const auto& [graph, needless] : cases) {
    Planted planted(graph, Instrument::accesses, 0, small_tiles());
    const size_t count = planted.plant("__syncthreads();", "");
    BOOST_TEST(count >= 7);
    planted.compile();
    BOOST_TEST(planted.fault(0) == "");
    std::vector<size_t> unnoticed;
    for (size_t i = 1; i <= count; ++i) {
      const std::string message = planted.fault(i);
      if (message.empty()) unnoticed.push_back(i);
      const bool found =
          message.empty() || contains(message, "a race, no barrier") || contains(message, "never written");
      BOOST_TEST(found, message);
    }
    BOOST_TEST(unnoticed == needless);
  }
}

BOOST_AUTO_TEST_CASE(every_missing_fence) {
  for (const Graph& graph : {column_reduce(), full_reduce()}) {
    Planted planted(graph, Instrument::accesses, 0, small_tiles());
    const size_t count = planted.plant("__threadfence();", "");
    BOOST_TEST(count == 2u);
    planted.compile();
    for (size_t i = 1; i <= count; ++i) BOOST_TEST(contains(planted.fault(i), "no barrier, fence and atomic in turn"));
  }
}

// A block of a scatter counts at the counters of two rows, with a fence before and behind each.
BOOST_AUTO_TEST_CASE(missing_fences_of_a_scatter) {
  Planted planted(crowded_scatter(), Instrument::accesses, 1);
  const size_t count = planted.plant("__threadfence();", "");
  BOOST_TEST(count == 4u);
  planted.compile();
  BOOST_TEST(planted.fault(0) == "");
  std::vector<size_t> found;
  for (size_t i = 1; i <= count; ++i)
    if (contains(planted.fault(i), "no barrier, fence and atomic in turn")) found.push_back(i);
  BOOST_TEST(found == (std::vector<size_t>{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(missing_barriers_of_a_sort) {
  Planted planted(crowded_scatter());
  const size_t count = planted.plant("__syncthreads();", "");
  BOOST_TEST(count == 3u);
  planted.compile();
  BOOST_TEST(planted.fault(0) == "");
  for (size_t i = 1; i <= count; ++i) {
    const std::string message = planted.fault(i);
    BOOST_TEST((contains(message, "a race, no barrier") || contains(message, "never written")), message);
  }
}

// Only a product has these waits, fences and barriers.
BOOST_AUTO_TEST_CASE(faults_of_a_product) {
  struct Fault {
    std::string what, by;
    std::vector<std::string> found;
  };
  const std::string under_way = "while a copy", race = "a race, no barrier", unwritten = "never written";
  const std::string waits = "copies_wait<1>();", shows = "show_tensor_cores();", stores = "(l2, l8);\n";
  const Fault faults[] = {{waits, "", {under_way}},
                          {waits, "copies_wait<2>();", {under_way}},
                          {shows, "", {"did not call show_tensor_cores()"}},
                          {shows + "\n", shows + " if (0) \n", {race, under_way, unwritten}},
                          {stores, stores + " if (0) ", {race, unwritten}},
                          {"tile_store<", "if (0) tile_store<", {unwritten}}};
  Planted planted(product(), Instrument::accesses, 0, with_products());
  for (const Fault& fault : faults) BOOST_REQUIRE(planted.plant(fault.what, fault.by) == 1u);
  planted.compile();
  BOOST_TEST(planted.fault(0) == "");
  for (size_t i = 0; i < std::size(faults); ++i) {
    const std::string message = planted.fault(i + 1);
    BOOST_TEST(std::ranges::any_of(faults[i].found, [&](const std::string& part) { return contains(message, part); }),
               faults[i].what << ": " << message);
  }
}

BOOST_AUTO_TEST_CASE(a_bound_moved) {
  const std::pair<Graph, std::string> cases[] = {
      {pointwise(), "(int)e1;"}, {column_reduce(), "(int)e0;"}, {full_reduce(), "(int)e0;"}, {scatter(), "(int)e1;"}};
  for (const auto& [graph, bound] : cases) {
    Planted planted(graph);
    BOOST_REQUIRE(planted.plant(bound, bound.substr(0, bound.size() - 1) + " + 1;") == 1u);
    planted.compile();
    BOOST_TEST(planted.fault(0) == "");
    BOOST_TEST(contains(planted.fault(1), "out of bounds"));
  }
}

BOOST_AUTO_TEST_CASE(memory_askew) {
  Planted planted(pointwise());
  planted.compile();
  ir::Memory& x = planted.run().memory[0];
  x.data = static_cast<std::byte*>(x.data) + 4;
  --x.elements;
  BOOST_TEST(
      contains(planted.fault(0), "b0[0] is accessed by 16 bytes at once, but lies 4 bytes past a multiple of 16"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(planted_sanitized)

BOOST_AUTO_TEST_CASE(a_bound_moved) {
  if (!contains(KB_SANITIZE, "address")) {
    BOOST_TEST_MESSAGE("skipped: needs AddressSanitizer; configure with -D KB_SANITIZE=address,undefined");
    return;
  }
  const std::pair<Graph, std::string> cases[] = {{pointwise(), "(int)e1;"}, {scatter(), "(int)e1;"}};
  for (const auto& [graph, bound] : cases) {
    Planted planted(graph, Instrument::sanitizers);
    BOOST_REQUIRE(planted.plant(bound, bound.substr(0, bound.size() - 1) + " + 1;") == 1u);
    planted.compile();
    BOOST_TEST(planted.fault(0) == "");
    const std::string report = run_apart(planted);
    BOOST_TEST(contains(report, "AddressSanitizer: heap-buffer-overflow"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::planted_test
