// Runs that begin with the state, or the flags, of another.
#include "recipes/run/branch.h"

#include <boost/test/unit_test.hpp>

#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::branch_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run, test::state_sha256;

std::string steps_text(const fs::path& out, int64_t from) {
  std::string text;
  for (Json line : of_kind(lines_of(out), "step")) {
    for (const char* time : {"samples_per_s", "data_wait_ms", "wall_s"}) line.erase(time);
    if (line.at("step") >= from) text += line.dump() + "\n";
  }
  return text;
}

// A run of 2 epochs of 10 steps with a checkpoint after every fifth step.
struct BranchFixture {
  test::TemporaryDirectory directory;
  const fs::path source = directory / "source";

  BranchFixture() {
    BOOST_REQUIRE(run(source, {"--save-every", "5", "--keep", "9", "--schedule", "cosine", "--seed", "3"}) == 0);
  }
  std::string at(const std::string& when) const { return source.string() + "@" + when; }
  int branch(const std::string& name, const std::string& when, std::vector<std::string> words = {}) {
    words.insert(words.end(), {"--branch", at(when)});
    return run(directory / name, words);
  }
  Json manifest_of(const std::string& name) { return Json::parse(test::read_file(directory / name / "manifest.json")); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(branch, BranchFixture)

BOOST_AUTO_TEST_CASE(without_a_change_it_takes_the_same_steps) {
  for (const auto& [when, step] : {std::pair<std::string, int64_t>{"5st", 5}, {"1ep", 10}, {"1.5ep", 15}}) {
    BOOST_REQUIRE(branch(when, when) == 0);
    BOOST_TEST(state_sha256(directory / when) == state_sha256(source));
    BOOST_TEST(steps_text(directory / when, 0) == steps_text(source, step));
    const Json from = manifest_of(when).at("branch");
    BOOST_TEST(from.at("step") == step);
    BOOST_TEST(from.at("begins_at") == step);
    BOOST_TEST(from.at("run") == source.string());
    BOOST_TEST(from.at("state_sha256").get<std::string>().size() == 64u);
  }
}

BOOST_AUTO_TEST_CASE(best_and_last) {
  BOOST_REQUIRE(branch("best", "best", {"--epochs", "3"}) == 0);
  BOOST_TEST(manifest_of("best").at("branch").at("step") == manifest_of("source").at("result").at("best").at("step"));
  BOOST_REQUIRE(branch("last", "last", {"--epochs", "3"}) == 0);
  BOOST_TEST(manifest_of("last").at("branch").at("step") == 20);
  BOOST_TEST(of_kind(lines_of(directory / "last"), "step").size() == 10u);
}

BOOST_AUTO_TEST_CASE(flags_may_change_and_are_recorded) {
  BOOST_REQUIRE(branch("other", "1ep", {"--lr", "0.01"}) == 0);
  const Json flags = manifest_of("other").at("flags");
  BOOST_TEST(flags.at("lr") == 0.01);
  BOOST_TEST(flags.at("seed") == 3);
  BOOST_TEST(flags.at("schedule") == "cosine");
  BOOST_TEST(state_sha256(directory / "other") != state_sha256(source));
  std::vector<std::string> words = manifest_of("other").at("arguments").get<std::vector<std::string>>();
  BOOST_REQUIRE(run(directory / "again", words) == 0);
  BOOST_TEST(test::trace(directory / "again") == test::trace(directory / "other"));
}

BOOST_AUTO_TEST_CASE(a_branch_goes_on_after_a_stop) {
  BOOST_REQUIRE(branch("whole", "1ep", {"--lr", "0.01"}) == 0);
  for (const char* stop : {"11st", "13st", "20st"}) {
    BOOST_REQUIRE(branch(stop, "1ep", {"--lr", "0.01", "--stop-at", stop}) == 0);
    BOOST_REQUIRE(run({"--resume", (directory / stop).string(), "--stop-at", "30st"}) == 0);
    BOOST_TEST(test::trace(directory / stop) == test::trace(directory / "whole"));
    BOOST_TEST(manifest_of(stop).at("branch") == manifest_of("whole").at("branch"));
  }
}

BOOST_AUTO_TEST_CASE(a_branch_without_a_checkpoint_begins_again) {
  BOOST_REQUIRE(branch("whole", "1ep", {"--lr", "0.01"}) == 0);
  const auto killed = [&](const std::string& name) {
    BOOST_REQUIRE(branch(name, "1ep", {"--lr", "0.01", "--stop-at", "11st"}) == 0);
    fs::remove_all(directory / name / "checkpoints");
    return run({"--resume", (directory / name).string(), "--stop-at", "20st"});
  };
  BOOST_REQUIRE(killed("a") == 0);
  BOOST_TEST(test::trace(directory / "a") == test::trace(directory / "whole"));
  BOOST_TEST(manifest_of("a").at("branch") == manifest_of("whole").at("branch"));
  const fs::path begin = source / "checkpoints" / "step-00000010.safetensors";
  const std::string manifest = manifest_of("whole").dump();
  BOOST_TEST(recorded_branch(manifest)->checkpoint.step == 10);
  BOOST_TEST(!recorded_branch(manifest_of("source").dump()));
  fs::copy_file(source / "checkpoints" / "step-00000005.safetensors", begin, fs::copy_options::overwrite_existing);
  BOOST_CHECK_EXCEPTION(recorded_branch(manifest), Error, test::says("holds another state", "expected: ", "got: "));
  fs::remove(begin);
  BOOST_CHECK_EXCEPTION(recorded_branch(manifest), Error, test::says("is not there any more", begin.string()));
}

BOOST_AUTO_TEST_CASE(samples_that_were_trained_on_are_not_held_out) {
  const auto with = [&](const char* held_out) {
    return parse_with_origin(test::small_recipe(), "small", {"--branch", at("1ep"), "--validation", held_out});
  };
  BOOST_CHECK_EXCEPTION(with("10"), UsageError,
                        test::says("--validation", "was trained on", "expected: at most 0", "got:      10"));
  BOOST_CHECK_NO_THROW(with("0"));
}

// A flag beside --branch may have an effect only together with the flags of the other run.
BOOST_AUTO_TEST_CASE(flags_are_judged_with_those_of_the_run) {
  BOOST_REQUIRE(run(directory / "base", {"--base-minibatch", "10", "--base-lr", "0.1"}) == 0);
  const std::string from = (directory / "base").string() + "@last";
  BOOST_TEST(parse_with_origin(test::small_recipe(), "small", {"--branch", from, "--base-lr", "0.05"})->learning.lr ==
             0.05);
  BOOST_CHECK_THROW(parse_with_origin(test::small_recipe(), "small", {"--branch", at("1ep"), "--base-lr", "0.05"}),
                    UsageError);
}

BOOST_AUTO_TEST_CASE(another_minibatch_counts_in_epochs) {
  BOOST_REQUIRE(branch("20", "1ep", {"--minibatch", "20"}) == 0);
  const std::vector<Json> steps = of_kind(lines_of(directory / "20"), "step");
  BOOST_TEST(steps.size() == 5u);
  BOOST_TEST(steps.at(0).at("step") == 5);
  BOOST_TEST(steps.at(0).at("epoch") == 1);
  BOOST_TEST(branch("no", "15st", {"--minibatch", "20"}) == 1);
  BOOST_TEST(!fs::exists(directory / "no"));
  const BranchPoint point = open_branch(at("15st"));
  BOOST_CHECK_EXCEPTION(steps_done(point, {100, 20, 5, 10}), Error,
                        test::says("--branch: an epoch has 5 steps here and 10 in", "after 1.5 epochs"));
  BOOST_CHECK_EXCEPTION(steps_done(point, {100, 10, 10, 12}), Error,
                        test::says("15 steps are done already, of which the flags given ask for 12"));
  BOOST_TEST(steps_done(point, {100, 10, 10, 15}) == 15);
}

// Epochs of 10 steps and, from step 10 on, of 5. Step 13 is in the middle of an epoch, which only a plan with the same
// steps up to there may go on with.
BOOST_AUTO_TEST_CASE(minibatches_that_grow_are_counted_as_they_grew) {
  const MinibatchPhase grown{.begin_step = 10, .begin_epoch = 1, .minibatch = 20, .steps_per_epoch = 5};
  BranchPoint point;
  point.plan = {100, 10, 10, 100, {grown}};
  point.checkpoint.step = 13;
  RunPlan other = point.plan;
  BOOST_TEST(steps_done(point, other) == 13);
  other.grown.push_back({.begin_step = 20, .begin_epoch = 3, .minibatch = 50, .steps_per_epoch = 2});
  BOOST_TEST(steps_done(point, other) == 13);
  other.grown[0].rest_steps = 2, other.grown[0].begin_sample = 60;
  BOOST_CHECK_THROW(steps_done(point, other), Error);
  other.grown = {grown};
  other.grown[0].begin_step = 5;
  BOOST_CHECK_THROW(steps_done(point, other), Error);
  point.checkpoint.step = 10;
  BOOST_TEST(steps_done(point, {100, 20, 5, 100}) == 5);
  BOOST_TEST(steps_done(point, {100, 10, 10, 100}) == 10);  // the growth comes behind
  const fs::path grew = directory / "grew";
  BOOST_REQUIRE(run(grew, {"--minibatch-schedule", "1ep:x2", "--save-every", "3", "--keep", "9"}) == 0);
  for (const auto& [when, step] : {std::pair("0.6ep", 6), {"1.4ep", 12}, {"2ep", 15}})
    BOOST_TEST(open_branch(grew.string() + "@" + when).checkpoint.step == step);
}

// The flags of a run that end it early, and its first weights, are not those of a branch.
BOOST_AUTO_TEST_CASE(what_ended_a_run_does_not_end_its_branch) {
  const fs::path short_run = directory / "a@b";
  BOOST_REQUIRE(run(short_run, {"--stop-at", "5st", "--target", "loss=100", "--init", source.string()}) == 0);
  const std::optional<RunConfig> config =
      parse_with_origin(test::small_recipe(), "small", {"--branch", short_run.string() + "@last"});
  BOOST_TEST(config->length.stop_at.text() == "");
  BOOST_TEST(!config->length.target);
  BOOST_TEST(config->resume.init == "");
  BOOST_TEST(open_branch(short_run.string() + "@last").checkpoint.step > 0);
  Json manifest = Json::parse(test::read_file(short_run / "manifest.json"));
  manifest["steps_per_epoch"] = 0;
  test::write_file(short_run / "manifest.json", manifest.dump());
  BOOST_CHECK_EXCEPTION(open_branch(short_run.string() + "@last"), Error,
                        test::says("--branch: expected steps_per_epoch >= 1 in the manifest of"));
}

BOOST_AUTO_TEST_CASE(what_is_not_kept_is_refused_with_what_is) {
  BOOST_CHECK_EXCEPTION(open_branch(at("7st")), Error,
                        test::says("has no checkpoint after 7st = 7 steps",
                                   "kept: 20st (2ep), 15st (1.5ep), 10st (1ep), 5st (0.5ep), best", "--keep N"));
  for (const std::string wrong : {"7", "", "never", "1e", "-1ep"})
    BOOST_CHECK_EXCEPTION(open_branch(at(wrong)), Error, test::says("RUN@20ep, RUN@500st, RUN@best or RUN@last"));
  BOOST_CHECK_EXCEPTION(open_branch("@best"), Error, test::says("RUN@20ep"));
  BOOST_CHECK_EXCEPTION(open_branch((directory / "none").string() + "@best"), Error,
                        test::says("--branch: there is no"));
  BOOST_TEST(branch("a", "1ep", {"--optimizer", "adam"}) == 1);  // adam has other state
  BOOST_TEST(branch("a", "1ep", {"--init", source.string()}) == 2);
  BOOST_TEST(branch("a", "1ep", {"--config", source.string()}) == 2);
  Recipe other = test::small_recipe();
  other.name = "other";
  BOOST_TEST(run(directory / "a", {"--branch", at("1ep")}, other) == 1);
  test::write_file(source / "checkpoints" / "step-00000010.safetensors", "half of one");
  BOOST_TEST(branch("a", "1ep") == 1);
  BOOST_TEST(!fs::exists(directory / "a"));
}

BOOST_AUTO_TEST_CASE(flags_come_from_a_manifest) {
  BOOST_REQUIRE(run(directory / "same", {"--config", (source / "manifest.json").string()}) == 0);
  BOOST_TEST(state_sha256(directory / "same") == state_sha256(source));
  BOOST_REQUIRE(run(directory / "seed", {"--config", source.string(), "--seed", "4"}) == 0);
  BOOST_TEST(manifest_of("seed").at("flags").at("schedule") == "cosine");
  BOOST_TEST(manifest_of("seed").at("flags").at("seed") == 4);
  BOOST_TEST(!test::contains(manifest_of("seed").at("command").get<std::string>(), "--config"));
  const fs::path file = directory / "flags.json";
  test::write_file(
      file,
      R"({"recipe": "small", "flags": {"schedule": "cosine", "seed": 3, "train-metrics": true, "keep-going": false}})");
  BOOST_REQUIRE(run(directory / "file", {"--config", file.string()}) == 0);
  BOOST_TEST(state_sha256(directory / "file") == state_sha256(source));
  BOOST_TEST(manifest_of("file").at("flags").at("train-metrics") == true);
}

BOOST_AUTO_TEST_CASE(a_wrong_manifest_is_refused_by_name) {
  const fs::path file = directory / "flags.json";
  const auto refused = [&](const std::string& text, const std::string& why) {
    test::write_file(file, text);
    BOOST_CHECK_EXCEPTION(parse_with_origin(test::small_recipe(), "small", {"--config", file.string()}), Error,
                          test::says("--config", why));
  };
  refused(R"({"recipe": "lenet_mnist", "flags": {}})", "expected a manifest of small, got one of lenet_mnist");
  refused(R"({"recipe": "small", "flags": {"seeds": 3}})", "'--seeds' is none of the flags");
  refused(R"({"recipe": "small", "flags": {"out": "x"}})", "'--out' is none of the flags");
  refused(R"({"recipe": "small", "flags": {"seed": "x"}})", "--seed");
  refused(R"({"recipe": "small")", file.string());
  BOOST_CHECK_EXCEPTION(
      parse_with_origin(test::small_recipe(), "small", {"--config", (directory / "none.json").string()}), Error,
      test::says("--config: there is no", "none.json"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::branch_test
