// Random graphs for a GPU: their kernels are printed, emulated and compared with the graph interpreter.
#include <boost/test/unit_test.hpp>

#include "tests/simt/emulated_graphs.h"
#include "tests/support/random_graph.h"

namespace kb::random_graphs_test {

using namespace kb::simt;

namespace {

std::string seed_name(uint32_t seed) { return "seed " + std::to_string(seed); }

// With a sanitizer compiling takes four times as long, so a quarter of the seeds is run.
uint32_t share(uint32_t seeds) { return default_instrument() == Instrument::sanitizers ? seeds / 4 : seeds; }

}  // namespace

BOOST_AUTO_TEST_SUITE(random_graphs)

BOOST_AUTO_TEST_CASE(of_one_block_each) {
  EmulatedGraphs graphs;
  for (uint32_t seed = 0; seed < share(9); ++seed) graphs.add(seed_name(seed), test::random_graph(seed));
  graphs.check();
  BOOST_TEST_MESSAGE(graphs.kernels().count() << " kernels, " << graphs.kernels().launches() << " launches");
}

BOOST_AUTO_TEST_CASE(of_many_blocks) {
  EmulatedGraphs graphs;
  for (uint32_t seed = 5000; seed < 5000 + share(2); ++seed)
    graphs.add(seed_name(seed), test::random_graph(seed, {.max_elements = 12000}));
  graphs.check();
  BOOST_TEST_MESSAGE(graphs.kernels().count() << " kernels, " << graphs.kernels().launches() << " launches");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::random_graphs_test
