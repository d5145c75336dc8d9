// Runs the table of edges on the CPU: every program must equal its interpretation. Without flags the dtypes take turns;
// every dtype in every shape is run by
//   build/bin/tests_runtime --run_test=edges --log_level=message -- --all
#include <boost/test/unit_test.hpp>

#include "tests/runtime/session_check.h"
#include "tests/support/edge_programs.h"
#include "tests/support/support.h"

namespace kb::edges_test {

using namespace kb::test;

BOOST_AUTO_TEST_SUITE(edges)

BOOST_AUTO_TEST_CASE(every_op_at_its_edges_equals_its_interpretation) {
  const EdgeTable table = edge_table(was_asked("--all"));
  std::vector<CheckedGraph> graphs;
  for (const EdgeProgram& program : table.programs) graphs.push_back({program.name, program.graph, program.options});
  const int64_t values = check_graphs(graphs);
  BOOST_TEST_MESSAGE(graphs.size() << " programs, " << values << " values");
  BOOST_TEST(values > 0);
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_refused_with_the_users_line) {
  const EdgeTable table = edge_table();
  BOOST_TEST(!table.refusals.empty());
  for (const std::string& text : table.refusals) {
    BOOST_TEST(contains(text, "\n  at edge_programs"));
    BOOST_TEST(contains(text, "\n  expected: "));
  }
}

BOOST_AUTO_TEST_CASE(every_op_is_in_the_table) {
  // These ops are made by the compiler alone: the number of a count, a GPU's masks, a library's own order of weights,
  // attention by a GPU's library, sums between workers and processes.
  const std::set<Op> own = {Op::extent,       Op::pack_bits,       Op::unpack_bits,
                            Op::pack_weights, Op::flash_attention, Op::flash_attention_grad,
                            Op::carry,        Op::all_reduce};
  const std::set<Op> met = ops_of(edge_table());
  for (const OpInfo& row : all_ops()) BOOST_TEST((met.contains(row.op) || own.contains(row.op)), row.name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::edges_test
