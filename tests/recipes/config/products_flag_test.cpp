// Tests --products, which says what convolutions kernels of our own compute on a GPU.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/train/device.h"
#include "recipes/train/settled.h"
#include "tests/recipes/lenet_flags.h"

namespace kb::products_flag_test {

namespace {

RunConfig with(const char* which, const char* precision = "bf16") {
  return test::lenet_config({"--device", "cpu", "--precision", precision, "--products", which});
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(products_flag, test::NoLauncher)

// It changes the last bits on a GPU, as --precision does: a manifest has it, and a run goes on with it alone.
BOOST_AUTO_TEST_CASE(it_belongs_to_the_run) {
  const RunConfig config = with("none");
  const std::vector<FlagValue> values = flag_values(lenet_mnist(), config);
  const auto found = std::ranges::find(values, "products", &FlagValue::name);
  BOOST_TEST_REQUIRE((found != values.end()));
  BOOST_TEST(found->value == "none");
  BOOST_TEST((found->effect == FlagEffect::computed));
  const auto has_flag = [](const RunConfig& of) {
    return std::ranges::count(flag_words(lenet_mnist(), of), "--products") == 1;
  };
  BOOST_TEST(has_flag(config));
  BOOST_TEST(!has_flag(test::lenet_config({})));  // f32 has no such kernels
}

BOOST_AUTO_TEST_CASE(it_chooses_the_kernels_of_a_gpu) {
  const Target gpu = gpu_target("sm_90"), cpu = generic_cpu_target();
  BOOST_TEST((settle_for_one_step(with("none"), gpu).target.products == Products::none));
  BOOST_TEST((settle_for_one_step(with("all", "f16"), gpu).target.products == Products::all));
  BOOST_TEST((settle_for_one_step(test::lenet_config({}), gpu).target.products == Products::picked));
  BOOST_TEST((settle_for_one_step(with("all"), cpu).target.products == Products::none));
}

BOOST_AUTO_TEST_CASE(a_cpu_says_that_it_changes_nothing) {
  const Device device = choose_device(with("none").machine, 0);
  const auto note = [&](const char* which) {
    const RunConfig config = with(which);
    return without_effect_note(*device.backend, config.machine, config.arithmetic.products);
  };
  BOOST_TEST(note("none").starts_with("NOTE: arithmetic.products changes nothing on a CPU: "));
  BOOST_TEST(note("picked") == "");
  BOOST_TEST(reason_and_note(device, {}, Products::all) == device.reason + "\n" + note("all"));
  BOOST_TEST(reason_and_note(device, {}, Products::picked) == device.reason);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::products_flag_test
