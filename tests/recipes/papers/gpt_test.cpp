// Tests the recipe gpt: its parameters, its data, and a small training.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "data/text/words.h"
#include "graph/interpreter.h"
#include "graph/text.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/tools/commands.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::gpt_test {
namespace {

using Words = std::vector<std::string>;
using test::lines_of, test::of_kind, test::state_sha256;

// A net that trains in milliseconds.
Words small(Words more) {
  Words words = {"--dim",     "16",  "--layers",    "1", "--heads", "2",  "--context", "16",
                 "--dropout", "0.1", "--minibatch", "8", "--steps", "12", "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Graph graph_of(const Words& words) {
  const Recipe recipe = find_recipe("gpt");
  const RunConfig config = *parse_flags(recipe, "gpt", words);
  return build_training_graph(declared_task(recipe, config), 1);
}

const Variable& variable(const Graph& graph, const std::string& name) {
  const Variable* found = graph.find_variable(name);
  BOOST_REQUIRE_MESSAGE(found, name);
  return *found;
}

// Returns the root mean square of the logits after ten steps at a constant learning rate.
double size_of_logits(const std::filesystem::path& out, const Words& words) {
  Words all = {"--out",      out.string(), "--steps",     "10",   "--lr",      "0.003",
               "--schedule", "constant",   "--warmup",    "none", "--layers",  "1",
               "--context",  "16",         "--minibatch", "4",    "--threads", "1"};
  all.insert(all.end(), words.begin(), words.end());
  BOOST_REQUIRE(trace_steps_command({"trace", find_recipe("gpt"), all}) == 0);
  const NamedTensor logits = read_safetensors(out / "logits.safetensors").tensors.at(0);
  double squares = 0;
  for (int64_t i = 0; i < logits.type.elements(); ++i)
    squares += std::pow(load_element(logits.type.dtype, logits.data.data(), i), 2);
  return std::sqrt(squares / static_cast<double>(logits.type.elements()));
}

struct OnDisk {
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run";

  int trained(const Words& more, const std::filesystem::path& to) const {
    return test::run(to, small(more), find_recipe("gpt"));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(gpt, OnDisk)

// A sample of two pieces is two samples of half its length, of which the second begins with the first one's last token.
BOOST_AUTO_TEST_CASE(a_piece_of_a_sample_is_a_shorter_sample) {
  const auto task_of = [](const char* context) {
    const Recipe recipe = find_recipe("gpt");
    return declared_task(recipe,
                         *parse_flags(recipe, "gpt", {"--dim", "8", "--context", context, "--vocabulary", "11"}));
  };
  const auto token = [](int64_t place) { return static_cast<double>(place * 5 % 11); };
  std::vector<double> whole, halves;
  for (int64_t place = 0; place <= 12; ++place) whole.push_back(token(place));
  for (const int64_t begin : {0, 6})
    for (int64_t place = 0; place <= 6; ++place) halves.push_back(token(begin + place));
  const auto loss_of = [](const Graph& graph, const Dims& shape, const std::vector<double>& tokens) {
    Bindings values = {
        {"tokens", Array{{DType::i32, shape, ""}, tokens}},
        {"weights", Array{{DType::f64, {shape[0]}, ""}, std::vector(static_cast<size_t>(shape[0]), 1.0)}},
        {"label_smoothing", Array{{DType::f64, {}, ""}, {0}}}};
    for (const Variable& own : graph.variables) {
      std::vector<double> numbers;
      for (int64_t i = 0; i < own.type.elements(); ++i) numbers.push_back(std::sin(static_cast<double>(i + 1)));
      values.emplace(own.name, Array{own.type, numbers});
    }
    return interpret(graph, values).outputs.at("loss").data.at(0) / static_cast<double>(shape[0]);
  };
  const Graph in_pieces = build_inference_graph(task_of("12"), {1, 0, 2}, DType::f64);
  const double expected = loss_of(build_inference_graph(task_of("6"), 2, DType::f64), {2, 7}, halves);
  BOOST_TEST(loss_of(in_pieces, {1, 13}, whole) == expected, boost::test_tools::tolerance(1e-13));
  BOOST_CHECK_EXCEPTION(build_inference_graph(task_of("12"), {1, 0, 5}, DType::f64), Error,
                        test::says("expected samples of a multiple of 5 positions", "got 12 of task gpt"));
}

// GPT-2 has 124,439,808 parameters, as transformers counts them.
BOOST_AUTO_TEST_CASE(the_paper_has_its_parameters) {
  const Graph graph = graph_of({"--paper", "124M"});
  BOOST_TEST(parameter_count(graph) == 124'439'808);
  BOOST_TEST((variable(graph, "transformer.wte.weight").type.shape == Dims{50257, 768}));
  BOOST_TEST((variable(graph, "transformer.wpe.weight").type.shape == Dims{1024, 768}));
  BOOST_TEST((variable(graph, "transformer.h.11.attn.c_attn.weight").type.shape == Dims{768, 2304}));
  BOOST_TEST((variable(graph, "transformer.h.0.mlp.c_proj.weight").type.shape == Dims{3072, 768}));
  BOOST_TEST(variable(graph, "transformer.h.0.mlp.c_fc.weight").init.b == 0.02);
  BOOST_TEST(variable(graph, "transformer.h.0.attn.c_proj.weight").init.b == 0.02 / std::sqrt(24.0),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(graph.find_variable("lm_head.weight") == nullptr);
  BOOST_CHECK_EXCEPTION(graph_of({"--heads", "3"}), UsageError,
                        test::says("--heads: expected a divisor of --dim 64, got '3'"));
}

// Yang et al. 2022, table 8, at four times the base width.
BOOST_AUTO_TEST_CASE(a_base_width_sets_rates_and_deviations) {
  const Graph graph = graph_of({"--dim", "256", "--base-dim", "64"}), small = graph_of({"--dim", "64"});
  for (const Variable& own : graph.variables) {
    const Variable& other = variable(small, own.name);
    const bool is_hidden = own.role == Role::weight;
    BOOST_TEST(own.rate == (is_hidden ? 0.25 : 1), own.name);
    BOOST_TEST(own.init.b == (is_hidden ? other.init.b / 2 : other.init.b), own.name);
    BOOST_TEST(other.rate == 1, own.name);
  }
  BOOST_TEST(variable(graph, "transformer.h.1.mlp.c_fc.weight").init.b == 0.01);
  BOOST_TEST(variable(graph, "transformer.wte.weight").init.b == 0.02);
}

BOOST_AUTO_TEST_CASE(the_base_width_itself_changes_nothing) {
  BOOST_TEST(content_hash(graph_of({"--base-dim", "64"})) == content_hash(graph_of({"--dim", "64"})));
  BOOST_TEST(content_hash(graph_of({"--base-dim", "32"})) != content_hash(graph_of({"--dim", "64"})));
  const std::filesystem::path plain = directory / "plain", wide = directory / "wide";
  BOOST_REQUIRE(trained({}, plain) == 0);
  BOOST_REQUIRE(trained({"--base-dim", "16"}, out) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(plain));
  BOOST_REQUIRE(trained({"--base-dim", "4"}, wide) == 0);
  BOOST_TEST(state_sha256(wide) != state_sha256(plain));
}

// The coordinate check of Yang et al. 2022, appendix D.1: in few steps, activations of a wider net grow as those of the
// narrow one.
BOOST_AUTO_TEST_CASE(logits_do_not_grow_with_the_width) {
  const auto size = [&](const char* dim, const char* base) {
    return size_of_logits(directory / "trace", {"--logits", "--dim", dim, "--base-dim", base});
  };
  const double narrow = size("32", "0"), wide = size("256", "0"), mup = size("256", "32");
  BOOST_TEST_MESSAGE(narrow << " at a width of 32; at 256 " << wide << ", with a base width of 32 " << mup);
  BOOST_TEST(wide > 3 * narrow);
  BOOST_TEST(mup < 2 * narrow);
  BOOST_TEST(mup > narrow / 2);
}

BOOST_AUTO_TEST_CASE(a_stopped_run_goes_on_to_the_same_bits) {
  const std::filesystem::path whole = directory / "whole";
  BOOST_REQUIRE(trained({}, whole) == 0);
  BOOST_REQUIRE(trained({"--stop-at", "5st"}, out) == 0);
  BOOST_REQUIRE(test::run({"--resume", out.string(), "--stop-at", "12st"}, find_recipe("gpt")) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
  const nlohmann::json last = of_kind(lines_of(whole), "eval").back();
  BOOST_TEST(last.at("entropy").get<double>() == words_entropy(), boost::test_tools::tolerance(1e-6));
  BOOST_TEST(last.at("perplexity").get<double>() == std::exp(last.at("loss").get<double>()),
             boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_file_is_a_text_of_bytes) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a text of " + std::to_string(i) + " words. ";
  const std::filesystem::path file = directory / "text";
  test::write_file(file, text);
  BOOST_REQUIRE(trained({"--data", file.string(), "--stop-at", "5st"}, out) == 0);
  const nlohmann::json last = of_kind(lines_of(out), "eval").back();
  BOOST_TEST(last.at("bits_per_byte").get<double>() == last.at("loss").get<double>() / std::log(2.0),
             boost::test_tools::tolerance(1e-6));
  BOOST_TEST(!last.contains("entropy"));
  test::write_file(file, "B" + text.substr(1));
  BOOST_TEST(test::run({"--resume", out.string(), "--stop-at", "12st"}, find_recipe("gpt")) == 1);
  test::write_file(file, text);
  BOOST_TEST(test::run({"--resume", out.string(), "--stop-at", "12st"}, find_recipe("gpt")) == 0);
}

BOOST_AUTO_TEST_CASE(tokens_above_the_vocabulary_are_refused) {
  int32_t header[256] = {20240520, 1, 4000};
  std::string file(reinterpret_cast<const char*>(header), sizeof header);
  for (int i = 0; i < 4000; ++i) file += {static_cast<char>(i % 7), static_cast<char>(i % 9 == 3)};
  test::write_file(directory / "tokens.bin", file);
  const std::string data = (directory / "tokens.bin").string();
  BOOST_TEST(trained({"--data", data, "--vocabulary", "300"}, out) == 0);
  BOOST_TEST(!of_kind(lines_of(out), "eval").back().contains("bits_per_byte"));
  BOOST_TEST(trained({"--data", data, "--vocabulary", "7"}, directory / "few") == 1);
}

BOOST_AUTO_TEST_CASE(noise_and_commands_need_no_data) {
  BOOST_TEST(trained({"--data", "synthetic", "--label-smoothing", "0.1"}, out) == 0);
  BOOST_TEST(!of_kind(lines_of(out), "eval").back().contains("entropy"));
  const auto arguments = [&](const char* tool, Words more) {
    return ToolArguments{tool, find_recipe("gpt"), small(more)};
  };
  BOOST_TEST(inspect_command(arguments("inspect", {"--json"})) == 0);
  BOOST_TEST(bench_command(arguments("bench", {"--json"})) == 0);
  BOOST_TEST(scale_command(arguments("scale", {"--node", "1", "--between", "50us,1GB/s"})) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gpt_test
