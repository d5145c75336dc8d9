// Counts on the fake GPU the bytes that a step of a recipe sends to the device; tests/gpu/checks tests that it computes
// the same.
#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "tests/gpu/checks/recipe_run.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/support/support.h"

namespace kb::input_bytes_test {

using namespace kb::test;

namespace {

// Returns the bytes of each step's inputs: those of the copies on the second stream, up to the event that follows a
// step's last copy.
std::vector<int64_t> bytes_of_steps(const FakeGpu& gpu) {
  const std::string copy = "cuMemcpyHtoDAsync_v2 ";
  std::vector<int64_t> bytes{0};
  for (const std::string& call : gpu.log) {
    if (!call.ends_with(" s2")) continue;
    if (call.starts_with(copy)) bytes.back() += std::stoll(call.substr(copy.size()));
    if (call.starts_with("cuEventRecord ")) bytes.push_back(0);
  }
  bytes.pop_back();
  return bytes;
}

std::vector<int64_t> bytes_of_run(const Recipe& recipe, std::vector<std::string> words, const char* resident) {
  const TemporaryDirectory folder;
  words.insert(words.end(), {"--resident", resident});
  FakeTestGpu gpu;
  const std::unique_ptr<Backend> backend = gpu.backend();
  train(*backend, recipe, words, folder / "run");
  return bytes_of_steps(gpu.gpu);
}

// A resident data set makes a step send numbers of samples in place of images and labels. All else that is sent
// (scalars, weights, records) stays.
void check_bytes(const Recipe& recipe, const std::vector<std::string>& words, int64_t minibatch, int64_t pixels) {
  const std::vector<int64_t> sent = bytes_of_run(recipe, words, "off"), resident = bytes_of_run(recipe, words, "auto");
  BOOST_REQUIRE(sent.size() == resident.size());
  BOOST_TEST(sent.size() > 4);
  for (size_t i = 0; i < sent.size(); ++i) {
    BOOST_TEST_MESSAGE("step " << i << ": " << sent[i] << " bytes, " << resident[i] << " of them with --resident");
    BOOST_TEST(sent[i] >= minibatch * pixels);
    BOOST_TEST(resident[i] <= sent[i] - minibatch * pixels);
    BOOST_TEST(resident[i] >= minibatch * 4);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_input_bytes)

BOOST_AUTO_TEST_CASE(lenet_mnist_sends_no_pixels) {
  check_bytes(on_noise(lenet_mnist(), {1, 28, 28}, 20), {"--minibatch", "8", "--epochs", "1"}, 8, 784);
}

BOOST_AUTO_TEST_CASE(resnet_cifar_8_sends_no_pixels) {
  check_bytes(on_noise(resnet_cifar(), {3, 32, 32}, 8),
              {"--depth", "8", "--minibatch", "4", "--steps", "4", "--warmup-epochs", "0"}, 4, 3072);
}

BOOST_AUTO_TEST_CASE(a_data_set_larger_than_the_device_is_refused) {
  const TemporaryDirectory folder;
  FakeTestGpu gpu({.memory = 100 << 10});
  const std::unique_ptr<Backend> device = gpu.backend();
  const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 80);  // 144 samples of 788 bytes
  BOOST_CHECK_EXCEPTION(
      train(*device, recipe, {"--minibatch", "8", "--resident", "on"}, folder / "run"), UsageError,
      [](const UsageError& error) {
        return std::string(error.what())
            .starts_with("arithmetic.resident = on: the samples of synthetic take 113 kB, the device has 102 kB;");
      });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::input_bytes_test
