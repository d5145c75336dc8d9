// Tests kernels that are compiled for GPUs which need not be there: those of two recipes for sm_90, and of a small one
// for all architectures, with batches that are sent (on sm_90) and with the data set on the device; and the updates of
// optimizers that take norms. Every recipe is compiled for all architectures, and the updates of ResNet-50, by
//   build/bin/tests_recipes --run_test=device_kernels -- --all
#include "recipes/inspect/device_kernels.h"
#include "recipes/config/run_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/papers/table.h"
#include "recipes/train/programs.h"
#include "runtime/atomic_file.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"
#include "tests/support/support.h"

namespace kb::device_kernels_test {
namespace {

constexpr size_t kMostKernels = 88;

RunConfig flags_of(const Recipe& recipe, const std::string& precision) {
  RunConfig config = default_config(recipe);
  config.batch.minibatch = 64;
  config.arithmetic.precision = choice_of("--precision", kPrecisions, precision);
  return config;
}

Program program_of(const Recipe& recipe, const RunConfig& config, const std::string& arch) {
  const Target target = gpu_target(arch);
  const Task task = declared_task(recipe, config);
  return compile_programs(task, settle_for_one_step(config, target, config.machine.processes,
                                                    choose_residency(config.arithmetic.resident, task, target)))
      .update()
      .program;
}

DeviceKernels compiled_for(const Program& program, const std::string& arch, const std::string& cuobjdump = "") {
  return compile_device_kernels(program, arch, RuntimeOptions::from_environment().cache_dir.string(),
                                usable_processors(), cuobjdump);
}

DeviceKernels kernels_of(const Recipe& recipe, const std::string& arch, const std::string& precision,
                         const std::string& resident) {
  RunConfig config = flags_of(recipe, precision);
  config.arithmetic.resident = choice_of("--resident", kResidentChoices, resident);
  return compiled_for(program_of(recipe, config, arch), arch);
}

int64_t launches_of(const Program& program) {
  const std::vector<Step>& steps = program.at(PartRole::final).steps;
  return std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.launch() != nullptr; });
}

BOOST_AUTO_TEST_SUITE(device_kernels)

BOOST_AUTO_TEST_CASE(recipes_compile_for_every_architecture_without_spills) {
  // Two have most classes of kernels: those around convolutions, and attention, embeddings and layer norm.
  const std::set<std::string> on_sm_90 = {"resnet_cifar", "gpt"}, everywhere = {"lenet_mnist"};
  const bool all = test::was_asked("--all");
  for (const std::string arch : {"sm_80", "sm_90", "sm_100"})
    for (const Recipe& recipe : all_recipes()) {
      const bool is_one = everywhere.contains(recipe.name) || (arch == "sm_90" && on_sm_90.contains(recipe.name));
      if (!all && !is_one) continue;
      for (const std::string resident : {"off", "on"}) {
        if (resident == "on" && (recipe.task || recipe.defaults.dataset == "imagenet")) continue;  // in files
        if (resident == "off" && arch != "sm_90" && !all) continue;
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

// The launches are counted against those of plain gradient descent, whose update is one launch. ResNet-50 has more
// filters than a small network, and the same launches for them.
BOOST_AUTO_TEST_CASE(updates_with_norms_are_three_launches_without_spills) {
  const bool all = test::was_asked("--all");
  for (const auto& [precision, small] : {std::pair("f32", "lenet_mnist"), std::pair("bf16", "resnet_cifar")}) {
    const Recipe recipe = find_recipe(all ? "resnet50" : small);
    RunConfig config = flags_of(recipe, precision);
    use_optimizer(recipe.defaults, recipe.optimizers, config.learning, "sgd");
    const int64_t plain = launches_of(program_of(recipe, config, "sm_90"));
    for (const char* optimizer : {"lars", "lars-mlperf", "larc", "lamb"}) {
      use_optimizer(recipe.defaults, recipe.optimizers, config.learning, optimizer);
      const Program program = program_of(recipe, config, "sm_90");
      const DeviceKernels kernels = compiled_for(program, "sm_90");
      BOOST_TEST_CONTEXT(optimizer << ", " << precision << to_text(kernels)) {
        BOOST_TEST(launches_of(program) - plain + 1 <= 3);
        BOOST_TEST(kernels.spill_bytes() == 0);
        if (kernels.compiler.empty()) fmt::print("skipped: {}\n", kernels.missing);
      }
    }
  }
}

// The stand-in for the disassembler succeeds only if a second one begins within 5 s.
BOOST_AUTO_TEST_CASE(machine_code_is_read_side_by_side) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path program = folder / "cuobjdump";
  write_file_atomically(program, fmt::format("#!/bin/sh\ncd '{}' && : > began.$$\nfor i in 1 2 3 4 5 6 7 8 9 10\n"
                                             "do [ -e \"$(ls began.* | sed -n 2p)\" ] && exit 0\n"
                                             "sleep 0.5\ndone\necho alone; exit 1\n",
                                             folder.path().string()));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Recipe recipe = find_recipe("lenet_mnist");
  const Program lenet = program_of(recipe, flags_of(recipe, "f32"), "sm_90");
  const DeviceKernels kernels = compile_device_kernels(lenet, "sm_90", "", 2, program.string());
  if (kernels.compiler.empty()) fmt::print("skipped: {}\n", kernels.missing);
  BOOST_TEST(kernels.warnings.empty(), to_text(kernels));
}

// The pipe "alu" of integers and logic does 64 operations a cycle on each multiprocessor. A kernel with more operations
// an element than these figures would wait for that pipe longer than for memory.
BOOST_AUTO_TEST_CASE(batch_norms_main_loops_have_few_operations_of_the_pipe_alu) {
  const std::string cuobjdump = RuntimeOptions::from_environment().cuobjdump;
  if (!std::filesystem::exists(cuobjdump)) {
    fmt::print("skipped: no {}\n", cuobjdump);
    return;
  }
  const Recipe recipe = find_recipe("resnet50");
  for (const char* precision : {"bf16", "f16"}) {
    const Program program = program_of(recipe, flags_of(recipe, precision), "sm_90");
    const DeviceKernels kernels = compiled_for(program, "sm_90", cuobjdump);
    const std::vector<const Schedule*> programs{&program.at(PartRole::final)};
    const StepModel model = model_step(programs, kernels.work, gpu_target("sm_90"), parse_gpu_rates("h200"));
    for (size_t s = 0; s < model.launches.size(); ++s) {
      const Step& step = program.at(PartRole::final).steps[s];
      const double alu = model.launches[s].alu;
      BOOST_TEST_CONTEXT(precision << ", step " << s << ": " << step.name) {
        if (!step.launch() || step.bytes < 10'000'000) continue;
        BOOST_TEST(alu > 0);
        if (step.cls == FusionClass::column_reduce) BOOST_TEST(alu <= 7);
        const bool gathers = step.name == "transpose conv1";  // 2 x 2 pixels of the image, each at its own address
        if (step.cls == FusionClass::pointwise)
          BOOST_TEST(alu <= (gathers ? 20 : step.name.ends_with("conv1") ? 6 : 9));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::device_kernels_test
