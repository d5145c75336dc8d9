// A recipe's flags as a command line gives them.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/run_config.h"

namespace kb::test {

// Flags of lenet_mnist.
RunConfig lenet_config(const std::vector<std::string>& words);
// Returns what is said where they are refused, else "(nothing thrown)".
std::string usage_error(const std::vector<std::string>& words);

// Flags are judged as where no launcher started the tests.
struct NoLauncher {
  NoLauncher();
};

}  // namespace kb::test
