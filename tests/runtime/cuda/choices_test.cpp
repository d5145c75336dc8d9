// Tests, on a fake GPU, that recipes keep the choices of the CUDA backend.
#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
#include "tests/gpu/checks/net_session.h"
#include "tests/gpu/checks/recipe_run.h"
#include "tests/runtime/cuda/fake_backend.h"

namespace kb::choices_test {

using namespace kb::test;

BOOST_AUTO_TEST_SUITE(cuda_choices)

// The choices that a library made by measuring are saved as text and used again. A text from another device is answered
// with a message.
BOOST_AUTO_TEST_CASE(choices_are_used_again) {
  const auto compile = [](Backend& backend) {
    const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 8);
    const RunConfig config = *parse_flags(recipe, recipe.name, {"--minibatch", "8"});
    compile_programs(declared_task(recipe, config),
                     settle_for_one_step(config, backend.target(), config.machine.processes));
  };
  std::string text;
  {
    FakeTestGpu gpu;
    const std::unique_ptr<Backend> backend = gpu.backend();
    BOOST_TEST(algorithm_choices_text(*backend).empty());
    compile(*backend);
    text = algorithm_choices_text(*backend);
    BOOST_TEST(gpu.gpu.operations() > 10);
  }
  FakeTestGpu gpu;
  const std::unique_ptr<Backend> again = gpu.backend();
  BOOST_TEST(use_algorithm_choices(*again, text).empty());
  const int64_t before = gpu.gpu.operations();
  compile(*again);
  BOOST_TEST(gpu.gpu.operations() == before);  // nothing was measured
  BOOST_TEST(algorithm_choices_text(*again) == text);
  BOOST_TEST(use_algorithm_choices(*small_cpu(), text).empty());
  const std::string other = text.replace(text.find("fake GPU"), 8, "GPU of 1999");
  BOOST_TEST(use_algorithm_choices(*again, other).find("chosen on cuda: GPU of 1999") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::choices_test
