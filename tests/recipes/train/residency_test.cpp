// A data set on the device whole: who chooses it, what is compiled, and that no bit depends on it.
#include "recipes/train/residency.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "graph/interpreter.h"
#include "graph/text.h"
#include "recipes/papers/table.h"
#include "recipes/train/programs.h"
#include "runtime/checkpoint.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::residency_test {
namespace {

using test::run, test::small_recipe, test::state_sha256, test::trace;
using Words = std::vector<std::string>;

RunConfig flags_of(const Words& words) { return *parse_flags(small_recipe(), "small", words); }

InputSpec spec_of(const std::string& dataset) { return input_spec({.dataset = dataset, .synthetic = {}}); }

bool chosen(const Words& words, const InputSpec& input, const Target& target) {
  const RunConfig config = flags_of(words);
  return choose_residency(config.arithmetic.resident, task_of(small_recipe(), config, input), target).is_on();
}

std::string refusal(const Words& words, const InputSpec& input, int64_t device_bytes = INT64_MAX) {
  return test::error_of<UsageError>([&] {
    const RunConfig config = flags_of(words);
    choose_residency(config.arithmetic.resident, task_of(small_recipe(), config, input), generic_cpu_target(),
                     device_bytes);
  });
}

// Returns the recipe on synthetic data: 40 training and 21 test images of 3x32x32 in 10 classes.
Recipe noisy(Recipe recipe) {
  recipe.defaults.dataset = "synthetic";
  recipe.synthetic = {{3, 32, 32}, 10, 40, 21};
  return recipe;
}

// Writes `count` numbered images of MNIST's shape under MNIST's names.
void write_mnist(const std::filesystem::path& folder, const std::string& part, int count) {
  const std::string many = {0, 0, static_cast<char>(count >> 8), static_cast<char>(count)};
  std::string images = std::string("\0\0\x08\x03", 4) + many + std::string("\0\0\0\x1c\0\0\0\x1c", 8);
  std::string labels = std::string("\0\0\x08\x01", 4) + many;
  for (int i = 0; i < count; ++i) {
    for (int pixel = 0; pixel < 784; ++pixel) images += static_cast<char>((i * 37 + pixel * (i % 7 + 1)) % 251);
    labels += static_cast<char>(i % 10);
  }
  test::write_file(folder / (part + "-images-idx3-ubyte"), images);
  test::write_file(folder / (part + "-labels-idx1-ubyte"), labels);
}

nlohmann::json manifest_data(const std::filesystem::path& out) {
  return nlohmann::json::parse(test::read_file(out / "manifest.json")).at("data");
}

bool manifest_says(const std::filesystem::path& out) { return manifest_data(out).at("resident").get<bool>(); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(residency, test::TemporaryDirectory)

BOOST_AUTO_TEST_CASE(auto_is_for_small_data_on_a_gpu) {
  const Target gpu = gpu_target("sm_90"), cpu = generic_cpu_target();
  for (const char* small : {"mnist", "cifar10", "glyphs"}) {
    BOOST_TEST(chosen({}, spec_of(small), gpu), small);
    BOOST_TEST(!chosen({}, spec_of(small), cpu), small);
    BOOST_TEST(chosen({"--resident", "on"}, spec_of(small), cpu), small);
    BOOST_TEST(!chosen({"--resident", "off"}, spec_of(small), gpu), small);
  }
  BOOST_TEST(resident_bytes(task_of(small_recipe(), flags_of({}), spec_of("mnist"))) == 70000 * (784 + 4));
  InputSpec large = spec_of("cifar10");
  large.train_count = kResidentBytes / (3072 + 4) - 10000;
  BOOST_TEST(chosen({}, large, gpu));
  large.train_count += 1;
  BOOST_TEST(!chosen({}, large, gpu));
  BOOST_TEST(chosen({"--resident", "on"}, large, gpu));
  BOOST_TEST(
      (choose_residency(flags_of({}).arithmetic.resident, task_of(small_recipe(), flags_of({}), spec_of("cifar10")),
                        gpu) == Residency{50000, 10000}));
}

// An evaluation is of the samples held out or of the test part: one table has room for either.
BOOST_AUTO_TEST_CASE(a_table_has_room_for_the_larger_of_the_parts_that_are_judged) {
  for (const auto& [held_out, rows] : {std::pair<int64_t, int64_t>{9000, 10000}, {20000, 20000}}) {
    Task task = task_of(small_recipe(), flags_of({}), spec_of("cifar10"));
    task.valid_count = held_out;
    BOOST_TEST(choose_residency(ResidentChoice::on, task, generic_cpu_target()).test == rows);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_live_there_is_refused_or_sent) {
  InputSpec noise = spec_of("mnist");
  noise.noise = true;
  BOOST_TEST(!chosen({}, noise, gpu_target("sm_90")));
  BOOST_TEST(refusal({"--resident", "on"}, noise) ==
             "arithmetic.resident = on: --data synthetic is one minibatch of noise and no data set; auto or off sends "
             "the samples step by step");
  const Words moved = {"--augment", "flip", "--augment-in", "loader"};
  BOOST_TEST(!chosen(moved, spec_of("mnist"), gpu_target("sm_90")));
  BOOST_TEST(refusal({"--resident", "on", "--augment", "flip", "--augment-in", "loader"}, spec_of("mnist")) ==
             "arithmetic.resident = on: with --augment-in loader the host moves the pixels; auto or off sends the "
             "samples step by step");
  BOOST_TEST(chosen({"--augment", "mixup", "--augment-in", "loader"}, spec_of("mnist"), gpu_target("sm_90")));
  BOOST_TEST(refusal({"--resident", "on"}, spec_of("mnist"), 55160000) == "(nothing thrown)");
  BOOST_TEST(refusal({"--resident", "on"}, spec_of("mnist"), 55159999) ==
             "arithmetic.resident = on: the samples of mnist take 55.2 MB, the device has 55.2 MB; auto or off sends "
             "the samples step by step");
}

// The interpreter evaluates both graphs: one gets rows that were gathered by hand, the other gathers them itself.
BOOST_AUTO_TEST_CASE(a_graph_with_tables_means_the_same) {
  const Recipe recipe = small_recipe();
  const InputSpec input = input_spec({.dataset = "synthetic", .synthetic = recipe.synthetic});
  const AugmentSpec all{.crop = true, .flip = true, .cutout = 2, .mixup = 1};
  const Graph fed = build_training_graph(image_task(recipe, input, {}, all), 5);
  const Graph resident = with_tables(fed, {"images", "labels"}, 9);
  verify(resident);
  BOOST_TEST(!resident.find_input("images").valid());
  BOOST_TEST(!resident.find_input("labels").valid());
  BOOST_TEST((resident.type(resident.find_input("samples")) == Type{DType::i32, {5}, "N"}));
  Bindings given = random_bindings(fed, 3);
  Bindings tables = given;
  const std::vector<double> samples = {8, 0, 3, 3, 7};
  tables["samples"] = {{DType::i32, {5}, "N"}, samples};
  for (const char* name : {"images", "labels"}) {
    Type type = given.at(name).type;
    const auto row = static_cast<size_t>(type.elements() / 5);
    type.shape[0] = 9;
    Array table{type, std::vector<double>(9 * row)};
    for (size_t i = 0; i < table.data.size(); ++i) table.data[i] = static_cast<double>(i * 7 % (row == 1 ? 3 : 251));
    for (size_t n = 0; n < 5; ++n)
      std::copy_n(table.data.begin() + static_cast<int64_t>(static_cast<size_t>(samples[n]) * row), row,
                  given.at(name).data.begin() + static_cast<int64_t>(n * row));
    tables["data." + std::string(name)] = table;
  }
  const double expected = interpret(fed, given).outputs.at("loss").data.at(0);
  BOOST_TEST(interpret(resident, tables).outputs.at("loss").data.at(0) == expected);
  tables["samples"].data[0] = 1;
  BOOST_TEST(interpret(resident, tables).outputs.at("loss").data.at(0) != expected);
}

// The golden file has the launches up to the first convolution: the gather is part of the launch that crops, flips and
// normalises.
BOOST_AUTO_TEST_CASE(launches) {
  std::string text;
  const Recipe recipe = noisy(resnet_cifar());
  for (const char* kinds : {"none", "crop,flip", "crop,flip,cutout", "crop,flip,cutout,mixup"}) {
    for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")}) {
      const RunConfig config = *parse_flags(recipe, "x", {"--depth", "8", "--minibatch", "4", "--augment", kinds});
      const Programs programs = compile_programs(
          declared_task(recipe, config), settle_for_one_step(config, target, config.machine.processes, {40, 21}));
      text += fmt::format("{}, {}:\n", kinds, target.isa);
      const Schedule& schedule = programs.update().program.at(PartRole::final);
      for (const Step& step : schedule.steps) {
        if (name(step.cls) == "library") break;
        text += fmt::format("  {} {}:", name(step.cls), step.name);
        for (int32_t i = 0; i < step.inputs; ++i)
          if (const View& view = step.operands[static_cast<size_t>(i)]; view.buffer >= 0)
            text += " " + schedule.buffers[static_cast<size_t>(view.buffer)].name;
        text += "\n";
      }
    }
  }
  test::golden_in_order("residency_launches.txt", text);
}

BOOST_AUTO_TEST_CASE(no_hash_depends_on_it) {
  const Recipe recipe = noisy(resnet_cifar());
  const RunConfig config = *parse_flags(recipe, "x", {"--depth", "8", "--minibatch", "4"});
  const InputSpec input = input_spec(image_source(recipe, config));
  const Programs fed = compile_programs(task_of(recipe, config, input),
                                        settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
  const Programs resident =
      compile_programs(task_of(recipe, config, input),
                       settle_for_one_step(config, generic_cpu_target(), config.machine.processes, {40, 21}));
  BOOST_TEST(fed.update().graph_hash == resident.update().graph_hash);
  BOOST_TEST(fed.evaluate().graph_hash == resident.evaluate().graph_hash);
  BOOST_TEST(fed.training_text == resident.training_text);
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_it) {
  const std::vector<Words> cases = {
      {"--augment", "crop,flip"},
      {"--augment", "crop,flip,cutout,mixup", "--pad", "1", "--cutout-size", "2", "--loader-threads", "0"},
      {"--precision", "bf16", "--augment", "flip"},
      {"--precision", "f64", "--augment", "mixup", "--loader-threads", "3"},
      {"--per-worker", "5", "--augment", "crop,flip"},
      {"--recompute-bn", "3", "--augment", "flip"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto out = [&](const char* resident) { return *this / fmt::format("{}-{}", resident, i); };
    for (const char* resident : {"off", "on"}) {
      Words words = cases[i];
      words.insert(words.end(), {"--resident", resident});
      BOOST_REQUIRE(run(out(resident), words) == 0);
      BOOST_TEST(manifest_says(out(resident)) == (resident == std::string("on")));
    }
    BOOST_TEST(trace(out("on")) == trace(out("off")));
    BOOST_TEST(!state_sha256(out("on")).empty());
  }
}

BOOST_AUTO_TEST_CASE(resnet_cifar_has_the_same_bits_too) {
  const Recipe recipe = noisy(resnet_cifar());
  const Words words = {"--depth", "8", "--minibatch", "8", "--epochs", "2", "--warmup-epochs", "0"};
  for (const char* resident : {"off", "on"}) {
    Words all = words;
    all.insert(all.end(), {"--resident", resident});
    BOOST_REQUIRE(run(*this / resident, all, recipe) == 0);
  }
  BOOST_TEST(trace(*this / "on") == trace(*this / "off"));
}

// The numbers of samples of a variant of a published set are known from the data alone, which are read while the
// programs are compiled; tables on the device have the right size all the same.
BOOST_AUTO_TEST_CASE(a_variant_has_tables_of_its_own_size) {
  write_mnist(path(), "train", 300);
  write_mnist(path(), "t10k", 35);
  test::write_file(*this / "variant.txt", "train 300\ntest 35\n");
  for (const char* resident : {"off", "on"})
    BOOST_REQUIRE(run(*this / resident,
                      {"--data", path().string(), "--minibatch", "20", "--epochs", "1", "--resident", resident},
                      mlp_mnist()) == 0);
  BOOST_TEST(manifest_says(*this / "on"));
  BOOST_TEST(trace(*this / "on") == trace(*this / "off"));
  // The programs were compiled with the statistics of the whole set, which other programs read in the manifest.
  BOOST_TEST(manifest_data(*this / "on").at("mean").get<std::vector<double>>() == spec_of("mnist").mean);
  BOOST_TEST(manifest_data(*this / "on").at("stddev").get<std::vector<double>>() == spec_of("mnist").stddev);
}

// The run begins with batches that are sent, goes on with the data on the device, and ends with batches that are sent.
BOOST_AUTO_TEST_CASE(a_run_goes_from_one_to_the_other) {
  const Words words = {"--schedule", "constant", "--augment", "crop,flip"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string whole = *this / "whole", parts = *this / "parts";
  BOOST_REQUIRE(run(whole, with({"--steps", "20"})) == 0);
  BOOST_REQUIRE(run(parts, with({"--steps", "6"})) == 0);
  BOOST_TEST(!manifest_says(parts));
  BOOST_REQUIRE(run({"--resume", parts, "--steps", "13", "--resident", "on"}) == 0);
  BOOST_TEST(manifest_says(parts));
  BOOST_REQUIRE(run({"--resume", parts, "--steps", "20", "--resident", "off"}) == 0);
  BOOST_TEST(!manifest_says(parts));
  BOOST_TEST(state_sha256(parts) == state_sha256(whole));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::residency_test
