// The data set `imagenet`: what is known of it with and without its images, what flags mean for it, and a training.
#include "data/augment.h"
#include "data/error.h"
#include "data/image_files.h"
#include "data/images/image_set.h"
#include "data/images/jpeg.h"
#include "data/images/pack.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/image_stages.h"
#include "recipes/run/run_texts.h"
#include "recipes/train/residency.h"
#include "recipes/train/train.h"

#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/checkpoint.h"
#include "runtime/json_reader.h"
#include "runtime/process.h"
#include "runtime/safetensors.h"
#include "tests/recipes/photos.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::imagenet_test {
namespace {

ModelOutput image_classifier(Batch& batch) {
  Tensor features = mean(batch.images, {2, 3});
  return classification(batch, linear("fc", features, batch.classes));
}

Recipe photo_recipe() {
  Recipe recipe;
  recipe.name = "photos";
  recipe.summary = "a test";
  recipe.model = image_classifier;
  recipe.defaults = {.dataset = "imagenet", .minibatch = 4, .epochs = 1, .lr = 0.1, .augment = "resized-crop,flip"};
  recipe.synthetic = {{3, 16, 16}, 3, 32, 8};
  return recipe;
}

RunConfig photo_flags(std::vector<std::string> words) { return *parse_flags(photo_recipe(), "photos", words); }

// Returns the hash of all state after a training of six steps with the flags `words`.
std::string trained_state(const std::vector<std::string>& words) {
  RunConfig config = photo_flags(words);
  config.length.steps = 6;
  config.arithmetic.shards = 1;
  const LoadedTask loaded = load_task(photo_recipe(), config);
  LocalMachine machine(1);
  Observer silent;
  return state_sha256(views_of(train(loaded.task, config, machine, silent).state.tensors));
}

// Returns the command of a training with three steps an epoch.
std::vector<std::string> on_photos(const std::string& data, const std::filesystem::path& out,
                                   const std::vector<std::string>& more) {
  std::vector<std::string> words = {KB_BIN "/mlp_mnist", "--quiet", "--dataset",   "imagenet", "--data", data,
                                    "--image",           "16",      "--minibatch", "4",        "--out",  out.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

BOOST_AUTO_TEST_SUITE(imagenet)

BOOST_AUTO_TEST_CASE(the_published_set_is_known_without_images) {
  for (const char* dir : {"", "/nowhere", kNoise}) {
    const InputSpec input = input_spec({.dataset = "imagenet", .dir = dir, .side = 160});
    BOOST_CHECK((input.shape == ImageShape{3, 160, 160}));
    BOOST_TEST(input.classes == 1000);
    BOOST_TEST(input.train_count == 1281167);
    BOOST_TEST(input.test_count == 50000);
    BOOST_TEST(input.in_files);
    BOOST_TEST(input.mean == (std::vector<double>{0.485, 0.456, 0.406}));
    BOOST_TEST(input.stddev == (std::vector<double>{0.229, 0.224, 0.225}));
  }
  BOOST_CHECK_THROW(load_input({.dataset = "imagenet", .dir = "/nowhere"}), DataError);
}

BOOST_AUTO_TEST_CASE(images_tell_classes_and_counts) {
  const test::Photos photos;
  const RunConfig config = photo_flags({"--data", photos.dir(), "--image", "24"});
  const InputSpec input = input_spec(image_source(photo_recipe(), config));
  BOOST_TEST(input.classes == 3);
  BOOST_TEST(input.train_count == 12);
  BOOST_TEST(input.test_count == 6);
  BOOST_CHECK((input.shape == ImageShape{3, 24, 24}));
  const LoadedTask loaded = load_task(photo_recipe(), config);
  BOOST_TEST(loaded.data.text == "data imagenet: 12 training and 6 test images of 3x24x24, 3 classes");
  BOOST_TEST(loaded.task.train->count() == 12);
  BOOST_TEST(loaded.task.train->table(0).empty());
}

BOOST_AUTO_TEST_CASE(flags_that_do_not_fit_are_refused) {
  const test::Photos photos;
  const RunConfig resident = photo_flags({"--data", photos.dir(), "--resident", "on"});
  BOOST_TEST(test::error_of<UsageError>([&] {
               choose_residency(resident.arithmetic.resident, load_task(photo_recipe(), resident).task,
                                generic_cpu_target());
             }) ==
             "arithmetic.resident = on: the images lie in files, which the loader reads one by one; auto or off "
             "sends the samples step by step");
  const RunConfig noise = photo_flags({"--dataset", "synthetic"});
  BOOST_TEST(
      test::error_of<UsageError>([&] { load_task(photo_recipe(), noise); })
          .starts_with(
              "--augment resized-crop, jitter, lighting: they are made where images of any size are read\n  expected: "
              "--dataset imagenet\n  got:      --dataset synthetic\n"));
  BOOST_TEST(test::error_of<UsageError>([&] {
               photo_flags({"--dataset", "mnist", "--image", "64"});
             }) != "(nothing thrown)");
}

BOOST_AUTO_TEST_CASE(augmentation_is_split_between_loader_and_graph) {
  const RunConfig config = photo_flags({"--augment", "resized-crop,flip,jitter,lighting"});
  BOOST_TEST((graph_augment(config) == AugmentSpec{.flip = true}));
  BOOST_TEST(describe_augment(config) == "resized-crop, jitter, lighting; in the loader; flip; in the graph");
  BOOST_TEST(describe_augment(photo_flags({"--augment", "resized-crop"})) == "resized-crop; in the loader");
}

// A training ends in the same state from a folder and from a pack, with and without threads of the loader.
BOOST_AUTO_TEST_CASE(trainings_from_folder_and_pack_have_the_same_bits) {
  const test::Photos photos;
  const std::string pack = photos.dir() + "/photos.pack";
  write_pack(*open_image_store({photos.dir(), {}, 1}), pack, {});
  const std::vector<std::string> flags{"--image",      "16", "--augment", "resized-crop,flip,jitter,lighting",
                                       "--per-worker", "2",  "--data"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = flags;
    words.insert(words.end(), more.begin(), more.end());
    return trained_state(words);
  };
  const std::string expected = with({photos.dir()});
  BOOST_TEST(with({pack}) == expected);
  BOOST_TEST(with({photos.dir(), "--loader-threads", "0"}) == expected);
  BOOST_TEST(with({photos.dir(), "--loader-threads", "3"}) == expected);
  BOOST_TEST(with({photos.dir(), "--augment-in", "loader"}) == expected);
  BOOST_TEST(with({photos.dir(), "--seed", "2"}) != expected);
}

BOOST_AUTO_TEST_CASE(images_that_were_replaced_are_told) {
  const test::Photos photos;
  test::write_file(photos.directory / "train/n01/2.JPEG", "no image");
  const RunConfig config = photo_flags({"--data", photos.dir(), "--image", "16"});
  const LoadedTask loaded = load_task(photo_recipe(), config);
  BOOST_TEST(replaced_lines(loaded.task).empty());
  LocalMachine machine(1);
  Observer silent;
  train(loaded.task, config, machine, silent);
  const std::vector<std::string> expected{
      "NOTE: 1 of the images that were read cannot be decoded; the next of the class stood for each:",
      "  train/n01/2.JPEG: neither JPEG, PNG nor binary PNM"};
  BOOST_TEST(replaced_lines(loaded.task) == expected);
  // The image is counted once whether it is held out or trained on.
  const RunConfig judged = photo_flags({"--data", photos.dir(), "--image", "16", "--validation", "4"});
  const LoadedTask parts = load_task(photo_recipe(), judged);
  train(parts.task, judged, machine, silent);
  BOOST_TEST(replaced_lines(parts.task) == expected);
}

BOOST_AUTO_TEST_CASE(stages_of_the_pipeline_are_timed) {
  const Bytes good = encode_jpeg(std::vector<uint8_t>(3 * 40 * 30, 99), {40, 30}, 90), bad{1, 2, 3};
  const auto reads = [](const Bytes& file) { return [&file](Bytes&) -> std::span<const uint8_t> { return file; }; };
  const ImageStages times = time_image_stages({reads(good), reads(bad), reads(good)}, 16, 3);
  BOOST_TEST(times.images == 2);
  BOOST_TEST(times.pixels == 1200.0);
  BOOST_TEST(times.bytes == static_cast<double>(good.size()));
  BOOST_TEST(times.stages.size() == 8u);
  for (const StageTime& stage : times.stages) BOOST_TEST(stage.seconds >= 0, stage.name);
  BOOST_TEST((times.entropy > 0 && times.whole > 0));
  BOOST_CHECK_THROW(time_image_stages({reads(bad)}, 16, 3), Error);
}

BOOST_AUTO_TEST_CASE(tools_pack_verify_and_time) {
  const test::Photos photos;
  const std::string pack = photos.dir() + "/photos.pack";
  const auto exit_code = [](const std::string& tool, std::vector<std::string> words) {
    words.insert(words.begin(), std::string(KB_BIN "/") + tool);
    return Process(words).wait().status;
  };
  const std::string dir = photos.dir();
  BOOST_TEST(exit_code("pack", {dir, "--to", pack}) == 0);
  BOOST_TEST(exit_code("pack", {"--verify", pack}) == 0);
  BOOST_TEST(exit_code("data_bench", {pack, "--rounds", "1", "--image", "16", "--speed", "100"}) == 0);
  BOOST_TEST(exit_code("data_bench", {dir + "/val/n00", "--rounds", "1", "--image", "16"}) == 0);
  std::string bytes = test::read_file(pack);
  bytes[100] ^= 1;
  test::write_file(pack, bytes);
  BOOST_TEST(exit_code("pack", {"--verify", pack}) == 1);
  BOOST_TEST(exit_code("pack", {"/nowhere", "--to", "/nowhere.pack"}) == 1);
  BOOST_TEST(exit_code("data_bench", {"/nowhere"}) == 1);
  BOOST_TEST(exit_code("pack", {dir}) == 2);
  BOOST_TEST(exit_code("pack", {"--bogus"}) == 2);
  BOOST_TEST(exit_code("data_bench", {"--bogus"}) == 2);
  BOOST_TEST(exit_code("pack", {"--help"}) == 0);
  BOOST_TEST(exit_code("pack", {dir, "--to", pack, "--raw"}) == 2);
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_read_is_named) {
  if (::geteuid() == 0) {
    BOOST_TEST_MESSAGE("SKIPPED: root reads every folder");
    return;
  }
  const test::Photos photos;
  const std::filesystem::path closed = photos.directory / "val/n00/closed";
  std::filesystem::create_directories(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  const ProcessResult result =
      Process({KB_BIN "/data_bench", photos.dir() + "/val/n00", "--rounds", "1", "--image", "16"}).wait();
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
  BOOST_TEST(result.status == 1);
  BOOST_TEST(test::contains(result.output, "cannot be read"));
}

// The steps that are traced have images that lie in files, and flags that change how a step is compiled.
BOOST_AUTO_TEST_CASE(steps_on_images_in_files_are_traced) {
  const test::Photos photos;
  const std::filesystem::path out = photos.directory / "trace";
  const ProcessResult result =
      Process(
          {KB_BIN "/trace_steps", "mlp_mnist", "--dataset", "imagenet",  "--data",     photos.dir(), "--image", "16",
           "--minibatch",         "4",         "--steps",   "2",         "--no-decay", "weight",     "--ema",   "0.9",
           "--clip-norm",         "1",         "--out",     out.string()})
          .wait();
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
  const SafetensorsFile batches = read_safetensors(out / "batches.safetensors");
  const auto images = std::find_if(batches.tensors.begin(), batches.tensors.end(),
                                   [](const NamedTensor& tensor) { return tensor.name == "images.1"; });
  BOOST_REQUIRE((images != batches.tensors.end()));
  const Dataset set = image_set(open_image_store({photos.dir(), {}, 1}), 16);
  std::vector<uint8_t> pixels(static_cast<size_t>(set.shape.size()));
  set.train.files->read(5, {AugmentSpec{}}, pixels);  // row 1 of step 1
  BOOST_TEST(std::memcmp(images->data.data() + pixels.size(), pixels.data(), pixels.size()) == 0);
  const nlohmann::json trace = nlohmann::json::parse(test::read_file(out / "trace.json"));
  for (const auto& [name, decays] : trace.at("decays").items())
    BOOST_TEST(decays.get<bool>() != name.ends_with(".weight"), name);
  const std::string state = test::read_file(out / "final.safetensors");
  BOOST_TEST(test::contains(state, "\"ema_offset."));
}

BOOST_AUTO_TEST_CASE(replaced_images_are_in_the_manifest) {
  const test::Photos photos;
  test::write_file(photos.directory / "train/n01/2.JPEG", "no image");
  const std::filesystem::path out = photos.directory / "run";
  const ProcessResult result = Process(on_photos(photos.dir(), out, {"--steps", "3"})).wait();
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
  BOOST_TEST(test::contains(result.output, "train/n01/2.JPEG: neither JPEG, PNG nor binary PNM"));
  const nlohmann::json replaced =
      nlohmann::json::parse(test::read_file(out / "manifest.json")).at("result").at("replaced_images");
  BOOST_TEST(replaced.at("count") == 1);
  BOOST_TEST(replaced.at("names").at(0) == "train/n01/2.JPEG: neither JPEG, PNG nor binary PNM");
}

BOOST_AUTO_TEST_CASE(a_damaged_image_whose_name_is_no_text_is_in_a_manifest_that_reads_back) {
  const test::Photos photos;
  const std::filesystem::path folder = photos.directory / "train/n01", out = photos.directory / "run";
  std::filesystem::remove(folder / "2.JPEG");
  test::write_file(folder / "M\xfcll \"2\".JPEG", "no image");  // Latin-1
  const ProcessResult result = Process(on_photos(photos.dir(), out, {"--steps", "3"})).wait();
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
  const std::string manifest = test::read_file(out / "manifest.json");
  BOOST_TEST(nlohmann::json::accept(manifest));  // JSON has to be UTF-8
  const JsonValue replaced = parse_json(manifest, "manifest.json").at("result").at("replaced_images");
  BOOST_TEST(replaced.get<int64_t>("count") == 1);
  const std::vector<std::string> expected{"train/n01/M\xfcll \"2\".JPEG: neither JPEG, PNG nor binary PNM"};
  BOOST_TEST(replaced.at("names").list<std::string>() == expected);
}

// A file that is mapped into memory would end the process by a signal, without a message.
BOOST_AUTO_TEST_CASE(a_pack_that_shrinks_under_a_training_is_named_and_the_checkpoints_stay) {
  namespace fs = std::filesystem;
  const test::Photos photos;
  const fs::path pack = photos.directory / "photos.pack", out = photos.directory / "run";
  write_pack(*open_image_store({photos.dir(), {}, 1}), pack, {});
  Process running(on_photos(pack.string(), out, {"--steps", "1000000", "--save-every", "1", "--keep", "2"}));
  while (running.runs() && list_checkpoints(out / "checkpoints").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  BOOST_REQUIRE(running.runs());
  fs::resize_file(pack, 100);
  const ProcessResult result = running.wait();
  BOOST_TEST(result.status == 1);
  BOOST_TEST(test::contains(result.output, pack.string() + ": cannot be read to its end"));
  const std::vector<fs::path> kept = list_checkpoints(out / "checkpoints");
  BOOST_REQUIRE(!kept.empty());
  for (const fs::path& file : kept) BOOST_TEST(read_checkpoint(file).step > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::imagenet_test
