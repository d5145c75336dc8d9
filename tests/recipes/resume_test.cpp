// A run that was stopped after any step goes on to the same bits, in the same folder; what does not belong to it is
// refused with the difference.
#include "recipes/run/resume.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <regex>

#include "recipes/run/recorded_flags.h"
#include "recipes/run/trainer.h"
#include "recipes/train/metrics_cut.h"
#include "runtime/atomic_file.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::lines_of, test::run, test::small_recipe, test::state_sha256, test::trace;

// Builds another net than small_recipe()'s; other_recipe() has it with the same name and flags.
ModelOutput other_model(Batch& batch) {
  Tensor x = relu(batch_norm("bn", conv2d("conv", batch.images, 8, {.kernel = 3, .padding = 1})));
  return classification(batch, linear("fc", flatten(max_pool2d(sqrt(x), {.kernel = 2})), batch.classes));
}

Recipe other_recipe() {
  Recipe recipe = small_recipe();
  recipe.model = other_model;
  return recipe;
}

std::string checkpoint_name(int64_t step) { return fmt::format("step-{:08}.safetensors", step); }

fs::path checkpoint_of(const fs::path& out, int64_t step) { return out / "checkpoints" / checkpoint_name(step); }

void flip_bit(const fs::path& path) {
  std::string bytes = test::read_file(path);
  bytes[bytes.size() / 2] ^= 4;
  test::write_file(path, bytes);
}

// Returns the message of the error that opening the run throws.
std::string complaint(const fs::path& out, std::vector<std::string> words = {}, const Recipe& recipe = small_recipe()) {
  words.insert(words.begin(), {"--resume", out.string()});
  try {
    open_resumed(recipe, *parse_flags(recipe, "small", words), words);
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path whole = directory / "whole", out = directory / "run";

  // A run of 20 steps with a checkpoint after each.
  void train(std::vector<std::string> words = {}) const {
    words.insert(words.end(), {"--save-every", "1", "--keep", "100"});
    BOOST_REQUIRE(run(whole, words) == 0);
  }
  // As it was when the process died after `step` steps, or in the middle of the next save.
  void die_after(int64_t step) const {
    fs::remove_all(out);
    fs::copy(whole, out, fs::copy_options::recursive);
    for (const fs::path& path : list_checkpoints(out / "checkpoints"))
      if (path.filename() > checkpoint_name(step)) fs::remove(path);
    test::write_file(out / "checkpoints" / (checkpoint_name(step + 1) + ".77.0.tmp"), "half of one");
    std::string text = test::read_file(out / "metrics.jsonl");
    test::write_file(out / "metrics.jsonl", text.substr(0, text.size() - 20));  // a torn end
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume, Fixture)

BOOST_AUTO_TEST_CASE(after_any_step_to_the_same_bits) {
  train();
  for (int64_t step = 0; step < 20; ++step) {
    die_after(step);
    BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
    if (trace(out) != trace(whole)) BOOST_ERROR("resumed after step " << step << ":\n" << trace(out));
    BOOST_TEST(state_sha256(out) == state_sha256(whole));
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out))
      BOOST_TEST(entry.path().extension() != ".tmp");
  }
  const Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("resumed").size() == 1u);
  BOOST_TEST(manifest.at("resumed")[0].at("step") == 19);
  BOOST_TEST(!manifest.at("resumed")[0].contains("versions"));
}

// Also where the evaluation that the checkpoint was made at is not among the metrics, and is done again.
BOOST_AUTO_TEST_CASE(statistics_estimated_anew_stay_the_same) {
  train({"--recompute-bn", "4"});
  for (const int64_t step : {4, 10, 13, 19}) {
    die_after(step);
    std::string kept;
    for (const Json& line : lines_of(whole))
      if (line.at("kind") == "step" || line.at("kind") == "epoch") kept += line.dump() + "\n";
    test::write_file(out / "metrics.jsonl", kept);
    BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
    BOOST_TEST(state_sha256(out) == state_sha256(whole));
    for (const fs::path& path : list_checkpoints(out / "checkpoints"))
      BOOST_TEST(test::read_file(path) == test::read_file(whole / "checkpoints" / path.filename()), path);
    if (step == 10) BOOST_TEST(trace(out) == trace(whole));
  }
  BOOST_TEST(contains(complaint(out, {"--recompute-bn", "0"}), "- --recompute-bn 4   the run has"));
}

