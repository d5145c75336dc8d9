// Tests the predictions of a run's model for image files: they are those of the run's own evaluations, and need none of
// its training data.
#include "recipes/models/predict.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "data/augment.h"
#include "data/error.h"
#include "data/image_files.h"
#include "data/images/image_decoder.h"
#include "data/images/image_set.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/run_folder.h"
#include "recipes/tools/commands.h"
#include "runtime/checkpoint.h"
#include "runtime/input_file.h"
#include "tests/recipes/photos.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::predict_test {

BOOST_AUTO_TEST_SUITE(predict)

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Json = nlohmann::json;

// Grey images of 6x4 pixels, light on the left or on the right under much noise, so that a trained model still gets
// some wrong.
struct SidesFolder {
  SidesFolder() {
    uint32_t word = 7;
    for (const auto& [part, count] : {std::pair{"train", 60}, {"test", 40}})
      for (int label = 0; label < 2; ++label) {
        const fs::path folder = directory / fmt::format("data/{}/{}", part, label == 0 ? "left" : "right");
        fs::create_directories(folder);
        for (int i = 0; i < count; ++i) {
          std::string text = "P5 6 4 255\n";
          for (int p = 0; p < 24; ++p) {
            word = word * 1664525u + 1013904223u;
            const bool is_light = (p % 6 < 3) == (label == 0);
            text += static_cast<char>((is_light ? 24u : 0u) + (word >> 24) % 232u);
          }
          test::write_file(folder / fmt::format("{:03}.pgm", i), text);
        }
      }
  }

  int train(const std::string& name, Words words) const {
    words.insert(words.begin(), {"--dataset", "folder", "--data", (directory / "data").string()});
    return test::run(directory / name, std::move(words));
  }
  Words tested() const {
    Words paths;
    for (const char* label : {"left", "right"})
      for (const auto& entry : fs::directory_iterator(directory / "data/test" / label))
        paths.push_back(entry.path().string());
    return paths;
  }

  test::TemporaryDirectory directory;
};

void no_words(const std::string&) {}

// Returns the share of images that are predicted as another class than that of their folder.
double error_of(Predictor& predictor, const Words& images) {
  int wrong = 0;
  for (size_t first = 0; first < images.size(); first += predictor.most()) {
    std::vector<Bytes> pixels;
    for (size_t i = first; i < std::min(first + predictor.most(), images.size()); ++i)
      pixels.push_back(predictor.read(images[i]));
    const auto classes = predictor.classes_of(pixels);
    for (size_t i = 0; i < classes.size(); ++i)
      wrong += classes[i].front().name != fs::path(images[first + i]).parent_path().filename().string();
  }
  return static_cast<double>(wrong) / static_cast<double>(images.size());
}

struct Output {
  int code = 0;
  std::vector<std::string> lines;
};

// Returns the exit code and the standard output of a command.
Output output_of(Words words) {
  const test::TemporaryDirectory directory;
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO), file = ::open((directory / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(file, STDOUT_FILENO);
  Output output;
  output.code = guarded_main("predict", [&] {
    return predict_command({"predict", test::small_recipe(), std::move(words)});
  });
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(file);
  std::istringstream text(read_file(directory / "out"));
  for (std::string line; std::getline(text, line);) output.lines.push_back(line);
  return output;
}

Json result_of(const fs::path& run) { return Json::parse(read_file(run / kManifest)).at("result"); }

}  // namespace

