// Runs every fusion class as printed CUDA in the emulator.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/simt/class_graphs.h"
#include "tests/simt/emulated_graphs.h"

namespace kb::classes_test {

namespace {

// Edges of values have a suite of their own, because they take as long as all other classes, and products run on few
// processors.
std::vector<test::KernelClass> other_classes() {
  std::vector<test::KernelClass> classes = test::kernel_classes();
  std::erase_if(classes, [](const test::KernelClass& cls) {
    return cls.add == test::values_at_edges || cls.add == test::products || cls.add == test::products_by_warps;
  });
  return classes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(classes)

BOOST_DATA_TEST_CASE(of_kernels, boost::unit_test::data::make(other_classes()), cls) {
  simt::EmulatedGraphs graphs;
  cls.add(graphs);
  graphs.check();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(classes_on_few_processors)

// Columns that are long for so few multiprocessors are cut into chunks, for blocks of 512 threads.
BOOST_AUTO_TEST_CASE(wide_blocks) {
  Target target = gpu_target("sm_90");
  target.processors = 8;
  simt::EmulatedGraphs few(target);
  test::add_long_columns(few, {{3000, 1, 64}, {20001, 1, 3}, {5000, 1, 40}, {40, 2, 300, 16}});
  few.check();
  target.processors = 140;  // a group of the last block merges up to five chunks, four at a time
  simt::EmulatedGraphs many(target);
  test::add_long_columns(many, {{18001, 1, 64}});
  many.check();
  for (const simt::EmulatedGraphs* graphs : {&few, &many}) BOOST_TEST(graphs->kernels().widest_block() == 512);
}

// A block of so few goes through several tiles of rows, and the last one merges the blocks' sums.
BOOST_AUTO_TEST_CASE(products_of_matrices) {
  Target target = gpu_target("sm_90");
  target.processors = 2;
  simt::EmulatedGraphs graphs(target);
  test::products(graphs);
  test::products_by_warps(graphs);
  graphs.check();
  BOOST_TEST(graphs.kernels().count("warpgroup_mma<") == 15);
  BOOST_TEST(graphs.kernels().count("tile_mma<") == 3);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(edges_of_kernels)

BOOST_AUTO_TEST_CASE(values_as_printed) {
  simt::EmulatedGraphs graphs;
  test::values_at_edges(graphs);
  graphs.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::classes_test
