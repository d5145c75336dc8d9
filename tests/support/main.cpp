// The main of every test binary.
#define BOOST_TEST_MODULE kilobatch
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

// The mask must not depend on the user's, because a folder that others may write is refused as a cache of kernels.
[[maybe_unused]] static const mode_t mask_before = ::umask(022);
