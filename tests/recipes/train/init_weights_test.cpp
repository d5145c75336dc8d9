// Weights out of a run and into another, through files that PyTorch knows.
#include "recipes/train/init_weights.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <map>

#include "recipes/models/export.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::init_weights_test {
namespace {

namespace fs = std::filesystem;
using test::run, test::state_sha256;

NamedTensor tensor(const std::string& name, DType dtype, Dims shape, const std::vector<double>& values) {
  NamedTensor result{name, {dtype, std::move(shape), ""}, {}};
  result.data.resize(static_cast<size_t>(result.type.bytes()));
  for (size_t i = 0; i < values.size(); ++i)
    store_element(dtype, result.data.data(), static_cast<int64_t>(i), values[i]);
  return result;
}

Variable variable(const std::string& name, VariableKind kind, Dims shape) {
  return {name, {DType::f32, std::move(shape), ""}, kind, Role::weight, {InitKind::constant, 9, 0}, {}, 0};
}

struct Fixture {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  StateStore store{*backend};
  test::TemporaryDirectory directory;
  std::string said;

  Fixture() {
    store.adopt(
        {variable("fc.weight", VariableKind::parameter, {2, 3}), variable("fc.bias", VariableKind::parameter, {2}),
         variable("bn.running_mean", VariableKind::state, {2}), variable("velocity.fc.bias", VariableKind::slot, {2})},
        {});
    store.initialise(1);
  }
  void init_from(const fs::path& path, InitExtent extent = InitExtent::whole, const std::string& scope = "") {
    said.clear();
    init_weights(store, path, extent, scope, [&](const std::string& line) { said += line + "\n"; });
  }
  void init(const std::vector<NamedTensor>& tensors, InitExtent extent = InitExtent::whole,
            const std::string& scope = "") {
    write_safetensors(directory / "w", views_of(tensors));
    init_from(directory / "w", extent, scope);
  }
  double element(const std::string& name, int64_t i) { return load_element(DType::f32, store.data(name), i); }
};

using test::contains;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(init, Fixture)

BOOST_AUTO_TEST_CASE(every_floating_type_is_taken) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    init({tensor("fc.weight", dtype, {2, 3}, {1, 2, 3, 4, 5, -6.5}), tensor("fc.bias", dtype, {2}, {0.5, -0.25}),
          tensor("bn.running_mean", dtype, {2}, {8, 16}), tensor("bn.num_batches_tracked", DType::i64, {}, {12})});
    BOOST_TEST(element("fc.weight", 5) == -6.5);
    BOOST_TEST(element("fc.bias", 1) == -0.25);
    BOOST_TEST(element("bn.running_mean", 1) == 16.0);
    BOOST_TEST(contains(said, ": 3 of 3 tensors taken\n"));
    const bool is_converted = !!contains(said, fmt::format("converted from {} to f32: 3 tensors", name(dtype)));
    BOOST_TEST(is_converted == (dtype != DType::f32));
    BOOST_TEST(!contains(said, "num_batches_tracked"));
  }
}

// A file of another head: fc.weight has another shape, a statistic is missing, head.weight is not the model's.
const std::vector<NamedTensor> kOtherHead = {tensor("fc.weight", DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}),
                                             tensor("fc.bias", DType::f32, {2}, {1, 2}),
                                             tensor("head.weight", DType::f32, {1}, {1})};

BOOST_AUTO_TEST_CASE(what_does_not_match_is_said_with_init_partial) {
  init(kOtherHead, InitExtent::partial);
  BOOST_TEST(element("fc.bias", 0) == 1.0);
  BOOST_TEST(element("fc.weight", 0) == 9.0);
  const std::string expected =
      ": 1 of 3 tensors taken\n"
      "  not in the file, initial values kept: bn.running_mean\n"
      "  of another type, initial values kept: fc.weight: the model has f32[2, 3], the file f32[3, 2]\n"
      "  in the file alone: head.weight\n";
  BOOST_TEST(said.ends_with(expected), said);
}

