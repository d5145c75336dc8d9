// Runs the table of edges for a GPU: its kernels are printed, emulated and compared with the graph interpreter.
// Point-wise programs are also compared with the CPU's kernels, to the bit. The emulator is slow, so it runs every
// tenth of the other programs.
#include <boost/test/unit_test.hpp>

#include "tests/simt/emulated_graphs.h"
#include "tests/support/edge_programs.h"

namespace kb::edges_test {

using namespace kb::simt;

BOOST_AUTO_TEST_SUITE(edges)

BOOST_AUTO_TEST_CASE(every_op_at_its_edges_equals_its_interpretation) {
  EmulatedGraphs graphs;
  size_t number = 0;
  for (const test::EdgeProgram& program : test::edge_table().programs) {
    test::CheckOptions options = program.options;
    options.check_passes = false;
    if (program.exact)
      graphs.add_exact(program.name, program.graph, options);
    else if (number++ % 10 == 0)
      graphs.add(program.name, program.graph, options);
  }
  graphs.check();
  BOOST_TEST_MESSAGE(graphs.kernels().count() << " kernels, " << graphs.kernels().launches() << " launches");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::edges_test
