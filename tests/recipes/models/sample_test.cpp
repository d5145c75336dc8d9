// Tests texts that a run's language model writes.
#include "recipes/models/sample.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/papers/table.h"
#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::sample_test {
namespace {

using Words = std::vector<std::string>;

// A run of gpt on a text that repeats itself, which the net learns by heart.
struct RepeatingText {
  RepeatingText() {
    std::string text;
    for (int i = 0; i < 1200; ++i) text += "abcde";
    test::write_file(directory / "text", text);
    const Words words = {"--data",    (directory / "text").string(),
                         "--dim",     "16",
                         "--layers",  "1",
                         "--context", "8",
                         "--epochs",  "3",
                         "--lr",      "0.02",
                         "--threads", "1"};
    BOOST_REQUIRE(test::run(run, words, find_recipe("gpt")) == 0);
  }

  static void silent(const std::string&) {}

  static std::vector<int32_t> written(Sampler& sampler, const std::vector<int32_t>& prompt,
                                      const SampleOptions& options, int64_t count = 30) {
    std::vector<int32_t> tokens;
    sampler.write(prompt, count, options, [&](int32_t token) { tokens.push_back(token); });
    return tokens;
  }
  std::vector<int32_t> written(const std::vector<int32_t>& prompt, const SampleOptions& options) const {
    Sampler sampler({run}, {}, silent);
    return written(sampler, prompt, options);
  }

  // The recipe of a model that knows no step, so that every token takes a pass over the whole context.
  static Recipe of_windows() {
    Recipe recipe = find_recipe("gpt");
    recipe.task = [](const TaskRequest& request) {
      Task task = find_recipe("gpt").task(request);
      BOOST_REQUIRE(task.next_token);
      task.next_token = {};
      return task;
    };
    return recipe;
  }

  test::TemporaryDirectory directory;
  const std::filesystem::path run = directory / "run";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(sample)

BOOST_FIXTURE_TEST_CASE(a_learned_text_goes_on, RepeatingText) {
  std::filesystem::remove(directory / "text");
  std::string text;
  for (const int32_t token : written({'c'}, {.temperature = 0})) text += static_cast<char>(token);
  BOOST_TEST(text == "deabcdeabcdeabcdeabcdeabcdeabc");
  BOOST_TEST(written({'a', 'b'}, {.seed = 3}) == written({'a', 'b'}, {.seed = 3}));
  Sampler sampler({run}, std::nullopt, silent);
  BOOST_TEST(sampler.vocabulary() == 256);
  const auto ignore = [](int32_t) {};
  BOOST_CHECK_EXCEPTION(sampler.write({}, 1, {}, ignore), Error, test::says("a token or more, got none"));
  BOOST_CHECK_EXCEPTION(sampler.write({256}, 1, {}, ignore), Error, test::says("tokens in [0, 256), got 256"));
}

// Eight tokens fit into the context. A text that stays within it is read by steps alone, or its prompt by a prefill of
// two or four tokens; a longer one by prefills of eight.
BOOST_FIXTURE_TEST_CASE(steps_and_prefills_write_what_whole_windows_do, RepeatingText) {
  Sampler steps({run}, {}, silent), windows({run}, of_windows(), silent);
  const std::vector<int32_t> begun = {'x', 'a', 'b', 'q'}, longer = {'e', 'd', 'c', 'b', 'a', 'e', 'x', 'a', 'b', 'q'};
  for (const std::vector<int32_t>& prompt : {std::vector<int32_t>{'c'}, {'x', 'a', 'b'}, begun, longer})
    for (const int64_t count : {5, 30})
      for (const int64_t prefill_bytes : {int64_t{1}, SampleOptions().prefill_bytes})
        for (const SampleOptions& options : {SampleOptions{.temperature = 2, .prefill_bytes = prefill_bytes},
                                             {.temperature = 0, .prefill_bytes = prefill_bytes}})
          BOOST_TEST(written(steps, prompt, options, count) == written(windows, prompt, options, count));
}

BOOST_AUTO_TEST_CASE(tokens_are_drawn_by_their_probabilities) {
  const std::vector<double> shares = {0.1, 0.4, 0.2, 0.3};
  std::vector<double> logits;
  for (const double share : shares) logits.push_back(std::log(share) + 5);
  const auto counts = [&](const SampleOptions& options) {
    std::vector<double> drawn(4);
    for (int i = 0; i < 1000; ++i) drawn[static_cast<size_t>(draw_token(logits, options, (i + 0.5) / 1000))] += 0.001;
    return drawn;
  };
  const auto check = [&](const SampleOptions& options, const std::vector<double>& expected) {
    const std::vector<double> drawn = counts(options);
    for (size_t i = 0; i < 4; ++i) BOOST_TEST(std::fabs(drawn[i] - expected[i]) < 0.002, i << ": " << drawn[i]);
  };
  check({}, shares);
  check({.temperature = 0}, {0, 1, 0, 0});
  check({.top_k = 2}, {0, 4.0 / 7, 0, 3.0 / 7});
  check({.temperature = 0.5}, {1.0 / 30, 16.0 / 30, 4.0 / 30, 9.0 / 30});
}

// Numbers stand apart by blanks or line feeds, and a prompt that is refused is not printed.
BOOST_AUTO_TEST_CASE(a_prompt_may_be_numbers_of_tokens) {
  const test::TemporaryDirectory directory;
  const Words words = {"--data",   "synthetic", "--vocabulary", "300", "--dim",   "8",
                       "--layers", "1",         "--context",    "8",   "--steps", "1"};
  BOOST_REQUIRE(test::run(directory / "run", words, find_recipe("gpt")) == 0);
  const auto sampled = [&](const Words& more) {
    Words all = {KB_BIN "/sample", (directory / "run").string(), "--tokens", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return Process(all).wait();
  };
  BOOST_TEST(sampled({"--prompt", "1\n299"}).status == 0);
  BOOST_TEST(test::contains(sampled({}).output, "\n0 "));
  const ProcessResult none = sampled({"--prompt", " "}), large = sampled({"--prompt", "7 300"});
  BOOST_TEST(test::contains(none.output, "expected a token or more, got none"));
  BOOST_TEST(large.status == 1);
  BOOST_TEST(!test::contains(large.output, "7 300"), large.output);
}

BOOST_AUTO_TEST_CASE(runs_without_tokens_are_refused) {
  const test::TemporaryDirectory directory;
  const auto silent = [](const std::string&) {};
  BOOST_CHECK_EXCEPTION(Sampler({directory / "none"}, std::nullopt, silent), Error,
                        test::says("there is no run folder"));
  BOOST_REQUIRE(test::run(directory / "images", {"--steps", "2"}) == 0);
  BOOST_CHECK_EXCEPTION(Sampler({directory / "images"}, test::small_recipe(), silent), Error,
                        test::says("expected: a run of a language model"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sample_test