BOOST_AUTO_TEST_CASE(what_does_not_match_is_refused_without_it) {
  BOOST_CHECK_EXCEPTION(
      init(kOtherHead), Error,
      test::says(
          ": the file does not have every tensor of the model\n  not in the file: bn.running_mean\n  of another "
          "type: fc.weight: the model has f32[2, 3], the file f32[3, 2]\n  in the file alone: head.weight\n  hint: "
          "resume.init_partial takes the 1 that fit"));
  BOOST_TEST(element("fc.bias", 0) == 9.0);
  BOOST_TEST(said.empty());
}

// fc.weight of the store is "weight" of the file, whose names are those of the part.
BOOST_AUTO_TEST_CASE(a_scope_stands_before_the_names) {
  const std::vector<NamedTensor> part = {tensor("weight", DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                                         tensor("bias", DType::f32, {2}, {7, 8})};
  init(part, InitExtent::whole, "fc");
  BOOST_TEST(element("fc.weight", 5) == 6.0);
  BOOST_TEST(element("fc.bias", 0) == 7.0);
  BOOST_TEST(element("bn.running_mean", 0) == 9.0);
  BOOST_TEST(contains(said, ": 2 of 2 tensors taken\n"));
  BOOST_CHECK_EXCEPTION(init({part[0]}, InitExtent::whole, "fc"), Error, test::says("not in the file: fc.bias\n"));
  BOOST_CHECK_EXCEPTION(init(part, InitExtent::whole, "f"), Error,
                        test::says("resume.init_scope = f", "got one under which none of its 3 tensors stands"));
}

BOOST_AUTO_TEST_CASE(a_prefix_of_every_name_is_taken_off) {
  const auto named = [](const std::string& first, const std::string& prefix) {
    return std::vector<NamedTensor>{tensor(first + "fc.weight", DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                                    tensor(prefix + "fc.bias", DType::f32, {2}, {7, 8}),
                                    tensor(prefix + "bn.running_mean", DType::f32, {2}, {0, 0}),
                                    tensor(prefix + "bn.num_batches_tracked", DType::i64, {}, {12})};
  };
  init(named("module.", "module."));
  BOOST_TEST(element("fc.bias", 1) == 8.0);
  BOOST_TEST(said.ends_with(": 3 of 3 tensors taken\n  names are taken without their prefix \"module.\"\n"), said);
  BOOST_CHECK_EXCEPTION(init(named("", "module.")), Error, test::says("not in the file: bn.running_mean, fc.bias"));
}

// The first bytes of torch.save's files: a zip archive since PyTorch 1.6, a pickle of protocol 2 before.
BOOST_AUTO_TEST_CASE(a_file_of_pytorch_is_told_how_to_convert) {
  const std::string zip("PK\x03\x04\x00\x00\x08\x08\x00\x00archive/data.pkl", 26),
      pickle("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20", 10);
  for (const auto& [contents, format] : {std::pair{zip, "a zip archive"}, {pickle, "a pickle"}}) {
    const fs::path path = directory / "resnet \"50\".pth";
    test::write_file(path, contents);
    BOOST_CHECK_EXCEPTION(
        init_from(path), Error,
        test::says("this is PyTorch's own format\n  expected: a safetensors file\n  got:      " + std::string(format),
                   "torch.load(\"", "resnet \\\"50\\\".pth\", map_location=", "safetensors.torch.save_file(",
                   "resnet \\\"50\\\".safetensors\")"));
  }
  // A safetensors file with a header of 640 bytes begins with the same two bytes as a pickle.
  std::vector<NamedTensor> tensors = {tensor("fc.weight", DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6})};
  for (int i = 0; i < 100; ++i) {
    write_safetensors(directory / "w", views_of(tensors), {{"filler", std::string(static_cast<size_t>(8 * i), 'x')}});
    if (test::read_file(directory / "w").starts_with(std::string("\x80\x02", 2))) break;
  }
  BOOST_REQUIRE(test::read_file(directory / "w").starts_with(std::string("\x80\x02", 2)));
  init_from(directory / "w", InitExtent::partial);
  BOOST_TEST(element("fc.weight", 5) == 6.0);
}

BOOST_AUTO_TEST_CASE(a_folder_is_that_of_a_run) {
  fs::create_directory(directory / "run");
  BOOST_CHECK_EXCEPTION(init_from(directory / "run"), Error,
                        test::says("expected a safetensors file or the folder of a run, got a folder without "
                                   "model.safetensors"));
  const std::vector<NamedTensor> tensors = {tensor("fc.bias", DType::f32, {2}, {3, 4})};
  write_safetensors(directory / "run/model.safetensors", views_of(tensors));
  init_from(directory / "run", InitExtent::partial);
  BOOST_TEST(element("fc.bias", 1) == 4.0);
}

BOOST_AUTO_TEST_CASE(a_file_of_nothing_known_is_refused) {
  auto says = [](const Error& error) {
    return contains(error.what(),
                    ": nothing matches\n  the model has: bn.running_mean, fc.bias, fc.weight\n  the file has:  a, b");
  };
  BOOST_CHECK_EXCEPTION(init({tensor("a", DType::f32, {1}, {1}), tensor("b", DType::f32, {1}, {1})}), Error, says);
  BOOST_TEST(element("fc.bias", 0) == 9.0);
}

BOOST_AUTO_TEST_CASE(an_exported_run_begins_another) {
  const fs::path first = directory / "first", file = directory / "model.safetensors";
  BOOST_REQUIRE(run(first, {"--keep", "2"}) == 0);
  const Checkpoint taken = export_model({first, "", file}, [](const std::string&) {});
  BOOST_TEST(taken.step == 20);
  std::string names;
  for (const NamedTensor& t : read_safetensors(file).tensors) names += t.name + " ";
  BOOST_TEST(names == "bn.bias bn.running_mean bn.running_var bn.weight conv.weight fc.bias fc.weight ");
  BOOST_TEST(read_safetensors(file).metadata.at("step") == "20");
  // The next run is the same from the export, from the run's model.safetensors, from its folder and from its
  // checkpoint.
  const std::string a = file, b = first / "model.safetensors", c = list_checkpoints(first / "checkpoints").at(0);
  std::string sha;
  for (const std::string& from : {a, b, first.string(), c}) {
    const fs::path out = directory / "next";
    BOOST_REQUIRE(run(out, {"--init", from, "--steps", "3"}) == 0);
    BOOST_TEST((sha.empty() || sha == state_sha256(out)));
    sha = state_sha256(out);
    if (from != c) fs::remove_all(out);
  }
  BOOST_TEST(sha != state_sha256(first));
  BOOST_REQUIRE(run(directory / "plain", {"--steps", "3"}) == 0);
  BOOST_TEST(sha != state_sha256(directory / "plain"));
}

BOOST_AUTO_TEST_CASE(init_partial_takes_a_backbone_for_another_head) {
  const fs::path first = directory / "first", out = directory / "out";
  BOOST_REQUIRE(run(first, {}) == 0);
  Recipe other = test::small_recipe();
  other.synthetic.classes = 5;
  BOOST_TEST(run(out, {"--init", first.string()}, other) == 1);
  BOOST_TEST(run(out, {"--init-partial"}, other) == 2);
  BOOST_REQUIRE(run(out, {"--init", first.string(), "--init-partial", "--epochs", "0"}, other) == 0);
  const auto tensors_of = [](const fs::path& folder) {
    std::map<std::string, NamedTensor> tensors;
    for (const NamedTensor& t : read_safetensors(folder / "model.safetensors").tensors) tensors[t.name] = t;
    return tensors;
  };
  const auto from = tensors_of(first), to = tensors_of(out);
  BOOST_TEST((to.at("conv.weight").data == from.at("conv.weight").data));
  BOOST_TEST((to.at("bn.running_var").data == from.at("bn.running_var").data));
  BOOST_TEST(to.at("fc.bias").type.shape.at(0) == 5);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_does_not_begin_anew_with_its_weights) {
  const fs::path first = directory / "first", out = directory / "out";
  BOOST_REQUIRE(run(first, {}) == 0);
  BOOST_REQUIRE(run(out, {"--init", first.string(), "--save-every", "7"}) == 0);
  const std::string sha = state_sha256(out);
  auto init_sha256 = [&] {
    return nlohmann::json::parse(test::read_file(out / "manifest.json")).at("init_sha256").get<std::string>();
  };
  const std::string weights = init_sha256();
  BOOST_TEST(weights.size() == 64u);
  fs::remove_all(first);
  fs::remove(list_checkpoints(out / "checkpoints").at(0));
  test::write_file(out / "metrics.jsonl", "");
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  BOOST_TEST(state_sha256(out) == sha);
  BOOST_TEST(init_sha256() == weights);
}

BOOST_AUTO_TEST_CASE(copies_of_the_parameters_are_no_part_of_the_model) {
  using Words = std::vector<std::string>;
  int number = 0;
  for (Words words : {Words{"--policy", "local", "--replicas", "2", "--every", "3", "--outer", "adam", "--ema", "0.9"},
                      Words{"--policy", "async", "--momentum-at", "worker"}}) {
    const fs::path folder = directory / std::to_string(number++);
    words.insert(words.end(), {"--per-worker", "5", "--steps", "4"});
    BOOST_REQUIRE(run(folder, words) == 0);
    std::string names;
    for (const NamedTensor& t : model_tensors(read_checkpoint(list_checkpoints(folder / "checkpoints").at(0))))
      names += t.name + " ";
    BOOST_TEST(names == "bn.bias bn.running_mean bn.running_var bn.weight conv.weight fc.bias fc.weight ");
  }
}

BOOST_AUTO_TEST_CASE(export_passes_over_damaged_checkpoints_and_says_so) {
  const fs::path out = directory / "run", to = directory / "x";
  BOOST_REQUIRE(run(out, {}) == 0);
  fs::resize_file(list_checkpoints(out / "checkpoints").at(0), 1000);
  std::string lines;
  auto say = [&](const std::string& line) { lines += line; };
  BOOST_TEST(export_model({out, "", to}, say).step == 10);
  BOOST_TEST(contains(lines, "step-00000020.safetensors: this checkpoint cannot be used: it is cut short"));
  BOOST_CHECK_THROW(export_model({out, "step-00000020.safetensors", to}, say), Error);
  BOOST_CHECK_THROW(export_model({directory / "none", "", to}, say), Error);
  fs::remove_all(out / "checkpoints");
  BOOST_CHECK_THROW(export_model({out, "", to}, say), Error);
}

// The export once replaced /dev/null, and the run's own model by that of an earlier step.
BOOST_AUTO_TEST_CASE(export_writes_to_no_device_and_to_no_file_of_the_run) {
  const fs::path out = directory / "run";
  BOOST_REQUIRE(run(out, {}) == 0);
  fs::create_symlink(out, directory / "same");
  fs::create_symlink(out / "metrics.jsonl", directory / "link");
  const auto contents = [&] {
    std::map<std::string, std::string> all;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out))
      if (entry.is_regular_file()) all[entry.path().string()] = test::read_file(entry.path());
    return all;
  };
  const auto before = contents();
  const auto complaint = [&](const fs::path& to) {
    return test::error_of([&] { export_model({out, "", to}, [](const std::string&) {}); });
  };
  for (const fs::path& to : {out / "manifest.json", out / "metrics.jsonl", out / "model.safetensors",
                             out / "checkpoints/step-00000010.safetensors", out / "checkpoints/new",
                             directory / "same/model.safetensors", directory / "link"})
    BOOST_TEST(contains(complaint(to), "expected a file that is not the run's own"));
  BOOST_TEST(contains(complaint("/dev/null"), "cannot write /dev/null: expected a file, or none yet, got a device"));
  BOOST_TEST(fs::is_character_file("/dev/null"));
  BOOST_TEST((contents() == before));
  BOOST_TEST(complaint(out / "exported") == "(nothing thrown)");
  for (const char* flag : {"--picture", "--trace"})
    BOOST_TEST(run({"--resume", out.string(), flag, (out / "manifest.json").string()}) == 2);
  BOOST_TEST(run(directory / "other", {"--picture", "/dev/null"}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::init_weights_test
