// Small photographs in the layout of ImageNet.
#pragma once
#include <string>

#include "tests/support/support.h"

namespace kb::test {

// A folder of three classes of JPEGs in colours of their own, four of each to train with and two to test.
struct Photos {
  TemporaryDirectory directory;
  Photos();
  std::string dir() const { return directory.path().string(); }
};

}  // namespace kb::test
