// The main of every test binary.
#define BOOST_TEST_MODULE kilobatch
#include <boost/test/unit_test.hpp>