BOOST_AUTO_TEST_CASE(images_have_the_classes_that_the_evaluation_found) {
  const SidesFolder folder;
  const fs::path run = folder.directory / "run";
  BOOST_REQUIRE(folder.train("run", {"--epochs", "4", "--minibatch", "30"}) == 0);
  const Words images = folder.tested();
  const Json result = result_of(run);
  // The data are not read again: the manifest has their form.
  fs::rename(folder.directory / "data/train", folder.directory / "gone");
  Predictor best({.model = {.run = run}}, test::small_recipe(), no_words);
  BOOST_TEST(error_of(best, images) == result.at("best").at("test").at("error").get<double>(),
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(test::contains(best.description(), "best.safetensors"));
  const fs::path newest = list_checkpoints(checkpoints_of(run)).front();
  Predictor last({.model = {.run = run, .checkpoint = newest.filename().string()}}, test::small_recipe(), no_words);
  BOOST_TEST(error_of(last, images) == result.at("error").get<double>(), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(last.description() == fmt::format("small after 16 steps ({})", newest.string()));
  const std::vector<ClassShare> classes = last.classes_of({last.read(images[0])})[0];
  BOOST_TEST(classes.size() == 2u);
  BOOST_TEST(classes[0].probability + classes[1].probability == 1, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(classes[0].probability >= classes[1].probability);
  // A damaged best state is passed over, with a note.
  fs::remove(checkpoints_of(run) / kBestCheckpoint);  // a link to the checkpoint of its step, which has to stay whole
  test::write_file(checkpoints_of(run) / kBestCheckpoint, "cut");
  std::string said;
  const Predictor whole({.model = {.run = run}}, test::small_recipe(), [&](const std::string& line) { said += line; });
  BOOST_TEST(whole.description() == last.description());
  BOOST_TEST(said.starts_with("passed over: "), said);
}

// An f16 run keeps its loss scale in checkpoints. A state that the loss alone reads is none of the logits' variables.
BOOST_AUTO_TEST_CASE(what_only_training_reads_is_passed_over) {
  const SidesFolder folder;
  Recipe recipe = test::small_recipe();
  recipe.model = [](Batch& batch) {
    ModelOutput output = test::small_recipe().model(batch);
    const Tensor teacher = state(output.logits.graph(), "teacher", {DType::f32, {2}, ""}, {});
    output.losses[0].values = output.losses[0].values + sum(output.logits * teacher, {1});
    return output;
  };
  const Words words = {"--dataset", "folder", "--data", (folder.directory / "data").string(), "--steps", "1"};
  for (const std::string precision : {"f16", "f32"}) {
    const fs::path run = folder.directory / precision;
    Words all = words;
    all.insert(all.end(), {"--precision", precision});
    BOOST_REQUIRE(test::run(run, all, recipe) == 0);
    BOOST_CHECK_NO_THROW(Predictor({.model = {.run = run}}, recipe, no_words));
    BOOST_CHECK_EXCEPTION(Predictor({.model = {.run = run}}, test::small_recipe(), no_words), Error,
                          test::says("it is not of this model\n  expected: nothing else\n  got:      teacher"));
  }
}

BOOST_AUTO_TEST_CASE(a_negative_is_another_image) {
  const SidesFolder folder;
  BOOST_REQUIRE(folder.train("run", {"--steps", "1"}) == 0);
  const PredictRequest request{.model = {.run = folder.directory / "run"}};
  PredictRequest inverted = request;
  inverted.invert = true;
  const std::string image = folder.tested()[0];
  const Bytes pixels = Predictor(request, test::small_recipe(), no_words).read(image);
  const Bytes negative = Predictor(inverted, test::small_recipe(), no_words).read(image);
  BOOST_REQUIRE(pixels.size() == 24u);
  for (size_t i = 0; i < pixels.size(); ++i) BOOST_TEST(pixels[i] + negative[i] == 255);
}

// Photographs are seen as the evaluation of the data set sees them.
BOOST_AUTO_TEST_CASE(images_of_any_size_are_seen_through_the_square_of_evaluations) {
  const test::Photos photos;
  const test::TemporaryDirectory directory;
  BOOST_REQUIRE(test::run(directory / "run", {"--dataset", "imagenet", "--data", photos.dir(), "--image", "16",
                                              "--steps", "2", "--minibatch", "4"}) == 0);
  const Predictor predictor({.model = {.run = directory / "run"}}, test::small_recipe(), no_words);
  const auto store = open_image_store({photos.dir(), {}, 1});
  const Dataset set = image_set(store, 16);
  for (int64_t sample = 0; sample < set.test.count(); ++sample) {
    Bytes expected(3 * 16 * 16);
    set.test.files->read(sample, {AugmentSpec{}}, expected);
    const ImageEntry& entry = store->index().test[static_cast<size_t>(sample)];
    BOOST_TEST((predictor.read(photos.directory / store->index().name(entry)) == expected));
  }
}

BOOST_AUTO_TEST_CASE(the_command_names_classes_and_goes_on_behind_what_is_no_image) {
  const SidesFolder folder;
  BOOST_REQUIRE(folder.train("run", {"--epochs", "2"}) == 0);
  const std::string run = (folder.directory / "run").string();
  const Words images = folder.tested();
  const Output text = output_of({run, images[0], images[79]});
  BOOST_TEST(text.code == 0);
  BOOST_REQUIRE(text.lines.size() == 2u);
  BOOST_TEST(text.lines[0].starts_with(images[0] + ": "), text.lines[0]);
  BOOST_TEST(text.lines[0].ends_with(" %"), text.lines[0]);
  test::write_file(folder.directory / "no.png", "no image");
  const Output json = output_of({run, (folder.directory / "no.png").string(), images[0], "--json", "--top", "9"});
  BOOST_TEST(json.code == 1);
  BOOST_REQUIRE(json.lines.size() == 1u);
  const Json line = Json::parse(json.lines[0]);
  BOOST_TEST(line.at("image") == images[0]);
  BOOST_TEST(line.at("top").size() == 2u);
  BOOST_TEST(line.at("class") == line.at("top")[0].at("class"));
  BOOST_TEST(line.at("label") == (line.at("class") == "left" ? 0 : 1));
  BOOST_TEST(line.at("probability").get<double>() + line.at("top")[1].at("probability").get<double>() == 1,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(output_of({run}).code == 2);
  BOOST_TEST(output_of({run, images[0], "--top", "0"}).code == 2);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_predicted_is_told) {
  const test::TemporaryDirectory directory;
  const auto predictor_of = [&](const fs::path& run, const std::optional<Recipe>& own) {
    return [=] { Predictor({.model = {.run = run}}, own, no_words); };
  };
  const auto refused = [&](const fs::path& run, const std::optional<Recipe>& own, const std::string& why) {
    BOOST_CHECK_EXCEPTION(predictor_of(run, own)(), Error, test::says(why));
  };
  refused(directory / "none", test::small_recipe(), "there is no run folder");
  fs::create_directory(directory / "empty");
  refused(directory / "empty", test::small_recipe(), "holds no run: there is no manifest.json");
  BOOST_REQUIRE(test::run(directory / "run", {"--steps", "1"}) == 0);
  refused(directory / "run", test::small_recipe(), "its images have 2 channels\n  expected: 1 (grey) or 3 (colours)");
  refused(directory / "run", std::nullopt, "is a run of small\n  expected: a run of a recipe that ./run list names");
  Recipe other = test::small_recipe();
  other.name = "other";
  refused(directory / "run", other, "is a run of small\n  expected: a run of other");
  other.name = "small";
  other.task = [](const TaskRequest&) { return Task{}; };
  refused(directory / "run", other,
          "is a run of small, a task of its own\n  expected: a run that tells classes of images apart");
  const SidesFolder folder;
  BOOST_REQUIRE(folder.train("run", {"--steps", "1"}) == 0);
  const fs::path foreign = list_checkpoints(checkpoints_of(directory / "run")).front();
  BOOST_CHECK_EXCEPTION(Predictor({.model = {.run = folder.directory / "run", .checkpoint = foreign.string()}},
                                  test::small_recipe(), no_words),
                        Error, test::says(foreign.string() + ": it is not of this model\n  tensor "));
  const fs::path manifest = folder.directory / "run" / "manifest.json";
  const Json whole = Json::parse(test::read_file(manifest));
  for (const auto& [place, value] : {std::pair("/shape", Json::array({3, 8})),
                                     {"/shape/1", Json(0)},
                                     {"/shape/2", Json(kMostSide + 1)},
                                     {"/mean", Json::array()},
                                     {"/stddev/0", Json(0)},
                                     {"/class_names", Json::array()}}) {
    Json damaged = whole;
    damaged["data"][Json::json_pointer(place)] = value;
    test::write_file(manifest, damaged.dump());
    refused(folder.directory / "run", test::small_recipe(), "extents, mean and standard deviation a channel");
  }
  test::write_file(manifest, whole.dump());
  fs::remove_all(checkpoints_of(folder.directory / "run"));
  refused(folder.directory / "run", test::small_recipe(),
          "there is no checkpoint that is whole in " + checkpoints_of(folder.directory / "run").string() +
              "\n  expected: a run folder, which holds manifest.json and checkpoints/step-N.safetensors\n"
              "  got:      no checkpoint there");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::predict_test
