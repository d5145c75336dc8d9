#include "tests/runtime/session_check.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <optional>

#include "graph/text.h"
#include "runtime/session.h"
#include "tests/interpreters/schedule_interpreter.h"

namespace kb::test {
namespace {

// Runs one step of a session on the bindings that the interpreter had, and compares the results. Returns the number of
// values that were compared.
int64_t check_session(Backend& backend, const Graph& graph, Judged judged, const CheckOptions& options) {
  StateStore store(backend);
  Session session(backend, store, std::move(judged.compiled));
  for (const auto& [name, array] : judged.bindings) {
    if (session.has_input(name)) set_bytes(session.input(name), array);
    if (store.has(name)) set_bytes(store.data(name), array);
  }
  session.step();
  int64_t values = 0;
  for (const auto& [name, expected] : judged.expected.outputs) {
    Array got{expected.type, {}};
    session.read(name, got.data);
    compare(graph, "output " + name, expected, got, options);
    values += expected.type.elements();
  }
  for (const auto& [name, expected] : judged.expected.writes) {
    compare(graph, "state " + name, expected, from_bytes(judged.types.at(name), store.data(name)), options);
    values += expected.type.elements();
  }
  return values;
}

// Runs `work` for graph `one`. An exception fails the test with the graph's text, and the other graphs go on.
template <class F>
void attributed(const CheckedGraph& one, F&& work) {
  BOOST_TEST_CONTEXT(one.name) {
    BOOST_TEST_CHECKPOINT(one.name);
    try {
      work();
    } catch (const std::exception& error) {
      BOOST_ERROR(error.what() << "\n" << to_text(one.graph));
    }
  }
}

}  // namespace

std::unique_ptr<Backend> cpu(int threads) { return make_cpu_backend({threads, 2, ""}); }

void set_bytes(std::byte* to, const Array& array) {
  std::vector<std::byte> bytes = to_bytes(array);
  std::copy(bytes.begin(), bytes.end(), to);
}

void check_graph(Backend& backend, const Graph& graph, CheckOptions options) {
  options.target = backend.target();
  check_session(backend, graph, compile_and_interpret(graph, options), options);
}

int64_t check_graphs(const std::vector<CheckedGraph>& graphs) {
  std::unique_ptr<Backend> backend = cpu();
  std::vector<std::optional<Judged>> judged(graphs.size());
  for (size_t i = 0; i < graphs.size(); ++i)
    attributed(graphs[i], [&] {
      CheckOptions options = graphs[i].options;
      options.target = backend->target();
      options.check_passes = false;
      judged[i] = compile_and_interpret(graphs[i].graph, options);
    });
  std::vector<const Schedule*> schedules;
  for (const std::optional<Judged>& one : judged)
    if (one)
      schedules.insert(schedules.end(),
                       {&one->compiled.program.at(PartRole::prepare), &one->compiled.program.at(PartRole::final)});
  LoadReport report;
  backend->load(schedules, {}, report);
  int64_t values = 0;
  for (size_t i = 0; i < graphs.size(); ++i)
    if (judged[i])
      attributed(graphs[i],
                 [&] { values += check_session(*backend, graphs[i].graph, std::move(*judged[i]), graphs[i].options); });
  return values;
}

}  // namespace kb::test
