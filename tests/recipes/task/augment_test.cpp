#include "recipes/config/augmentation.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/task/image_task.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/interpreter.h"
#include "recipes/papers/table.h"
#include "recipes/train/programs.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::augment_test {
namespace {

constexpr ImageShape kShape = {3, 8, 10};
constexpr int64_t kRows = 24;

InputSpec small_input() { return {"synthetic", kShape, 3, {0.5, 0.25, 0.75}, {0.25, 0.5, 0.125}, 8}; }

RunConfig flags_of(const std::vector<std::string>& words) { return *parse_flags(resnet_cifar(), "", words); }

template <class T>
Array array(DType dtype, Dims shape, const std::vector<T>& values) {
  return {{dtype, std::move(shape), ""}, std::vector<double>(values.begin(), values.end())};
}

// Records and images of one minibatch, and the images as the loader would have made them.
struct Drawn {
  Drawn(const AugmentSpec& spec, const InputSpec& input) {
    for (int64_t i = 0; i < kRows; ++i) {
      const AugmentRecord record = augment_record(spec, kShape, 1, 0, i);
      std::vector<uint8_t> image, moved(static_cast<size_t>(kShape.size()));
      for (int64_t p = 0; p < kShape.size(); ++p) image.push_back(static_cast<uint8_t>(i * 31 + p * 7 + p / 11));
      augment_image(record, kShape, mean_pixel(input.mean), image, moved);
      pixels.insert(pixels.end(), image.begin(), image.end());
      expected.insert(expected.end(), moved.begin(), moved.end());
      windows.insert(windows.end(), record.window.begin(), record.window.end());
      boxes.insert(boxes.end(), record.box.begin(), record.box.end());
      mix.push_back(record.mix);
      partners.push_back(mix_partner(1, 0, 0, kRows, i));
      labels.push_back(static_cast<int32_t>(i % 3));
    }
  }

  Bindings bindings() const {
    const Dims images = {kRows, kShape.channels, kShape.height, kShape.width};
    return {{"images", array(DType::u8, images, pixels)},
            {"augment.window", array(DType::i32, {kRows, 3}, windows)},
            {"augment.box", array(DType::i32, {kRows, 4}, boxes)},
            {"augment.partner", array(DType::i32, {kRows}, partners)},
            {"augment.mix", array(DType::f32, {kRows}, mix)},
            {"labels", array(DType::i32, {kRows}, labels)},
            {"weights", array(DType::f32, {kRows}, std::vector<float>(kRows, 1.0f))},
            {"label_smoothing", array(DType::f32, {}, std::vector<float>{0.0f})}};
  }

