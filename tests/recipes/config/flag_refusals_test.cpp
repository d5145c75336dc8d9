// Flags that are refused: without effect, misspelt, out of range.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/run/processes.h"
#include "recipes/run/recorded_flags.h"
#include "tests/recipes/lenet_flags.h"
#include "tests/support/says.h"

namespace kb::flag_refusals_test {

using test::usage_error;

BOOST_FIXTURE_TEST_SUITE(flag_refusals, test::NoLauncher)

BOOST_AUTO_TEST_CASE(a_flag_without_effect_is_refused) {
  BOOST_TEST(
      usage_error({"--milestones", "1,2", "--schedule", "cosine"}) ==
      "--milestones: it has no effect here\n  expected: --schedule step beside it\n  got:      --schedule cosine");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--power", "2", "--schedule", "step"}, "--schedule polynomial or mlperf"},
      {{"--end-lr", "0", "--schedule", "constant"}, "--schedule polynomial, mlperf, cosine, wsd or wsd-sqrt"},
      {{"--decay-share", "0.1", "--schedule", "cosine"}, "--schedule wsd or wsd-sqrt"},
      {{"--warmup-epochs", "1", "--warmup", "none"}, "a --warmup"},
      {{"--warmup-from", "0", "--warmup", "none"}, "a --warmup"},
      {{"--scaling", "linear", "--base-minibatch", "0"}, "--base-minibatch B"},
      {{"--pad", "4"}, "--augment crop"},
      {{"--pad", "4", "--augment", "flip,mixup"}, "--augment crop"},
      {{"--cutout-size", "4"}, "--augment cutout"},
      {{"--mixup-alpha", "1", "--augment", "crop"}, "--augment mixup"},
      {{"--augment-in", "loader"}, "--augment KINDS"},
      {{"--eval-ema"}, "--ema D"},
      {{"--products", "none"}, "--precision bf16 or f16"},
  };
  for (const auto& [words, expected] : cases) {
    const std::string error = usage_error(words);
    BOOST_TEST(error.starts_with(words[0] + ": it has no effect here\n  expected: " + expected), error);
  }
  BOOST_TEST(test::lenet_config({"--augment", "flip,crop", "--pad", "3"}).data.pad == 3);
  BOOST_TEST(test::lenet_config({"--scaling", "none"}).learning.scaling == "none");
}

BOOST_AUTO_TEST_CASE(a_flag_of_sums_over_workers_needs_workers) {
  const char* alone =
      "--all-reduce: it has no effect here\n  expected: --processes P, P > 1, beside it\n  got:      --processes 1";
  BOOST_TEST(usage_error({"--all-reduce", "ring", "--fast"}) == alone);
  BOOST_TEST(usage_error({"--all-reduce", "ring", "--fast", "--per-worker", "8"}) == alone);
  BOOST_TEST((test::lenet_config({"--all-reduce", "ring", "--fast", "--processes", "2"}).machine.all_reduce ==
              Algorithm::ring));

  const std::vector<std::string> rounded = {"--minibatch", "32", "--reduce-precision", "bf16"};
  const auto beside = [&](const std::string& flag, const std::string& value) {
    std::vector<std::string> words = rounded;
    words.insert(words.end(), {flag, value});
    return usage_error(words);
  };
  BOOST_TEST(usage_error(rounded) ==
             "--reduce-precision: it has no effect here\n  expected: several workers, by --per-worker N or --processes "
             "P, beside it\n  got:      --per-worker 0");
  BOOST_TEST(beside("--per-worker", "32").ends_with("got:      --per-worker 32"));
  for (const auto& [flag, value] : {std::pair{"--per-worker", "8"}, {"--processes", "2"}, {"--batch-norm", "ghost(8)"}})
    BOOST_TEST(beside(flag, value) == "(nothing thrown)", flag);
  // A flag that would be refused is not among the words of a run.
  const std::vector<std::string> words = flag_words(lenet_mnist(), test::lenet_config({}));
  for (const char* flag : {"--all-reduce", "--reduce-precision"})
    BOOST_TEST(std::count(words.begin(), words.end(), flag) == 0, flag);
}

// The processes that a launcher starts are known before they have joined.
BOOST_AUTO_TEST_CASE(the_processes_of_a_launcher_count) {
  const auto error_of = [](const char* processes, const std::vector<std::string>& words) {
    ::setenv("OMPI_COMM_WORLD_SIZE", processes, 1);
    const std::string error = usage_error(words);
    ::unsetenv("OMPI_COMM_WORLD_SIZE");  // NoLauncher had left it unset
    return error;
  };
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--all-reduce", "ring", "--fast"}, {"--reduce-precision", "bf16"}}) {
    BOOST_TEST(error_of("2", words) == "(nothing thrown)", words[0]);
    BOOST_TEST(error_of("1", words).starts_with(words[0] + ": it has no effect here"), words[0]);
  }
}

// --net slows down messages: if one process is started alone it is refused before anything is compiled.
BOOST_AUTO_TEST_CASE(a_network_needs_processes) {
  RunConfig config = test::lenet_config({"--net", "50us,1GB/s"});
  BOOST_CHECK_EXCEPTION(join_world(config), UsageError, test::says("--net: expected several processes, got one"));
}

BOOST_AUTO_TEST_CASE(epochs_beside_steps_are_refused) {
  BOOST_TEST(usage_error({"--epochs", "3", "--steps", "7"}) ==
             "--epochs: it has no effect here\n  expected: --steps 0, which leaves the length to --epochs, beside it\n"
             "  got:      --steps 7");
  BOOST_TEST(test::lenet_config({"--epochs", "3", "--steps", "0"}).length.epochs == 3);
  const std::vector<std::string> words = flag_words(lenet_mnist(), test::lenet_config({"--steps", "7"}));
  BOOST_TEST(std::count(words.begin(), words.end(), "--epochs") == 0);
}

