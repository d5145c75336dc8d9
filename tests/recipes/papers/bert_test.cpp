// Tests the recipe bert: its parameters, its settings, its data, and a small training.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "data/text/words.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/tools/commands.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::bert_test {
namespace {

using Words = std::vector<std::string>;
using test::lines_of, test::of_kind, test::state_sha256;

// A net that trains in milliseconds: three places of a sample are predicted. Flags that are given stand for its own.
Words small(Words words) {
  const std::pair<const char*, const char*> own[] = {{"--dim", "16"},     {"--layers", "1"},    {"--heads", "2"},
                                                     {"--context", "20"}, {"--dropout", "0.1"}, {"--minibatch", "8"},
                                                     {"--steps", "12"},   {"--threads", "1"}};
  for (const auto& [flag, value] : own)
    if (std::ranges::count(words, flag) == 0) words.insert(words.end(), {flag, value});
  return words;
}

RunConfig config_of(const Words& words) { return *parse_flags(find_recipe("bert"), "bert", words); }
Graph graph_of(const Words& words) {
  return build_training_graph(declared_task(find_recipe("bert"), config_of(words)), 1);
}

const Variable& variable(const Graph& graph, const std::string& name) {
  const Variable* found = graph.find_variable(name);
  BOOST_REQUIRE_MESSAGE(found, name);
  return *found;
}

// The parameters of BertForMaskedLM: tables and their norm; layers of four square matrices and two of 4 D x D, with
// their biases and two norms; the head's matrix, bias and norm, and a bias for each token.
int64_t parameters(int64_t layers, int64_t dim, int64_t vocabulary, int64_t positions, int64_t types) {
  const int64_t tables = (vocabulary + positions + types + 2) * dim;
  return tables + layers * (12 * dim * dim + 13 * dim) + (dim * dim + 3 * dim) + vocabulary;
}

struct OnDisk {
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run";