BOOST_AUTO_TEST_CASE(means_of_training_metrics_go_on) {
  train({"--train-metrics"});
  for (const Json& line : lines_of(whole)) {
    if (line.at("kind") == "step") BOOST_TEST((line.at("error") >= 0.0 && line.at("error") <= 1.0));
    if (line.at("kind") == "eval") BOOST_TEST((line.at("train_error") > 0.0 && line.at("train_loss") > 0.0));
  }
  for (const int64_t step : {0, 3, 5, 13}) {
    die_after(step);
    BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
    BOOST_TEST(trace(out) == trace(whole));
  }
}

BOOST_AUTO_TEST_CASE(again_and_again) {
  train();
  die_after(3);
  for (int64_t step : {7, 8, 15}) {
    BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
    for (const fs::path& path : list_checkpoints(out / "checkpoints"))
      if (path.filename() > checkpoint_name(step)) fs::remove(path);
    test::write_file(out / "metrics.jsonl", test::read_file(out / "metrics.jsonl") + "{\"kind\":\"st");
  }
  BOOST_REQUIRE(run({"--resume", out.string(), "--checkpoint", checkpoint_name(15), "--threads", "1"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  BOOST_TEST(Json::parse(test::read_file(out / "manifest.json")).at("resumed").size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_run_that_ended_is_left_alone) {
  train();
  const std::string before = test::read_file(whole / "manifest.json");
  BOOST_TEST(run({"--resume", whole.string()}) == 0);
  BOOST_TEST(test::read_file(whole / "manifest.json") == before);
  BOOST_TEST(
      !open_resumed(small_recipe(), *parse_flags(small_recipe(), "", {"--resume", whole.string()}), {}).ended.empty());
}

// It died behind the last line of its metrics, while it drew its curves.
BOOST_AUTO_TEST_CASE(a_run_without_an_end_in_its_manifest_ends_once_more) {
  train();
  fs::copy(whole, out, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  const Json result = manifest.at("result");
  manifest.erase("ended");
  manifest.erase("result");
  test::write_file(out / "manifest.json", manifest.dump());
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  const Json again = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(again.at("ended").at("how") == "finished");
  BOOST_TEST(again.at("result") == result);
  BOOST_TEST(trace(out) == trace(whole));
}

BOOST_AUTO_TEST_CASE(flags_that_change_what_is_computed_are_refused) {
  train();
  die_after(8);
  const std::string said = complaint(out, {"--lr", "0.2", "--seed", "1", "--shards", "7"});
  BOOST_TEST(contains(said,
                      "cannot go on with flags that change what is computed\n- --lr 0.1   the run has\n"
                      "+ --lr 0.2   given beside --resume\n- --shards "));
  BOOST_TEST(contains(said, "--init "));
  BOOST_TEST(!contains(said, "--seed"));
  BOOST_TEST(complaint(out, {"--out", "x"}) == "--resume goes on in " + out.string() + "; there is no --out beside it");
  BOOST_TEST(run({"--resume", out.string(), "--minibatch", "5"}) == 1);
  BOOST_TEST(run({"--resume", out.string(), "--threads", "1", "--keep", "1", "--save-every", "3"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  BOOST_TEST(list_checkpoints(out / "checkpoints").size() == 1u);
}

// A group of batch norm may be named anew where it is the run's.
BOOST_AUTO_TEST_CASE(a_group_of_batch_norm_stays) {
  train({"--batch-norm", "ghost(5)"});
  die_after(8);
  BOOST_TEST(contains(complaint(out, {"--batch-norm", "ghost(1)"}),
                      "- --per-worker 5   the run has\n+ --per-worker 1   given beside --resume"));
  BOOST_TEST(complaint(out, {"--batch-norm", "ghost(2)"}).starts_with("--batch-norm: expected ghost(M), M a divisor"));
  BOOST_TEST(run({"--resume", out.string(), "--batch-norm", "ghost(5)"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
}

BOOST_AUTO_TEST_CASE(a_run_grows_longer_where_its_steps_would_have_been_the_same) {
  const fs::path longer = directory / "longer";
  BOOST_REQUIRE(run(longer, {"--schedule", "constant", "--epochs", "3"}) == 0);
  BOOST_REQUIRE(run(out, {"--schedule", "constant"}) == 0);
  BOOST_REQUIRE(run({"--resume", out.string(), "--epochs", "3"}) == 0);
  BOOST_TEST(trace(out) == trace(longer));
  BOOST_TEST(Json::parse(test::read_file(out / "manifest.json")).at("flags").at("epochs") == 3);
  BOOST_TEST(run({"--resume", out.string()}) == 0);
  BOOST_TEST(run({"--resume", out.string(), "--epochs", "1"}) == 1);  // shorter than what is done
  train();
  BOOST_TEST(run({"--resume", whole.string(), "--epochs", "3"}) == 1);  // cosine
}

BOOST_AUTO_TEST_CASE(a_damaged_checkpoint_names_the_one_before_it) {
  train();
  die_after(9);
  flip_bit(checkpoint_of(out, 9));
  fs::resize_file(checkpoint_of(out, 8), 1000);
  const std::string said = complaint(out);
  BOOST_TEST(contains(said, checkpoint_name(9) + ": this checkpoint cannot be used: its "));
  BOOST_TEST(contains(said, "is whole, of step 7: --checkpoint " + checkpoint_name(7)), said);
  BOOST_TEST(run({"--resume", out.string()}) == 1);
  BOOST_TEST(run({"--resume", out.string(), "--checkpoint", checkpoint_name(7), "--save-every", "100"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  const std::string unknown = complaint(out, {"--checkpoint", "step-9"});
  BOOST_TEST(contains(unknown, "--checkpoint: there is no step-9; in "), unknown);
}

// Version 1 of the checkpoints built cross-entropy, and so every graph, otherwise.
BOOST_AUTO_TEST_CASE(an_earlier_checkpoint_is_judged_by_all_but_its_graph) {
  train();
  die_after(9);
  Checkpoint earlier = read_checkpoint(checkpoint_of(out, 9));
  const std::map<std::string, std::string> facts = earlier.metadata;
  earlier.metadata["graph_hash"] = "another";
  BOOST_CHECK_THROW(check_belongs(small_recipe(), earlier, facts), Error);
  BOOST_TEST(!has_earlier_graph(earlier));
  earlier.metadata["kilobatch_checkpoint"] = "1";
  BOOST_TEST(has_earlier_graph(earlier));
  BOOST_CHECK_NO_THROW(check_belongs(small_recipe(), earlier, facts));
  std::map<std::string, std::string> later = facts;
  later["flags"] += "--added-since \n";
  BOOST_CHECK_NO_THROW(check_belongs(small_recipe(), earlier, later));
  earlier.metadata["flags"] += "--lr 7\n";
  BOOST_CHECK_THROW(check_belongs(small_recipe(), earlier, facts), Error);
}

// A flag that came later counts as given by its default; --lr was the rate of the base minibatch where there was one.
BOOST_AUTO_TEST_CASE(an_earlier_checkpoint_has_the_flags_of_its_time) {
  train({"--base-lr", "0.1", "--base-minibatch", "5"});
  const Checkpoint own = read_checkpoint(checkpoint_of(whole, 20));
  const auto without = [&](const std::string& line, const std::string& instead) {
    Checkpoint earlier = own;
    std::string& flags = earlier.metadata["flags"];
    BOOST_REQUIRE(flags.find(line) != std::string::npos);
    flags.replace(flags.find(line), line.size(), instead);
    return earlier;
  };
  const auto belongs = [&](const Checkpoint& earlier) {
    try {
      check_belongs(small_recipe(), earlier, own.metadata);
    } catch (const Error& error) {
      BOOST_TEST_MESSAGE(error.what());
      return false;
    }
    return true;
  };
  BOOST_TEST(belongs(own));
  BOOST_TEST(belongs(without("--no-decay bias,norm_scale,norm_shift\n", "")));
  BOOST_TEST(belongs(without("--clip-norm 0\n", "")));
  BOOST_TEST(!belongs(without("--clip-norm 0\n", "--clip-norm 1\n")));
  BOOST_TEST(!belongs(without("--base-minibatch 5\n", "")));  // this run's is not the default
  BOOST_TEST(belongs(without("--lr \n--base-lr 0.1\n", "--lr 0.1\n")));
  BOOST_TEST(!belongs(without("--lr \n--base-lr 0.1\n", "--lr 0.2\n")));
}

// The manifest of an earlier Kilobatch, likewise.
BOOST_AUTO_TEST_CASE(an_earlier_manifest_has_lr_for_the_base) {
  const Recipe recipe = small_recipe();
  const RunConfig base = recorded_config(recipe, {"--lr", "0.2", "--base-minibatch", "5"});
  BOOST_TEST(base.lr == 0.2);
  BOOST_TEST(base.base_minibatch == 5);
  const RunConfig own = recorded_config(recipe, {"--lr", "0.2", "--base-minibatch", "0"});
  BOOST_TEST(own.base_minibatch == 0);
  BOOST_TEST((recorded_config(recipe, flag_words(recipe, base)).base_minibatch == 5));
}

// The first of the words is what the recipe was before.
BOOST_AUTO_TEST_CASE(a_run_goes_on_where_the_recipe_has_a_new_word_since) {
  train();
  die_after(9);
  Recipe later = test::small_recipe();
  later.options.push_back(word_option("since", {"as-before", "otherwise"}, "how"));
  BOOST_TEST(run({"--resume", out.string(), "--since", "otherwise"}, later) == 1);
  BOOST_TEST(run({"--resume", out.string()}, later) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  const fs::path other = directory / "other";
  BOOST_REQUIRE(run(other, {"--since", "otherwise", "--keep", "9"}, later) == 0);
  BOOST_CHECK_THROW(
      check_belongs(later, read_checkpoint(checkpoint_of(other, 10)), read_checkpoint(checkpoint_of(out, 9)).metadata),
      Error);
}

BOOST_AUTO_TEST_CASE(a_foreign_checkpoint_is_refused_with_the_difference) {
  train();
  die_after(9);
  const fs::path other = directory / "other";
  BOOST_REQUIRE(run(other, {"--lr", "0.3", "--keep", "9"}) == 0);
  const Checkpoint config = read_checkpoint(checkpoint_of(other, 10));
  const Checkpoint own = read_checkpoint(checkpoint_of(out, 9));
  std::string said;
  try {
    check_belongs(small_recipe(), config, own.metadata);
  } catch (const Error& error) {
    said = error.what();
  }
  BOOST_TEST(contains(said,
                      ": this checkpoint is of another run: flags differs (- the checkpoint, + this run)\n"
                      "- --lr 0.3\n+ --lr 0.1"),
             said);
  BOOST_REQUIRE(run(directory / "net", {}, other_recipe()) == 0);
  try {
    check_belongs(small_recipe(), read_checkpoint(checkpoint_of(directory / "net", 20)), own.metadata);
  } catch (const Error& error) {
    said = error.what();
  }
  BOOST_TEST(contains(said, "graph differs"), said);
  BOOST_TEST(contains(said, "\n-   %"), said);
  BOOST_TEST(contains(said, " = sqrt %"), said);
  BOOST_TEST(std::count(said.begin(), said.end(), '\n') <= 6, said);
  BOOST_TEST(run({"--resume", out.string()}, other_recipe()) == 1);
  const std::string before = test::read_file(out / "metrics.jsonl");
  BOOST_TEST(run({"--resume", out.string(), "--checkpoint", checkpoint_of(other, 10).string()}) == 1);
  BOOST_TEST(test::read_file(out / "metrics.jsonl") == before);
}

BOOST_AUTO_TEST_CASE(folders_that_cannot_be_resumed) {
  BOOST_TEST(complaint(directory / "none") == "--resume: there is no run folder " + (directory / "none").string());
  fs::create_directory(directory / "empty");
  BOOST_TEST(contains(complaint(directory / "empty"), "holds no run: there is no manifest.json"));
  BOOST_REQUIRE(run(out, {"--steps", "1"}) == 0);
  Recipe renamed = small_recipe();
  renamed.name = "large";
  BOOST_TEST(contains(complaint(out, {}, renamed), " is a run of small, not of large\n  hint: ./run small --resume "));
  const RunFolder held = RunFolder::open(out.string());
  BOOST_TEST(contains(complaint(out), "is in use: another process trains in it"));
  BOOST_TEST(run({"--checkpoint", "x"}) == 2);
}

// Each of these crashed, hung, wrote a file or was an internal error.
BOOST_AUTO_TEST_CASE(a_doctored_manifest_is_refused_by_name) {
  BOOST_REQUIRE(run(out, {"--steps", "1"}) == 0);
  const fs::path manifest = out / "manifest.json", trace = directory / "trace.json";
  const Json good = Json::parse(test::read_file(manifest));
  const auto says = [&](const std::string& text, const std::string& part) {
    test::write_file(manifest, text);
    const std::string said = complaint(out);
    BOOST_TEST(contains(said, part), said);
    BOOST_TEST(test::read_file(manifest) == text);
  };
  const auto with = [&](const std::string& key, const Json& value) {
    Json changed = good;
    changed[key] = value;
    return changed.dump();
  };
  const std::string none_of = " is none of the flags that say what is computed";
  for (const char* word : {"--help", "-h", "--trace", "--picture", "--out", "--resume", "--dump", "--net", "--quiet",
                           "", "--", "x", "--lr=0.1", "--no-such-flag"})
    says(with("arguments", {word, trace.string()}), std::string("'") + word + "'" + none_of);
  BOOST_TEST(!fs::exists(trace));
  says(with("arguments", {"--lr"}), "--lr lacks its value");
  says(with("arguments", {"--lr", "0.1", "--lr", "0.2"}), "--lr is given twice");
  says(with("arguments", {"--lr", "fast"}), "--lr: expected a number >= 0, got 'fast'");
  says(with("arguments", {"--lr", 1}), "manifest.json: line 1, \"arguments.1\"\n  expected: a text\n  got:      1");
  says(with("arguments", "--lr"), "\"arguments\"\n  expected: an array\n  got:      \"--lr\"");
  says(with("recipe", 3), "\"recipe\"\n  expected: a text\n  got:      3");
  says(with("steps", "1"), "\"steps\"\n  expected: a whole number within 64 bits");
  says("[1]", "manifest.json: line 1\n  expected: an object with \"recipe\"\n  got:      [1]");
  says(std::string(100'000, '['), "expected: at most 64 arrays and objects inside of each other");
  says("{\"steps\":1e999}", "number overflow");
  fs::remove(manifest);
  BOOST_REQUIRE(::mkfifo(manifest.c_str(), 0600) == 0);
  BOOST_TEST(contains(complaint(out), "expected a file, got a FIFO"));
}

BOOST_AUTO_TEST_CASE(damaged_versions_are_named) {
  train();
  for (const auto& [key, value] : {std::pair<std::string, Json>{"versions", 3}, {"resumed", "never"}, {"started", 7}}) {
    die_after(9);
    Json manifest = Json::parse(test::read_file(out / "manifest.json"));
    manifest[key] = value;
    test::write_file(out / "manifest.json", manifest.dump());
    BOOST_TEST(run({"--resume", out.string()}) == 1);
    BOOST_TEST(test::read_file(out / "manifest.json") == manifest.dump());
  }
}

BOOST_AUTO_TEST_CASE(the_manifest_repeats_the_run_and_fixes_its_shards) {
  BOOST_REQUIRE(run(out, {"--shards", "3", "--quiet"}) == 0);
  const Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("flags").at("shards") == 3);
  const auto commit = manifest.at("versions").at("commit").get<std::string>();
  BOOST_TEST(std::regex_match(commit, std::regex("unknown|[0-9a-f]{12}([+]changes)?")), commit);
  BOOST_REQUIRE(run(directory / "again", manifest.at("arguments").get<std::vector<std::string>>()) == 0);
  BOOST_TEST(trace(directory / "again") == trace(out));
  train();
  BOOST_TEST(Json::parse(test::read_file(whole / "manifest.json")).at("flags").at("shards") != 0);
}

BOOST_AUTO_TEST_CASE(a_machine_that_is_another_is_noted) {
  train();
  die_after(9);
  Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  for (const char* key : {"processor", "library"}) {
    BOOST_TEST(manifest.at("versions").contains(key));
    manifest["versions"][key] = "another";
  }
  test::write_file(out / "manifest.json", manifest.dump());
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  manifest = Json::parse(test::read_file(out / "manifest.json"));
  for (const char* key : {"processor", "library"}) {
    BOOST_TEST(manifest.at("versions").at(key) == "another");
    BOOST_TEST(manifest.at("resumed")[0].at("versions").contains(key));
  }
}

BOOST_AUTO_TEST_CASE(a_dry_run_changes_nothing) {
  train();
  die_after(9);
  const std::string before = test::read_file(out / "metrics.jsonl"), manifest = test::read_file(out / "manifest.json");
  BOOST_REQUIRE(run({"--resume", out.string(), "--dry-run"}) == 0);
  BOOST_TEST(test::read_file(out / "metrics.jsonl") == before);
  BOOST_TEST(test::read_file(out / "manifest.json") == manifest);
}

std::string step_line(int64_t step) {
  return fmt::format("{{\"kind\":\"step\",\"step\":{},\"loss\":{}}}\n", step, step + 1);
}

std::string step_lines(int64_t begin, int64_t end) {
  std::string text;
  for (int64_t step = begin; step < end; ++step) text += step_line(step);
  return text;
}

// Whatever became of line 5, a checkpoint of step 60 keeps the 60 lines before it and the damaged one as it is.
BOOST_AUTO_TEST_CASE(a_damaged_line_of_the_metrics_cuts_nothing_off) {
  const fs::path file = directory / "m";
  const std::string before = step_lines(0, 4), after = step_lines(5, 60), past = step_lines(60, 65);
  for (const std::string& damaged :
       {std::string("{\"kind\":\"step\",\"st\n"), std::string(40, '\0') + "\n", std::string("\n"), std::string("7\n"),
        std::string("{\"kind\":7,\"step\":4}\n"), std::string("{\"kind\":\"step\",\"step\":\"4\"}\n"),
        std::string("{\"kind\":\"step\",\"step\":1e999}\n"), step_line(99), step_line(0), step_line(-4)}) {
    test::write_file(file, before + damaged + after + past);
    fs::remove(directory / kCutMetrics);
    const MetricsCut cut = cut_metrics(file, {{{"error"}}}, 60, false, 0);
    BOOST_TEST(test::read_file(file) == before + damaged + after, damaged);
    BOOST_TEST(cut.dropped == 5, damaged);
    BOOST_TEST(cut.damaged == std::vector<int64_t>{5}, damaged);
    BOOST_TEST(cut.last_step == 59, damaged);
    BOOST_TEST(cut.sums.steps == 59, damaged);
    BOOST_TEST(cut.sums.loss == 60 * 61 / 2 - 5, damaged);
    BOOST_TEST(cut.losses.at(0) == 1.0, damaged);
    BOOST_TEST(cut.losses.size() == 60u, damaged);
    BOOST_TEST(std::isnan(cut.losses.at(4)), damaged);
    BOOST_TEST(test::read_file(directory / kCutMetrics) == "{\"kind\":\"cut\",\"step\":60}\n" + past, damaged);
  }
}

BOOST_AUTO_TEST_CASE(what_resumes_cut_off_is_kept) {
  train();
  const std::string metrics = test::read_file(whole / "metrics.jsonl");
  die_after(15);
  const std::string torn = test::read_file(out / "metrics.jsonl");
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  const std::string cut = test::read_file(out / kCutMetrics), head = "{\"kind\":\"cut\",\"step\":15}\n";
  BOOST_TEST(cut.starts_with(head));
  const std::string kept = torn.substr(0, torn.find("{\"kind\":\"step\",\"step\":15,"));
  BOOST_TEST(cut == head + torn.substr(kept.size()) + "\n");
  BOOST_TEST(test::read_file(out / "metrics.jsonl").starts_with(kept));
}

// A metric that was not finite in one step makes their mean NaN, as in a run that was never stopped.
BOOST_AUTO_TEST_CASE(a_metric_that_was_not_finite_stays_so) {
  const fs::path file = directory / "m";
  test::write_file(file,
                   "{\"kind\":\"step\",\"step\":0,\"loss\":2,\"error\":0.5,\"rms\":3,\"rms_mean\":9}\n"
                   "{\"kind\":\"step\",\"step\":1,\"loss\":1,\"error\":null,\"rms\":4,\"rms_mean\":16}\n");
  const ComputedMetrics metrics{{}, {{"error"}, {"rms", {.finish = std::sqrt}}}};
  const StepSums sums = cut_metrics(file, metrics, 2, false, 0).sums;
  BOOST_REQUIRE(sums.metrics.size() == 2u);
  BOOST_TEST(std::isnan(sums.metrics[0]));
  BOOST_TEST(sums.metrics[1] == 25.0);
}

// A figure that was not finite is never the best, and does not keep a later one from being it.
BOOST_AUTO_TEST_CASE(an_evaluation_that_was_not_finite_is_not_the_best) {
  const fs::path file = directory / "m";
  const std::string lines =
      step_line(0) + "{\"kind\":\"eval\",\"step\":1,\"loss\":3,\"error\":null,\"count\":37}\n" + step_line(1);
  const std::string finite = "{\"kind\":\"eval\",\"step\":2,\"loss\":3,\"error\":0.5,\"count\":37}\n";
  test::write_file(file, lines);
  BOOST_TEST(!cut_metrics(file, {{{"error"}}}, 2, true, 0).best);
  test::write_file(file, lines + finite);
  const MetricsCut cut = cut_metrics(file, {{{"error"}}}, 2, true, 0);
  BOOST_REQUIRE(cut.best);
  BOOST_TEST(cut.best->step == 2);
  BOOST_TEST(cut.best->evaluation.figures.at(0).value == 0.5);
}

BOOST_AUTO_TEST_CASE(metrics_are_cut_at_the_checkpoint) {
  const fs::path file = directory / "m";
  auto cut = [&](const std::string& text, int64_t step, bool due) {
    test::write_file(file, text);
    return cut_metrics(file, {{{"error"}}}, step, due, 0);
  };
  const std::string steps = "{\"kind\":\"step\",\"step\":0,\"loss\":2}\n{\"kind\":\"step\",\"step\":1,\"loss\":1}\n";
  const std::string eval = "{\"kind\":\"eval\",\"loss\":3,\"error\":0.5,\"count\":37}\n";
  const std::string end = "{\"kind\":\"end\",\"steps\":2}\n";
  MetricsCut result = cut(steps + eval + end, 2, true);
  BOOST_TEST(test::read_file(file) == steps + eval);
  BOOST_TEST(result.dropped == 1);
  BOOST_TEST(result.evaluation->count == 37);
  BOOST_TEST(result.sums.steps == 0);
  BOOST_TEST(result.last_step == 1);
  result = cut(steps + eval + end, 2, false);  // the evaluation of a Ctrl-C
  BOOST_TEST(test::read_file(file) == steps);
  BOOST_TEST(!result.evaluation);
  BOOST_TEST(result.sums.loss == 3.0);
  BOOST_TEST(result.sums.steps == 2);
  result = cut(steps + eval, 1, false);
  BOOST_TEST(result.sums.loss == 2.0);
  BOOST_TEST(result.dropped == 2);
  result = cut(steps + "{\"kind\":\"step\",\"st", 9, false);  // torn
  BOOST_TEST(test::read_file(file) == steps);
  BOOST_TEST(result.last_step == 1);
  BOOST_TEST(cut("", 3, false).last_step == -1);
  test::write_file(file, steps + end);
  BOOST_TEST(ended_after(file).value() == 2);
  test::write_file(file, steps + eval);
  BOOST_TEST(!ended_after(file));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
