// The recipe transformer: its model, a run on numbers, and what it writes.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "data/text/numbers.h"
#include "graph/text.h"
#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/models/translate.h"
#include "recipes/papers/table.h"
#include "recipes/task/sequence_model.h"
#include "runtime/session.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::transformer_test {
namespace {

using Words = std::vector<std::string>;

const Words kNet = {"--numbers", "400", "--dim", "16", "--layers", "2", "--heads", "2", "--hidden", "32"};

Words small(Words more) {
  Words words = kNet;
  for (const char* word : {"--buckets", "2", "--steps", "6", "--minibatch", "8", "--per-worker", "4", "--schedule",
                           "constant", "--warmup", "none"})
    words.emplace_back(word);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Task task_of(const Words& words) {
  const Recipe recipe = find_recipe("transformer");
  return declared_task(recipe, *parse_flags(recipe, "transformer", words));
}

void fill(Session& session, const char* input, const std::vector<int32_t>& values) {
  BOOST_REQUIRE(session.input_type(input).elements() == std::ssize(values));
  std::memcpy(session.input(input), values.data(), values.size() * sizeof(int32_t));
}

// The programs of a small net with random weights, for two sources of the same four tokens.
struct Programs {
  Task task = task_of(kNet);
  std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 2, .shards = 2, .cache_directory = ""});
  StateStore store{*backend};
  CompileOptions options;
  Compiled compiled = compiled_whole();
  ParameterSpace space = compiled.space;
  Session whole{*backend, store, compiled};
  Graph encoder = build_encoder_graph(task, *task.sequences, {2, 4}, DType::f32);
  std::unique_ptr<Session> reader, step;

  static constexpr int64_t kSteps = 7;  // the logits of a length of 8

  Programs() {
    options.space = &space;
    reader = std::make_unique<Session>(*backend, store, compile(encoder, options));
    const int64_t vocabulary = task.sequences->pairs->target.tokenizer->vocabulary().size();
    Graph graph = build_step_graph(task, task.sequences->step, &encoder, {2, kSteps, vocabulary}, DType::f32);
    step = std::make_unique<Session>(*backend, store, compile(std::move(graph), options));
    store.initialise(3);
    fill(*reader, "source", {5, 9, 2, 0, 5, 9, 2, 0});
    fill(*reader, "source.length", {3, 3});
    reader->step();
    for (const Output& output : encoder.outputs)
      std::memcpy(step->input(output.name), reader->output(output.name),
                  static_cast<size_t>(reader->output_type(output.name).bytes()));
  }

  Compiled compiled_whole() {
    options.target = backend->target();
    return compile(build_logits_graph(task, {2, 8}), options);
  }

  // Returns the logarithms of the probabilities of all tokens behind each place of the two targets.
  std::vector<double> at_once(const std::vector<int32_t>& targets) {
    fill(whole, "source", {5, 9, 2, 0, 0, 0, 0, 0, 5, 9, 2, 0, 0, 0, 0, 0});
    fill(whole, "source.length", {3, 3});
    fill(whole, "target", targets);
    whole.step();
    std::vector<double> logits;
    whole.read("logits", logits);
    const auto width = static_cast<size_t>(whole.output_type("logits").shape.at(2));
    for (size_t row = 0; row < logits.size(); row += width) {
      double sum = 0;
      for (size_t i = row; i < row + width; ++i) sum += std::exp(logits[i]);
      for (size_t i = row; i < row + width; ++i) logits[i] -= std::log(sum);
    }
    return logits;
  }

  std::vector<double> scores(const std::vector<int32_t>& tokens, const std::vector<int32_t>& parents, int32_t place) {
    fill(*step, kStepTokens, tokens);
    fill(*step, kStepParents, parents);
    fill(*step, kStepPlace, {place});
    step->step();
    std::vector<double> values;
    step->read(kStepScores, values);
    return values;
  }
};