  int trained(const Words& more, const std::filesystem::path& to) const {
    return test::run(to, small(more), find_recipe("bert"));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(bert, OnDisk)

// bert-base-uncased and bert-large-uncased have 109,514,298 and 335,174,458 parameters as BertForMaskedLM.
BOOST_AUTO_TEST_CASE(the_paper_has_its_parameters) {
  const Graph base = graph_of({"--paper", "base"});
  BOOST_TEST(parameter_count(base) == 109'514'298);
  BOOST_TEST(parameters(12, 768, 30522, 512, 2) == 109'514'298);
  BOOST_TEST(parameter_count(graph_of({"--paper", "large"})) == 335'174'458);
  BOOST_TEST(parameter_count(graph_of({})) == parameters(2, 64, 257, 64, 1));
  BOOST_TEST((variable(base, "bert.embeddings.word_embeddings.weight").type.shape == Dims{30522, 768}));
  BOOST_TEST((variable(base, "bert.embeddings.position_embeddings.weight").type.shape == Dims{512, 768}));
  BOOST_TEST((variable(base, "bert.encoder.layer.11.attention.self.query.weight").type.shape == Dims{768, 768}));
  BOOST_TEST((variable(base, "bert.encoder.layer.0.intermediate.dense.weight").type.shape == Dims{3072, 768}));
  BOOST_TEST((variable(base, "cls.predictions.bias").type.shape == Dims{30522}));
  for (const Variable& own : base.variables)
    if (own.role == Role::weight || own.role == Role::embedding) BOOST_TEST(own.init.b == 0.02, own.name);
  BOOST_TEST(variable(graph_of({}), "bert.embeddings.word_embeddings.weight").init.b == 0.125);  // 1 / sqrt(64)
}

// You et al. 2019: the root of the number of sequences, and epochs of warmup that grow with it, to a fifth of a stage
// at 32,768; a step of 8,192 samples of 512 tokens begins with as many sequences of 128.
BOOST_AUTO_TEST_CASE(settings_follow_from_the_minibatch) {
  const Learning least = config_of({"--paper", "large"}).learning;
  const RunConfig most = config_of({"--paper", "large", "--minibatch", "8192"});
  BOOST_TEST(least.lr == 0.000625);
  BOOST_TEST(least.warmup_epochs == 18.0 / 320);
  BOOST_TEST(most.learning.lr == 0.005, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(most.learning.warmup_epochs == 3.6);
  BOOST_TEST(most.length.epochs == 26);
  BOOST_TEST(most.data.options.whole("context") == 512);
  BOOST_TEST(growths_text(most.batch.growths) == "18ep:x4:long4:warm1.6ep");
  const RunPlan plan = make_plan(most, 3'280'000'000 / 512);
  BOOST_TEST(plan.phase(1).begin_step == 14'076);
  BOOST_TEST(plan.steps == 14'076 + 1'560);
  const RunConfig mixed = config_of({"--paper", "large", "--minibatch", "16384", "--stages", "mixed"});
  BOOST_TEST(growths_text(mixed.batch.growths) == "18ep:x2:long4:rate0.707107:warm1.6ep");
  BOOST_TEST(config_of({"--paper", "large", "--lr", "0.1"}).learning.lr == 0.1);
}

BOOST_AUTO_TEST_CASE(options_that_contradict_each_other_are_refused) {
  const auto refuses = [](const Words& words, const std::string& what) {
    BOOST_CHECK_EXCEPTION(graph_of(words), UsageError, test::says(what));
  };
  refuses({"--heads", "3"}, "--heads: expected a divisor of --dim 64, got '3'");
  refuses({"--positions", "63"}, "--positions: expected --context 64 or more, or 0, got '63'");
  refuses({"--mask-token", "257"}, "--mask-token: expected a token below --vocabulary 257, got '257'");
  refuses({"--stages", "mixed"}, "--stages: expected --paper base or large beside it, got 'mixed'");
  const std::string no_byte = "expected a mask token that is no byte of the text: 257 or more tokens of --vocabulary";
  const auto refuses_to_read = [](const Words& words, const std::string& what) {
    const Task task = declared_task(find_recipe("bert"), config_of(words));
    BOOST_CHECK_EXCEPTION(task.read(), UsageError, test::says(what));
  };
  refuses_to_read({"--vocabulary", "256"}, "--vocabulary: " + no_byte);
  refuses_to_read({"--mask-token", "32"}, "--mask-token: " + no_byte);
}

BOOST_AUTO_TEST_CASE(a_stopped_run_goes_on_to_the_same_bits) {
  const std::filesystem::path whole = directory / "whole";
  BOOST_REQUIRE(trained({}, whole) == 0);
  BOOST_REQUIRE(trained({"--stop-at", "5st"}, out) == 0);
  BOOST_REQUIRE(test::run({"--resume", out.string(), "--stop-at", "12st"}, find_recipe("bert")) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
  const nlohmann::json last = of_kind(lines_of(whole), "eval").back();
  const double loss = last.at("loss").get<double>(), unigram = last.at("unigram").get<double>();
  BOOST_TEST(unigram == words_unigram_loss(), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(last.at("of_unigram").get<double>() == loss / unigram, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(last.at("perplexity").get<double>() == std::exp(loss), boost::test_tools::tolerance(1e-6));
  BOOST_TEST((last.at("error").get<double>() > 0.5 && last.at("error").get<double>() <= 1));
}

// Samples are two pieces until step 6; then they are whole, in a larger minibatch, and the schedule begins anew.
BOOST_AUTO_TEST_CASE(sequences_grow_in_the_course_of_a_run) {
  const Words stages = {"--minibatch-schedule",
                        "6st:x2:long2:rate0.5:warm2st",
                        "--warmup-steps",
                        "2",
                        "--per-worker",
                        "4",
                        "--eval-every",
                        "6st",
                        "--ema",
                        "0.9",
                        "--eval-ema"};
  const auto with = [&](Words words) {
    words.insert(words.end(), stages.begin(), stages.end());
    return words;
  };
  const std::filesystem::path whole = directory / "whole";
  BOOST_REQUIRE(trained(stages, whole) == 0);
  for (const char* stop : {"6st", "7st"}) {
    BOOST_REQUIRE(trained(with({"--stop-at", stop}), directory / stop) == 0);
    BOOST_REQUIRE(test::run({"--resume", (directory / stop).string(), "--stop-at", "12st"}, find_recipe("bert")) == 0);
    BOOST_TEST(state_sha256(directory / stop) == state_sha256(whole), stop);
  }
  // The evaluation at the border is of pieces, also in a run that is resumed there.
  BOOST_TEST(of_kind(lines_of(directory / "6st"), "eval").front().at("loss") ==
             of_kind(lines_of(whole), "eval").front().at("loss"));
  BOOST_TEST(trained({"--minibatch-schedule", "6st:long3", "--warmup-steps", "2"}, directory / "thirds") == 1);
}

// A later run has longer samples and takes the weights of the first, whose table has the positions already.
BOOST_AUTO_TEST_CASE(a_run_of_longer_samples_takes_the_weights) {
  BOOST_REQUIRE(trained({"--positions", "40", "--stop-at", "5st"}, out) == 0);
  const std::filesystem::path longer = directory / "longer";
  BOOST_TEST(trained({"--positions", "40", "--context", "40", "--init", out.string(), "--steps", "2"}, longer) == 0);
}

BOOST_AUTO_TEST_CASE(a_file_is_a_text_of_bytes_or_tokens) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a text of " + std::to_string(i) + " words. ";
  test::write_file(directory / "text", text);
  BOOST_REQUIRE(trained({"--data", (directory / "text").string(), "--stop-at", "2st"}, out) == 0);
  BOOST_TEST(of_kind(lines_of(out), "eval").back().contains("of_unigram"));
  int32_t header[256] = {20240520, 1, 4000};
  std::string file(reinterpret_cast<const char*>(header), sizeof header);
  for (int i = 0; i < 4000; ++i) file += {static_cast<char>(i % 7), static_cast<char>(i % 9 == 3)};
  test::write_file(directory / "tokens.bin", file);
  const Words tokens = {
      "--data", (directory / "tokens.bin").string(), "--vocabulary", "300", "--mask-token", "103", "--stop-at", "2st"};
  BOOST_TEST(trained(tokens, directory / "tokens") == 0);
  BOOST_TEST(trained({"--data", (directory / "tokens.bin").string(), "--vocabulary", "7"}, directory / "few") == 1);
}

BOOST_AUTO_TEST_CASE(noise_and_commands_need_no_data) {
  BOOST_TEST(trained({"--data", "synthetic", "--label-smoothing", "0.1"}, out) == 0);
  BOOST_TEST(!of_kind(lines_of(out), "eval").back().contains("unigram"));
  const auto arguments = [&](const char* tool, Words more) {
    return ToolArguments{tool, find_recipe("bert"), small(more)};
  };
  BOOST_TEST(inspect_command(arguments("inspect", {"--json"})) == 0);
  BOOST_TEST(bench_command(arguments("bench", {"--json"})) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::bert_test
