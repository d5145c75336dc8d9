#include "tests/recipes/lenet_flags.h"

#include <cstdlib>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "tests/support/says.h"

namespace kb::test {

RunConfig lenet_config(const std::vector<std::string>& words) {
  return *parse_flags(lenet_mnist(), "./run lenet_mnist", words);
}

std::string usage_error(const std::vector<std::string>& words) {
  return test::error_of<UsageError>([&] { lenet_config(words); });
}

NoLauncher::NoLauncher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"}) ::unsetenv(name);
}

}  // namespace kb::test