int64_t parameters_of(const char* paper) {
  return parameter_count(build_training_graph(task_of({"--data", "synthetic", "--paper", paper}), {1, 8}));
}

struct OnDisk {
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(transformer_recipe, OnDisk)

// Table 3: 65 and 213 million parameters. Those of one table for both languages and of PyTorch's layers, by hand:
// layers x (4 d^2 + 2 d f + 9 d + f) of the encoder, layers x (8 d^2 + 2 d f + 15 d + f) of the decoder, 37,000 d.
BOOST_AUTO_TEST_CASE(the_papers_sizes) {
  const auto count = [](int64_t d, int64_t f) {
    return 6 * (4 * d * d + 2 * d * f + 9 * d + f) + 6 * (8 * d * d + 2 * d * f + 15 * d + f) + 37000 * d;
  };
  BOOST_TEST(parameters_of("base") == count(512, 2048));
  BOOST_TEST(parameters_of("big") == count(1024, 4096));
  BOOST_TEST(parameters_of("mlperf") == count(1024, 4096) + (33945 - 37000) * 1024 + 4 * 1024);  // two more norms
  BOOST_CHECK_EXCEPTION(task_of({"--heads", "3"}), UsageError,
                        test::says("--heads: expected a divisor of --dim 64, got '3'"));
}

// Vaswani et al. 2017, eq. 3: dim^-0.5 min(step^-0.5, step 4000^-1.5), here of steps counted from 0.
BOOST_AUTO_TEST_CASE(the_papers_rates) {
  const auto rate_at = [](const Words& words, int64_t step) {
    const RunConfig config = *parse_flags(find_recipe("transformer"), "transformer", words);
    return make_rate({}, config.learning, make_plan(config, 4'500'000)).at(step);
  };
  const auto tolerance = boost::test_tools::tolerance(1e-5);  // the peak has six figures
  for (const int64_t step : {2000, 4000, 16000})
    BOOST_TEST(rate_at({"--paper", "base"}, step) ==
                   std::min(std::pow(step, -0.5), static_cast<double>(step) * std::pow(4000, -1.5)) / std::sqrt(512),
               tolerance);
  BOOST_TEST(rate_at({"--paper", "mlperf", "--steps", "50000"}, 32000) == 2 / std::sqrt(1024.0 * 32000), tolerance);
  BOOST_TEST(rate_at({"--paper", "big", "--lr", "0.25"}, 4000) == 0.25, tolerance);
}

BOOST_AUTO_TEST_CASE(a_stopped_run_goes_on_to_the_same_bits) {
  const std::filesystem::path whole = directory / "whole";
  BOOST_REQUIRE(test::run(whole, small({}), find_recipe("transformer")) == 0);
  BOOST_REQUIRE(test::run(out, small({"--stop-at", "3st"}), find_recipe("transformer")) == 0);
  BOOST_REQUIRE(test::run({"--resume", out.string(), "--stop-at", "6st"}, find_recipe("transformer")) == 0);
  BOOST_TEST(test::state_sha256(out) == test::state_sha256(whole));
  const std::vector<nlohmann::json> steps = test::of_kind(test::lines_of(whole), "step");
  for (const nlohmann::json& step : steps) BOOST_TEST(step.at("length").get<double>() <= 9);
}

BOOST_AUTO_TEST_CASE(steps_with_caches_are_the_whole_decoder) {
  Programs programs;
  const std::vector<int32_t> targets = {1, 7, 12, 4, 30, 8, 9, 2, 1, 6, 6, 21, 10, 33, 5, 2};
  const std::vector<double> expected = programs.at_once(targets);
  const size_t width = expected.size() / (2 * Programs::kSteps);
  // From the third step on each row goes on with what the other one has written.
  for (int32_t place = 0; place < Programs::kSteps; ++place) {
    const auto token = [&](size_t row) { return targets[row * 8 + static_cast<size_t>(place)]; };
    const bool is_crossed = place >= 2;
    const std::vector<int32_t> crossed = {token(1), token(0)}, straight = {token(0), token(1)};
    const std::vector<int32_t> other = {1, 0}, own = {0, 1};
    const std::vector<double> scores =
        programs.scores(is_crossed ? crossed : straight, place == 2 ? other : own, place);
    for (size_t row = 0; row < 2; ++row)
      for (size_t i = 0; i < width; ++i) {
        const size_t from = is_crossed ? 1 - row : row;
        const double whole = expected[(from * Programs::kSteps + static_cast<size_t>(place)) * width + i];
        BOOST_TEST(std::fabs(scores[row * width + i] - whole) < 1e-5);
      }
  }
}

BOOST_AUTO_TEST_CASE(a_step_is_timed_without_data) {
  Words words = small({"--data", "synthetic", "--bucket", "12"});
  BOOST_TEST(test::run(out, words, find_recipe("transformer")) == 0);
  const std::vector<nlohmann::json> steps = test::of_kind(test::lines_of(out), "step");
  BOOST_TEST(steps.size() == 6u);
  BOOST_TEST(steps.back().at("loss").get<double>() > 0);
}

// A corpus may bring a validation part, which judges the training; the test part is for its end.
BOOST_AUTO_TEST_CASE(a_corpus_may_bring_a_validation_part) {
  const std::pair<const char*, int> parts[] = {{"train", 64}, {"val", 7}, {"test", 5}};
  for (const auto& [part, lines] : parts)
    for (const char* language : {"de", "en"}) {
      std::string text;
      for (int line = 0; line < lines; ++line) text += line % 2 == 0 ? "a b c\n" : "c a\n";
      test::write_file(directory / "corpus" / (std::string(part) + "." + language), text);
    }
  const std::string data = (directory / "corpus").string();
  BOOST_REQUIRE(test::run(out, small({"--data", data}), find_recipe("transformer")) == 0);
  const std::vector<nlohmann::json> evaluations = test::of_kind(test::lines_of(out), "eval");
  BOOST_REQUIRE(!evaluations.empty());
  BOOST_TEST(evaluations.front().at("part") == "valid");
  BOOST_TEST(nlohmann::json::parse(test::read_file(out / "manifest.json")).at("data").at("valid") == 7);
}

// Sentences that are written together, in several lengths and minibatches, do not see each other; the weights are those
// of the run.
BOOST_AUTO_TEST_CASE(a_run_writes_sequences) {
  BOOST_REQUIRE(test::run(out, small({}), find_recipe("transformer")) == 0);
  Translator translator({out}, std::nullopt, [](const std::string&) {});
  const PairPart& test = translator.pairs().test;
  std::vector<std::vector<int32_t>> sources;
  for (int64_t i = 0; i < 5; ++i) {
    sources.emplace_back(test.source[i].begin(), test.source[i].end());
    sources.back().push_back(kEndToken);
  }
  const auto together = translator.write(sources, {.beams = 2, .minibatch = 4});
  for (size_t i = 0; i < sources.size(); ++i) {
    BOOST_TEST(std::ssize(together[i]) <= 2 * std::ssize(sources[i]) + 10);
    BOOST_TEST(translator.write({sources[i]}, {.beams = 2, .minibatch = 1})[0] == together[i]);
  }
  BOOST_REQUIRE(test::run(directory / "other", small({"--seed", "5"}), find_recipe("transformer")) == 0);
  Translator other({directory / "other"}, std::nullopt, [](const std::string&) {});
  BOOST_TEST((other.write(sources, {.beams = 2, .minibatch = 4}) != together));
  BOOST_TEST(translator.write({}, {}).empty());
  BOOST_CHECK_EXCEPTION(Translator({directory / "none"}, std::nullopt, [](const std::string&) {}), Error,
                        test::says("there is no run folder"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::transformer_test
