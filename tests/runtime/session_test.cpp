#include "runtime/session.h"

#include <boost/test/unit_test.hpp>

#include "tests/runtime/hand_program.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::session_test {

using namespace kb::test;

namespace {

struct Fixture {
  std::unique_ptr<Backend> backend = make_cpu_backend({2, 2, ""});
  StateStore store{*backend};
  Session session{*backend, store, hand_program(hand_schedule(300, backend->target()))};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(session, Fixture)

BOOST_AUTO_TEST_CASE(inputs_are_known_by_name) {
  BOOST_TEST(session.has_input("x"));
  BOOST_TEST(!session.has_input("z"));
  BOOST_TEST((session.input_type("x") == Type{DType::f32, {300}, ""}));
  BOOST_CHECK_EXCEPTION(session.input("images"), Error, says("program hand has no input \"images\"; its inputs: x"));
}

BOOST_AUTO_TEST_CASE(outputs_are_known_by_name) {
  BOOST_TEST(session.has_output("y"));
  BOOST_TEST((session.output_type("y") == Type{DType::f32, {300}, ""}));
  std::vector<double> values;
  BOOST_CHECK_EXCEPTION(session.read("loss", values), Error,
                        says("program hand has no output \"loss\"; its outputs: y"));
  BOOST_CHECK_EXCEPTION(session.read_scalar("loss"), Error, says("has no output"));
}

BOOST_AUTO_TEST_CASE(a_scalar_that_no_node_reads_is_ignored) { BOOST_CHECK_NO_THROW(session.set_scalar("lr", 0.1)); }

BOOST_AUTO_TEST_CASE(outputs_stay_until_the_next_step) {
  fill_hand_input(session);
  session.step();
  std::vector<double> first, again;
  session.read("y", first);
  std::fill_n(session.input("x"), 1200, std::byte{0});
  session.read("y", again);
  BOOST_TEST(first == again);
  BOOST_TEST(session.read_scalar("y") == hand_result(0));
  session.step();
  session.read("y", again);
  BOOST_TEST(again[7] == 0.0);
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_not_there_is_a_mistake) {
  fill_hand_input(session);
  for (const int64_t worker : {-1, 1}) BOOST_CHECK_THROW(session.work(worker), InternalError);
}

// The program itself reads lent memory, for one step.
BOOST_AUTO_TEST_CASE(an_input_may_be_lent) {
  fill_hand_input(session);
  session.step();
  const double own = session.read_scalar("y");
  const std::unique_ptr<DeviceMemory> lent = session.allocate_host(1200);
  auto* values = reinterpret_cast<float*>(lent->data());
  std::fill_n(values, 300, 2.0f);
  session.lend("x", lent->data());
  values[0] = 3.0f;
  session.step();
  BOOST_TEST(session.read_scalar("y") == 2 * 3.0 + 2 * 3.0 * 3.0);
  BOOST_CHECK_THROW(session.step(), InternalError);
  fill_hand_input(session);
  session.step();
  BOOST_TEST(session.read_scalar("y") == own);
}

// Labels enter by the input's own memory and by memory that is lent; a fault is told before anything is computed.
BOOST_AUTO_TEST_CASE(an_index_outside_is_refused_with_its_sample) {
  Graph graph("rows");
  const Tensor table = input(graph, "table", DType::f32, {4, 3}, ""), rows = index_input(graph, "rows", {5, 2}, 4);
  graph.outputs.push_back({"sum", sum(gather(table, rows)).value()});
  CompileOptions options;
  options.target = backend->target();
  StateStore own(*backend);
  Session gathers(*backend, own, compile(graph, options));
  std::fill_n(reinterpret_cast<float*>(gathers.input("table")), 12, 1.0f);
  auto* at = reinterpret_cast<int32_t*>(gathers.input("rows"));
  at[6] = 3;
  gathers.step();
  BOOST_TEST(gathers.read_scalar("sum") == 30);
  for (const int32_t wrong : {-1, 4, INT32_MIN}) {
    at[6] = wrong;
    BOOST_CHECK_EXCEPTION(gathers.step(), Error,
                          says("input \"rows\": a number of sample 3 is out of range\n  expected: 0 to 3\n"
                               "  got:      " +
                               std::to_string(wrong)));
  }
  const std::unique_ptr<DeviceMemory> lent = gathers.allocate_host(40);
  reinterpret_cast<int32_t*>(lent->data())[9] = 7;
  gathers.lend("rows", lent->data());
  BOOST_CHECK_EXCEPTION(gathers.step(), Error, says("sample 4"));
  reinterpret_cast<int32_t*>(lent->data())[9] = 1;
  gathers.step();
  BOOST_TEST(gathers.read_scalar("sum") == 30);
  reinterpret_cast<int32_t*>(lent->data())[9] = 7;  // the session reads memory that was lent no more
  BOOST_CHECK_THROW(gathers.step(), InternalError);
}

BOOST_AUTO_TEST_CASE(an_input_may_be_an_output) {
  auto graph = std::make_shared<Graph>("through");
  Tensor x = input(*graph, "x", DType::i32, {3}, "N");
  graph->outputs.push_back({"same", x.value(), Merge::per_sample});
  Schedule schedule;
  schedule.name = "through";
  schedule.graph = graph;
  schedule.buffers = {{BufferKind::input, "x", 12, 0, 0, 0, 0}};
  schedule.views = {{x.value(), {0, 0}}};
  Session through(*backend, store, hand_program(schedule));
  auto* values = reinterpret_cast<int32_t*>(through.input("x"));
  values[2] = -5;
  through.step();
  std::vector<double> read;
  through.read("same", read);
  BOOST_TEST(read[2] == -5);
}

BOOST_AUTO_TEST_CASE(memory_is_zero_and_aligned) {
  for (int64_t bytes : {0L, 1L, 4096L, 5L << 20}) {
    std::unique_ptr<DeviceMemory> memory = backend->allocate(bytes);
    BOOST_TEST(memory->bytes() == bytes);
    BOOST_TEST(reinterpret_cast<uintptr_t>(memory->data()) % (bytes < (2 << 20) ? 4096 : 2 << 20) == 0u);
    BOOST_TEST(std::all_of(memory->data(), memory->data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(memory->data(), bytes, std::byte{1});
  }
  BOOST_CHECK_EXCEPTION(backend->allocate(int64_t{1} << 55), Error, says("out of memory"));
}

BOOST_AUTO_TEST_CASE(a_backend_says_what_it_is) {
  std::string text = backend->description();
  BOOST_TEST(text.starts_with("cpu: "));
  BOOST_TEST(contains(text, "2 threads"));
  for (DType dtype : {DType::f32, DType::f64}) BOOST_TEST((backend->library_dtype(dtype) == dtype));
  BOOST_TEST((backend->library_dtype(DType::f16) == DType::f32));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::session_test