// With --resume FOLDER nothing is refused until the flags of that run are known, since they count too. --resume auto
// may find no run, so its flags are judged at once.
BOOST_AUTO_TEST_CASE(flags_beside_resume_are_judged_with_those_of_the_run) {
  BOOST_TEST(usage_error({"--resume", "runs/mine", "--reduce-precision", "bf16"}) == "(nothing thrown)");
  BOOST_TEST(usage_error({"--resume", "auto", "--reduce-precision", "bf16"}).starts_with("--reduce-precision: it has"));
  const RunConfig by_steps = test::lenet_config({"--steps", "7"});
  BOOST_CHECK_EXCEPTION(parse_flags(lenet_mnist(), "", {"--resume", "runs/mine", "--epochs", "2"}, {}, &by_steps),
                        UsageError, test::says("--epochs: it has no effect here"));
}

BOOST_AUTO_TEST_CASE(mistakes_get_the_nearest_right_word) {
  BOOST_TEST(usage_error({"--minbatch", "64"}) == "there is no flag '--minbatch'; did you mean '--minibatch'?");
  BOOST_TEST(usage_error({"--epoch=3"}) == "there is no flag '--epoch'; did you mean '--epochs'?");
  BOOST_TEST(usage_error({"--batch-size", "8"}) == "there is no flag '--batch-size'; did you mean '--minibatch'?");
  BOOST_TEST(usage_error({"--learning-rate=1"}) == "there is no flag '--learning-rate'; did you mean '--lr'?");
  BOOST_TEST(usage_error({"--max_grad_norm", "1"}) ==
             "there is no flag '--max_grad_norm'; did you mean '--clip-norm'?");
  BOOST_TEST(usage_error({"--zzzzzzzzzzzz"}) == "there is no flag '--zzzzzzzzzzzz'; --help all lists them");
  BOOST_TEST(usage_error({"64"}) == "'64' is not expected here: flags begin with --");
  BOOST_TEST(
      usage_error({"--schedule", "cosin"}) ==
      "--schedule: expected one of constant, step, polynomial, mlperf, cosine, slow-start, one-cycle, wsd, wsd-sqrt, "
      "inverse-sqrt, got 'cosin'; did you mean 'cosine'?");
  BOOST_TEST(
      usage_error({"--dataset", "minst"}) ==
      "--dataset: expected one of mnist, fashion-mnist, cifar10, cifar100, glyphs, glyphs-hour, imagenet, folder, "
      "synthetic, got 'minst'; did you mean 'mnist'?");
  BOOST_TEST(usage_error({"--precision", "bf16", "--products", "pick"}) ==
             "--products: expected one of picked, none, all, got 'pick'; did you mean 'picked'?");
  BOOST_TEST(usage_error({"--dump", "graph,cppp"}) ==
             "--dump: expected one of graph, graphviz, passes, schedule, cpp, cuda, got 'cppp'; did you mean 'cpp'?");
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_refused) {
  BOOST_TEST(usage_error({"--minibatch", "0"}) == "--minibatch: expected a whole number in [1, 2^31), got '0'");
  BOOST_TEST(usage_error({"--minibatch", "6.5"}) == "--minibatch: expected a whole number in [1, 2^31), got '6.5'");
  BOOST_TEST(usage_error({"--epochs", "-1"}) == "--epochs: expected a whole number in [0, 2^31), got '-1'");
  BOOST_TEST(usage_error({"--lr", "nan"}) == "--lr: expected a number >= 0, got 'nan'");
  BOOST_TEST(usage_error({"--lr", "0.1x"}) == "--lr: expected a number >= 0, got '0.1x'");
  for (const char* share : {"0", "-0.1", "1.1", "a"})
    BOOST_TEST(usage_error({"--decay-share", share, "--schedule", "wsd"}) ==
               fmt::format("--decay-share: expected a number in (0, 1], got '{}'", share));
  BOOST_TEST(usage_error({"--momentum", "1"}) == "--momentum: expected a number in [0, 1), got '1'");
  BOOST_TEST(usage_error({"--seed", "4294967296"}) == "--seed: expected a whole number in [0, 2^32), got '4294967296'");
  // No value is narrowed to 32 bits: 2^32 is not taken for 0, nor 2^32 + 1 for 1.
  for (const char* flag : {"--minibatch", "--shards", "--processes", "--steps", "--epochs", "--keep"})
    for (const char* value : {"2147483648", "4294967296", "4294967297", "9223372036854775807", "18446744073709551616"})
      BOOST_TEST(usage_error({flag, value}).ends_with(fmt::format(", 2^31), got '{}'", value)), flag);
  for (const char* value : {"4097", "100000", "4294967296", "18446744073709551616"})
    BOOST_TEST(usage_error({"--threads", value}) ==
               fmt::format("--threads: expected a whole number in [0, 4096], got '{}'", value));
  BOOST_TEST(usage_error({"--batch-norm", "ghost(4294967296)"}) != "(nothing thrown)");
  BOOST_CHECK_EXCEPTION(parse_flags(mlp_mnist(), "", {"--depth", "4294967296"}), UsageError,
                        test::says("--depth: expected a whole number in [0, 1001), got '4294967296'"));
  BOOST_CHECK_EXCEPTION(parse_flags(resnet_cifar(), "", {"--width", "4294967296"}), UsageError,
                        test::says("--width: expected a whole number in [1, 2^31), got '4294967296'"));
  BOOST_TEST(usage_error({"--lr"}) != "(nothing thrown)");
  BOOST_TEST(usage_error({"--lr", "0.1", "--lr", "0.2"}) != "(nothing thrown)");
}
BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flag_refusals_test
