// Flags, checkpoints and manifests that do not belong to a run are refused when it goes on, with the difference; runs
// of earlier versions go on.
#include "recipes/run/resume.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "recipes/run/recorded_flags.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "tests/recipes/resumed_run.h"
#include "tests/support/says.h"

namespace kb::resume_refusals_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::checkpoint_name, test::checkpoint_of, test::complaint, test::contains, test::run, test::small_recipe,
    test::trace;

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

void flip_bit(const fs::path& path) {
  std::string bytes = test::read_file(path);
  bytes[bytes.size() / 2] ^= 4;
  test::write_file(path, bytes);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume_refusals, test::ResumedRun)

BOOST_AUTO_TEST_CASE(flags_that_change_what_is_computed_are_refused) {
  train();
  die_after(8);
  const std::string said = complaint(out, {"--lr", "0.2", "--seed", "1", "--shards", "7"});
  BOOST_TEST(test::contains(said,
                            "cannot go on with flags that change what is computed\n- --lr 0.1   the run has\n"
                            "+ --lr 0.2   given beside --resume\n- --shards "));
  BOOST_TEST(test::contains(said, "--init "));
  BOOST_TEST(!contains(said, "--seed"));
  BOOST_TEST(complaint(out, {"--out", "x"}) == "--resume goes on in " + out.string() + "; there is no --out beside it");
  BOOST_TEST(run({"--resume", out.string(), "--minibatch", "5"}) == 1);
  BOOST_TEST(run({"--resume", out.string(), "--threads", "1", "--keep", "1", "--save-every", "3"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  BOOST_TEST(list_checkpoints(out / "checkpoints").size() == 1u);
}

// --batch-norm may be given beside --resume if it names the group that the run has.
BOOST_AUTO_TEST_CASE(a_group_of_batch_norm_stays) {
  train({"--batch-norm", "ghost(5)"});
  die_after(8);
  BOOST_TEST(test::contains(complaint(out, {"--batch-norm", "ghost(1)"}),
                            "- --per-worker 5   the run has\n+ --per-worker 1   given beside --resume"));
  BOOST_TEST(
      complaint(out, {"--batch-norm", "ghost(2)"}).starts_with("batch.batch_norm: expected ghost(M), M a divisor"));
  BOOST_TEST(run({"--resume", out.string(), "--batch-norm", "ghost(5)"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  // The command given again has the same group, or the workers that it made; another number of samples is another run.
  const auto again = [&](const char* flag, const char* value) {
    die_after(17);
    return run({"--resume", "auto", "--out", out.string(), flag, value});
  };
  BOOST_TEST(again("--batch-norm", "ghost(5)") == 0);
  BOOST_TEST(trace(out) == trace(whole));
  BOOST_TEST(again("--per-worker", "5") == 0);
  BOOST_TEST(again("--per-worker", "2") == 1);
  BOOST_TEST(again("--checkpoint", "x") == 2);
}

BOOST_AUTO_TEST_CASE(a_damaged_checkpoint_names_the_one_before_it) {
  train();
  die_after(9);
  flip_bit(checkpoint_of(out, 9));
  fs::resize_file(checkpoint_of(out, 8), 1000);
  const std::string said = complaint(out);
  BOOST_TEST(test::contains(said, checkpoint_name(9) + ": this checkpoint cannot be used: its "));
  BOOST_TEST(test::contains(said, "is whole, of step 7: --checkpoint " + checkpoint_name(7)));
  BOOST_TEST(run({"--resume", out.string()}) == 1);
  BOOST_TEST(run({"--resume", out.string(), "--checkpoint", checkpoint_name(7), "--save-every", "100"}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  const std::string unknown = complaint(out, {"--checkpoint", "step-9"});
  BOOST_TEST(test::contains(unknown, "--checkpoint: there is no step-9; in "));
  BOOST_TEST(test::contains(unknown, ", best.safetensors"));
}

// Nobody is there to choose under --resume auto: the run goes on from the newest whole checkpoint, to the same bits,
// and keeps the damaged ones.
BOOST_AUTO_TEST_CASE(resume_auto_passes_over_damaged_checkpoints) {
  const std::vector<std::string> words = {"--out",        out.string(), "--resume", "auto",
                                          "--save-every", "1",          "--keep",   "100"};
  const auto damage = [&] {
    die_after(9);
    flip_bit(checkpoint_of(out, 9));
    fs::resize_file(checkpoint_of(out, 8), 1000);
  };
  train();
  damage();
  const std::string damaged = test::read_file(checkpoint_of(out, 9));
  {
    std::vector<std::string> looked = words;
    looked.push_back("--dry-run");
    const auto opened = [&](RunFolder::Use use) {
      return open_resumed(small_recipe(), *parse_flags(small_recipe(), "small", looked), looked, use);
    };
    const kb::ResumedRun dry = opened(RunFolder::Use::own);
    BOOST_TEST(dry.checkpoint->step == 7);
    BOOST_REQUIRE(dry.notes.size() == 2u);
    BOOST_TEST(test::contains(dry.notes[0], checkpoint_name(9) + ": this checkpoint cannot be used: its "));
    BOOST_TEST(
        test::contains(dry.notes[0], "\n  passed over: without --dry-run it is kept as " + checkpoint_name(9) + "."));
    BOOST_TEST(opened(RunFolder::Use::share).notes.empty());  // one process alone tells
    BOOST_TEST(test::read_file(checkpoint_of(out, 9)) == damaged);
  }
  {
    const kb::ResumedRun opened = open_resumed(small_recipe(), *parse_flags(small_recipe(), "small", words), words);
    BOOST_TEST(opened.checkpoint->step == 7);
    BOOST_REQUIRE(opened.notes.size() == 2u);
    BOOST_TEST(test::contains(opened.notes[0], checkpoint_name(9) + ": this checkpoint cannot be used: its "));
    BOOST_TEST(test::contains(opened.notes[0], "\n  kept as " + checkpoint_name(9) + ".damaged"));
    BOOST_TEST(test::contains(opened.notes[1], "kept as " + checkpoint_name(8) + ".damaged"));
  }
  damage();
  BOOST_TEST(run(words) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  BOOST_TEST(test::read_file(checkpoint_of(out, 9).string() + ".damaged") == damaged);
  BOOST_TEST(read_checkpoint(checkpoint_of(out, 9)).step == 9);
}

BOOST_AUTO_TEST_CASE(resume_auto_leaves_a_run_without_a_whole_checkpoint_as_it_is) {
  const std::vector<std::string> words = {"--out", out.string(), "--resume", "auto"};
  train();
  die_after(1);
  flip_bit(checkpoint_of(out, 1));
  BOOST_CHECK_EXCEPTION(open_resumed(small_recipe(), *parse_flags(small_recipe(), "small", words), words), Error,
                        test::says("no checkpoint of this run is whole"));
  BOOST_TEST(fs::exists(checkpoint_of(out, 1)));
}

// No user can read a folder in a checkpoint's place or a link to itself. Either stands here for a disk that is away for
// a while, so that the checkpoint must not count as damaged.
BOOST_AUTO_TEST_CASE(resume_auto_leaves_a_checkpoint_that_cannot_be_read) {
  const std::vector<std::string> words = {"--out",        out.string(), "--resume", "auto",
                                          "--save-every", "1",          "--keep",   "100"};
  const auto check_told = [&](const fs::path& unread, const char* why) {
    BOOST_CHECK_EXCEPTION(open_resumed(small_recipe(), *parse_flags(small_recipe(), "small", words), words), FileError,
                          test::says("cannot read " + unread.string() + ": " + why));
    for (const int64_t step : {8, 9}) {
      BOOST_TEST(is_there(checkpoint_of(out, step)));
      BOOST_TEST(!is_there(checkpoint_of(out, step).string() + ".damaged"));
    }
  };
  train();
  for (const int64_t step : {9, 8}) {
    die_after(9);
    if (step == 8) flip_bit(checkpoint_of(out, 9));
    const fs::path unread = checkpoint_of(out, step), whole_one = directory / "away";
    fs::rename(unread, whole_one);
    fs::create_directory(unread);
    check_told(unread, "expected a file, got a folder");
    fs::remove(unread);
    fs::create_symlink(unread.filename(), unread);
    check_told(unread, "Too many levels of symbolic links");
    fs::remove(unread);
    fs::rename(whole_one, unread);
    BOOST_TEST(run(words) == 0);
    BOOST_TEST(trace(out) == trace(whole));
    BOOST_TEST(is_there(checkpoint_of(out, 9).string() + ".damaged") == (step == 8));
  }
}

// In the time of checkpoints of version 1 cross-entropy, and so every graph, was built otherwise.
BOOST_AUTO_TEST_CASE(an_earlier_checkpoint_is_judged_by_all_but_its_graph) {
  train();
  die_after(9);
  Checkpoint earlier = read_checkpoint(checkpoint_of(out, 9));
  const std::map<std::string, std::string> facts = earlier.metadata;
  earlier.metadata["graph_hash"] = "another";
  BOOST_CHECK_THROW(check_belongs(small_recipe(), earlier, facts), Error);
  BOOST_TEST(!has_earlier_graph(earlier));
  for (const char* key : {"data", "recipe", "kilobatch_checkpoint"}) {
    Checkpoint other = earlier;
    other.metadata = facts;
    BOOST_CHECK_NO_THROW(check_belongs(small_recipe(), other, facts));
    other.metadata.at(key) += "2";
    BOOST_CHECK_EXCEPTION(check_belongs(small_recipe(), other, facts), Error, test::says(key, " differs"));
  }
  earlier.metadata["kilobatch_checkpoint"] = "1";
  BOOST_TEST(has_earlier_graph(earlier));
  BOOST_CHECK_NO_THROW(check_belongs(small_recipe(), earlier, facts));
  std::map<std::string, std::string> later = facts;
  later["flags"] += "--added-since \n";
  BOOST_CHECK_NO_THROW(check_belongs(small_recipe(), earlier, later));
  const std::string no_base = "--base-lr \n";
  BOOST_REQUIRE(test::contains(earlier.metadata["flags"], no_base));
  earlier.metadata["flags"].erase(earlier.metadata["flags"].find(no_base), no_base.size());
  BOOST_CHECK_NO_THROW(check_belongs(small_recipe(), earlier, facts));  // --base-minibatch 0 is none
  earlier.metadata["flags"] += "--lr 7\n";
  BOOST_CHECK_THROW(check_belongs(small_recipe(), earlier, facts), Error);
}

// A flag that came later counts as given by its default; --lr was the rate of the base minibatch if there was one.
BOOST_AUTO_TEST_CASE(an_earlier_checkpoint_has_the_flags_of_its_time) {
  train({"--base-lr", "0.1", "--base-minibatch", "5"});
  const Checkpoint own = read_checkpoint(checkpoint_of(whole, 20));
  const auto without = [&](const std::string& line, const std::string& instead) {
    Checkpoint earlier = own;
    std::string& flags = earlier.metadata["flags"];
    BOOST_REQUIRE(test::contains(flags, line));
    flags.replace(flags.find(line), line.size(), instead);
    return earlier;
  };
  const auto belongs = [&](const Checkpoint& earlier) {
    return test::error_of([&] { check_belongs(small_recipe(), earlier, own.metadata); }) == "(nothing thrown)";
  };
  BOOST_TEST(belongs(own));
  BOOST_TEST(belongs(without("--no-decay bias,norm_scale,norm_shift\n", "")));
  BOOST_TEST(belongs(without("--clip-norm 0\n", "")));
  BOOST_TEST(!belongs(without("--clip-norm 0\n", "--clip-norm 1\n")));
  BOOST_TEST(!belongs(without("--base-minibatch 5\n", "")));  // this run's base minibatch is not the default
  BOOST_TEST(belongs(without("--lr \n--base-lr 0.1\n", "--lr 0.1\n")));
  BOOST_TEST(!belongs(without("--lr \n--base-lr 0.1\n", "--lr 0.2\n")));
}

// In the manifest of an earlier Kilobatch, too, --lr is the rate of the base minibatch.
BOOST_AUTO_TEST_CASE(an_earlier_manifest_has_lr_for_the_base) {
  const Recipe recipe = small_recipe();
  const RunConfig base = recorded_config(recipe, {"--lr", "0.2", "--base-minibatch", "5"});
  BOOST_TEST(base.learning.lr == 0.2);
  BOOST_TEST(base.learning.base_minibatch == 5);
  const RunConfig own = recorded_config(recipe, {"--lr", "0.2", "--base-minibatch", "0"});
  BOOST_TEST(own.learning.base_minibatch == 0);
  BOOST_TEST((recorded_config(recipe, flag_words(recipe, base)).learning.base_minibatch == 5));
}

// The first word of a new option stands for what the recipe did before it had the option.
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
  std::string said = test::error_of([&] { check_belongs(small_recipe(), config, own.metadata); });
  BOOST_TEST(test::contains(said,
                            ": this checkpoint is of another run: flags differs (- the checkpoint, + this run)\n"
                            "- --lr 0.3\n+ --lr 0.1"));
  BOOST_REQUIRE(run(directory / "net", {}, other_recipe()) == 0);
  const Checkpoint net = read_checkpoint(checkpoint_of(directory / "net", 20));
  said = test::error_of([&] { check_belongs(small_recipe(), net, own.metadata); });
  BOOST_TEST(test::contains(said, "graph differs"));
  BOOST_TEST(test::contains(said, "\n-   %"));
  BOOST_TEST(test::contains(said, " = sqrt %"));
  BOOST_TEST(std::count(said.begin(), said.end(), '\n') <= 6, said);
  BOOST_TEST(run({"--resume", out.string()}, other_recipe()) == 1);
  const std::string before = test::read_file(out / "metrics.jsonl");
  BOOST_TEST(run({"--resume", out.string(), "--checkpoint", checkpoint_of(other, 10).string()}) == 1);
  BOOST_TEST(test::read_file(out / "metrics.jsonl") == before);
}

BOOST_AUTO_TEST_CASE(folders_that_cannot_be_resumed) {
  BOOST_TEST(complaint(directory / "none") == "--resume: there is no run folder " + (directory / "none").string());
  fs::create_directory(directory / "empty");
  BOOST_TEST(test::contains(complaint(directory / "empty"), "holds no run: there is no manifest.json"));
  BOOST_REQUIRE(run(out, {"--steps", "1"}) == 0);
  Recipe renamed = small_recipe();
  renamed.name = "large";
  BOOST_TEST(
      test::contains(complaint(out, {}, renamed), " is a run of small, not of large\n  hint: ./run small --resume "));
  const RunFolder held = RunFolder::open(out.string());
  BOOST_TEST(test::contains(complaint(out), "is in use: another process trains in it"));
  BOOST_TEST(run({"--checkpoint", "x"}) == 2);
  const fs::path torn = directory / "torn", metrics = torn / "metrics.jsonl";
  fs::create_directory(torn);
  test::write_file(metrics, "of a run");
  BOOST_TEST(run(torn, {"--steps", "1"}) == 1);
  BOOST_TEST(test::read_file(metrics) == "of a run");
}

// Each of these manifests once made the program crash, hang, write a file or report an internal error.
BOOST_AUTO_TEST_CASE(a_doctored_manifest_is_refused_by_name) {
  BOOST_REQUIRE(run(out, {"--steps", "1"}) == 0);
  const fs::path manifest = out / "manifest.json", trace = directory / "trace.json";
  const Json good = Json::parse(test::read_file(manifest));
  const auto says = [&](const std::string& text, const std::string& part) {
    test::write_file(manifest, text);
    const std::string said = complaint(out);
    BOOST_TEST(test::contains(said, part));
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
  BOOST_TEST(test::contains(complaint(out), "expected a file, got a FIFO"));
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::resume_refusals_test