  std::vector<uint8_t> pixels, expected;
  std::vector<int32_t> windows, boxes, partners, labels;
  std::vector<float> mix;
};

// The loss is the mean of a sample's normalised pixels and does not read the labels.
ModelOutput pixel_sum(Batch& batch) { return {mean(flatten(batch.images), {1}), {}}; }

ModelOutput blind(Batch& batch) { return classification(batch, mean(batch.images, {2, 3})); }

Recipe recipe(Model model) { return {.name = "tiny", .summary = "", .paper = "", .model = model}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(augment)

BOOST_AUTO_TEST_CASE(the_graph_makes_the_loaders_pixels) {
  const InputSpec input = small_input();
  for (const AugmentSpec& spec : {AugmentSpec{}, AugmentSpec{.crop = true, .pad = 3}, AugmentSpec{.flip = true},
                                  AugmentSpec{.cutout = 5}, AugmentSpec{.crop = true, .flip = true, .cutout = 3}}) {
    Graph graph("augment");
    Tensor images = kb::input(graph, "images", DType::u8, {kRows, 3, 8, 10}, "NCHW");
    Tensor moved_images = images;
    if (spec.moves())
      moved_images = crop(images, kb::input(graph, "augment.window", DType::i32, {kRows, 3}, "N_"), {8, 10});
    if (spec.cutout > 0)
      moved_images =
          cut_out(moved_images, kb::input(graph, "augment.box", DType::i32, {kRows, 4}, "N_"), mean_pixel(input.mean));
    graph.outputs.push_back({"moved", moved_images.value(), Merge::per_sample});
    const Drawn drawn(spec, input);
    const Array moved = interpret(graph, drawn.bindings()).outputs.at("moved");
    BOOST_TEST((moved.data == std::vector<double>(drawn.expected.begin(), drawn.expected.end())));
  }
}

BOOST_AUTO_TEST_CASE(mixup_mixes_images_and_labels) {
  const InputSpec input = small_input();
  const AugmentSpec spec = {.crop = true, .mixup = 1};
  const Drawn drawn(spec, input);
  Graph graph = build_training_graph(image_task(recipe(blind), input, {}, spec), kRows);
  const double loss = interpret(graph, drawn.bindings()).outputs.at("loss").data.at(0);
  double expected = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t other = drawn.partners[static_cast<size_t>(i)];
    const double own = static_cast<double>(drawn.mix[static_cast<size_t>(i)]);
    std::vector<double> logits;
    for (int64_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (int64_t p = 0; p < 80; ++p)
        sum += own * drawn.expected[static_cast<size_t>((i * 3 + c) * 80 + p)] +
               (1 - own) * drawn.expected[static_cast<size_t>((other * 3 + c) * 80 + p)];
      const auto channel = static_cast<size_t>(c);
      logits.push_back((sum / 80 / 255 - input.mean[channel]) / input.stddev[channel]);
    }
    const double total = std::log(std::exp(logits[0]) + std::exp(logits[1]) + std::exp(logits[2]));
    const auto ce = [&](int64_t row) { return total - logits[static_cast<size_t>(drawn.labels[row])]; };
    expected += own * ce(i) + (1 - own) * ce(other);
  }
  BOOST_TEST(loss == expected, boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(a_loss_that_does_not_see_the_mixed_labels_is_refused) {
  const Task mixed = image_task(recipe(pixel_sum), small_input(), {}, {.mixup = 1});
  BOOST_TEST(test::error_of([&] { build_training_graph(mixed, 4); }) ==
             "recipe tiny: mixup mixes the images, but the model's loss does not read Batch::other_labels\n"
             "  hint:     classification(batch, logits) does; or leave mixup out of data.augment");
}

BOOST_AUTO_TEST_CASE(flags_say_what_is_done_and_where) {
  BOOST_TEST((augment_spec(flags_of({})) == AugmentSpec{.crop = true, .flip = true}));
  BOOST_TEST((augment_spec(flags_of({"--augment", "none"})) == AugmentSpec{}));
  const RunConfig all = flags_of({"--augment", "mixup,cutout,crop", "--pad", "2", "--cutout-size", "8", "--mixup-alpha",
                                  "0.2", "--augment-in", "loader"});
  BOOST_TEST((augment_spec(all) == AugmentSpec{.crop = true, .pad = 2, .cutout = 8, .mixup = 0.2}));
  BOOST_TEST((graph_augment(all) == AugmentSpec{.mixup = 0.2}));
  BOOST_TEST(describe_augment(all) == "crop (pad 2), cutout (8x8), mixup (alpha 0.2); in the loader");
  BOOST_CHECK_EXCEPTION(flags_of({"--augment", "crop,flop"}), UsageError, [](const UsageError& error) {
    return error.what() == std::string(
                               "--augment: expected one of crop, flip, cutout, mixup, resized-crop, jitter, lighting, "
                               "got 'flop'; did you mean 'flip'?");
  });
  BOOST_CHECK_THROW(flags_of({"--mixup-alpha", "0"}), UsageError);
  BOOST_CHECK_THROW(flags_of({"--loader-threads", "-1"}), UsageError);
  BOOST_TEST(flags_of({"--loader-threads", "3"}).arithmetic.loader_threads.value() == 3);
  BOOST_TEST(!flags_of({"--loader-threads", "auto"}).arithmetic.loader_threads);
}

// Twice 2'000'000'000 is beyond the numbers of 32 bits that windows are drawn in.
BOOST_AUTO_TEST_CASE(a_border_is_not_wider_than_the_image) {
  const auto refusal = [](const char* kinds, const char* pad) {
    return test::error_of<UsageError>([&] {
      RunConfig config = flags_of({"--augment", kinds});
      config.data.pad = std::stoll(pad);
      check_augment(config, small_input());
    });
  };
  BOOST_TEST(refusal("crop", "8") == "(nothing thrown)");
  BOOST_TEST(refusal("flip", "9") == "(nothing thrown)");
  for (const char* pad : {"9", "2000000000"})
    BOOST_TEST(refusal("crop", pad) ==
               std::string("--pad: expected at most the 8 pixels of the images' shorter side, beyond which a window "
                           "shows nothing of them, got ") +
                   pad);
}

// The golden file has the launches up to the first convolution: the images take one launch, and one more if others are
// mixed in. (The launch "neg" belongs to the loss, with one number for each sample.)
BOOST_AUTO_TEST_CASE(launches) {
  std::string text;
  for (const char* kinds : {"none", "crop,flip", "crop,flip,cutout", "mixup", "crop,flip,cutout,mixup"}) {
    const Recipe recipe = resnet_cifar();
    const RunConfig config = flags_of({"--depth", "8", "--minibatch", "4", "--augment", kinds});
    const Programs programs = compile_programs(
        declared_task(recipe, config), settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
    text += std::string(kinds) + ":\n";
    for (const Step& step : programs.update().program.at(PartRole::final).steps) {
      if (name(step.cls) == "library") break;
      text += fmt::format("  {} {}\n", name(step.cls), step.name);
    }
  }
  test::golden("augment_launches.txt", text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::augment_test
