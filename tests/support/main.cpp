// The main of every test binary.
#define BOOST_TEST_MODULE kilobatch
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

// Whatever the user's own is: what others may write is not taken for a cache of kernels.
[[maybe_unused]] static const mode_t mask_before = ::umask(022);
