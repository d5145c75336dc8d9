// Every recipe's kernels compiled for three GPUs that need not be there, with batches that are sent and with the data
// set on the device.
#include "recipes/device_kernels.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/flags.h"
#include "recipes/programs.h"
#include "recipes/table.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

constexpr size_t kMostKernels = 60;

DeviceKernels kernels_of(const Recipe& recipe, const std::string& arch, const std::string& precision,
                         const std::string& resident) {
  Flags flags = default_flags(recipe);
  flags.minibatch = 64;
  flags.precision = precision;
  flags.resident = resident;
  const InputSpec input = input_spec(image_source(recipe, flags));
  const Target target = gpu_target(arch);
  const Programs programs = compile_programs(recipe, flags, input, target, choose_residency(flags, input, target));
  return compile_device_kernels(programs.training.program, arch, RuntimeOptions::from_environment().cache_dir.string(),
                                usable_processors());
}

BOOST_AUTO_TEST_SUITE(device_kernels)

BOOST_AUTO_TEST_CASE(every_recipe_compiles_for_every_architecture_without_spills) {
  for (const char* arch : {"sm_80", "sm_90", "sm_100"})
    for (const Recipe& recipe : all_recipes()) {
      for (const char* resident : {"off", "on"}) {
        const DeviceKernels kernels = kernels_of(recipe, arch, "bf16", resident);
        if (kernels.compiler.empty()) {
          fmt::print("skipped: {}\n", kernels.missing);
          return;
        }
        BOOST_TEST_CONTEXT(recipe.name << " on " << arch << ", resident " << resident << to_text(kernels)) {
          BOOST_TEST(kernels.spill_bytes() == 0);
          BOOST_TEST(kernels.kernels.size() <= kMostKernels);
          BOOST_TEST(kernels.registers_max() < 255);
          for (const DeviceKernel& kernel : kernels.kernels) BOOST_TEST(kernel.resources.registers > 0);
        }
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb
