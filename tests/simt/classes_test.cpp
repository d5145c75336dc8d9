// Every fusion class as printed CUDA, emulated.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/simt/class_graphs.h"
#include "tests/simt/emulated_graphs.h"

using namespace kb;

BOOST_AUTO_TEST_SUITE(classes)

BOOST_DATA_TEST_CASE(of_kernels, boost::unit_test::data::make(test::kernel_classes()), cls) {
  simt::EmulatedGraphs graphs;
  cls.add(graphs);
  graphs.check();
}

BOOST_AUTO_TEST_SUITE_END()
