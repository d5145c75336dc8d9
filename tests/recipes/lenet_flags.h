// A recipe's flags as a command line gives them.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/run_config.h"

namespace kb::test {

// Returns the configuration that these flags of lenet_mnist give.
RunConfig lenet_config(const std::vector<std::string>& words);
// Returns the message with which the flags are refused, else "(nothing thrown)".
std::string usage_error(const std::vector<std::string>& words);

// Removes the variables of launchers, so that flags are judged as if no launcher had started the tests.
struct NoLauncher {
  NoLauncher();
};

}  // namespace kb::test
