#include "recipes/config/flags.h"
#include "recipes/run/command_words.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/network.h"
#include "recipes/config/run_plan.h"
#include "recipes/papers/table.h"
#include "recipes/run/processes.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/run/run_folder.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "tests/recipes/lenet_flags.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::flags_test {
namespace {

using test::usage_error;

RunConfig parse(const std::vector<std::string>& words) { return test::lenet_config(words); }

double hyper(const RunConfig& config, const std::string& name) {
  for (const NamedScalar& scalar : config.learning.hyper)
    if (scalar.name == name) return scalar.value;
  throw Error("no hyper-parameter " + name);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(config, test::NoLauncher)

BOOST_AUTO_TEST_CASE(without_flags_a_recipe_runs_as_it_says) {
  RunConfig config = parse({});
  Defaults defaults = lenet_mnist().defaults;
  BOOST_TEST(config.data.dataset == defaults.dataset);
  BOOST_TEST(config.batch.minibatch == defaults.minibatch);
  BOOST_TEST(config.length.epochs == defaults.epochs);
  BOOST_TEST(config.learning.lr == defaults.lr);
  BOOST_TEST(config.learning.schedule == defaults.schedule);
  BOOST_TEST(config.learning.optimizer == defaults.optimizer);
  BOOST_TEST(hyper(config, "momentum") == 0.9);
  BOOST_TEST(hyper(config, "weight_decay") == 5e-4);
  BOOST_TEST(config.arithmetic.seed == 1);
  BOOST_TEST((config.arithmetic.precision == Precision::f32));
  BOOST_TEST((config.machine.device == DeviceChoice::automatic));
  BOOST_TEST(!config.looking.dry_run);
}

BOOST_AUTO_TEST_CASE(every_flag_is_read) {
  RunConfig f = parse({"--data",
                       "d",
                       "--dataset",
                       "fashion-mnist",
                       "--minibatch",
                       "32",
                       "--steps",
                       "7",
                       "--base-lr",
                       "1e-3",
                       "--optimizer",
                       "nesterov",
                       "--base-minibatch",
                       "16",
                       "--scaling",
                       "sqrt",
                       "--schedule",
                       "step",
                       "--milestones",
                       "1,2.5",
                       "--warmup",
                       "constant",
                       "--warmup-epochs",
                       "0.5",
                       "--momentum",
                       "0.8",
                       "--weight-decay",
                       "0",
                       "--label-smoothing=0.1",
                       "--precision",
                       "bf16",
                       "--device",
                       "cpu",
                       "--threads",
                       "2",
                       "--seed",
                       "4294967295",
                       "--out",
                       "o",
                       "--eval-every",
                       "0",
                       "--save-every",
                       "9",
                       "--dry-run",
                       "--dump",
                       "graph,cpp",
                       "--fast",
                       "--sync-steps",
                       "--quiet"});
  BOOST_TEST(f.data.path == "d");
  BOOST_TEST(f.data.dataset == "fashion-mnist");
  BOOST_TEST(f.batch.minibatch == 32);
  BOOST_TEST(parse({"--epochs", "3"}).length.epochs == 3);
  BOOST_TEST(f.length.steps == 7);
  BOOST_TEST(f.learning.lr == 1e-3);
  BOOST_TEST(f.learning.schedule == "step");
  BOOST_TEST(f.learning.warmup_epochs == 0.5);
  BOOST_TEST(f.learning.optimizer == "nesterov");
  BOOST_TEST(f.learning.base_minibatch == 16);
  BOOST_TEST(f.learning.scaling == "sqrt");
  BOOST_TEST((f.learning.milestones == std::vector<double>{1, 2.5}));
  BOOST_TEST(parse({"--schedule", "polynomial", "--power", "1.5"}).learning.power == 1.5);
  BOOST_TEST(parse({"--schedule", "wsd"}).learning.decay_share == 0.2);
  BOOST_TEST(parse({"--schedule", "wsd-sqrt", "--decay-share", "1"}).learning.decay_share == 1);
  BOOST_TEST(f.learning.warmup == "constant");
  BOOST_TEST(hyper(f, "momentum") == 0.8);
  BOOST_TEST(hyper(f, "weight_decay") == 0);
  BOOST_TEST(f.learning.label_smoothing == 0.1);
  BOOST_TEST((f.arithmetic.precision == Precision::bf16));
  BOOST_TEST((f.machine.device == DeviceChoice::cpu));
  BOOST_TEST(f.machine.threads == 2);
  BOOST_TEST(f.arithmetic.seed == 4294967295);
  BOOST_TEST(f.out.folder == "o");
  BOOST_TEST((f.judging.eval_every == Period{0, Period::Unit::epochs}));
  BOOST_TEST((f.judging.save_every == Period{9, Period::Unit::steps}));
  BOOST_TEST(f.looking.dry_run);
  BOOST_TEST(f.machine.fast);
  BOOST_TEST(f.machine.sync_steps);
  BOOST_TEST(f.out.quiet);
  BOOST_TEST((f.looking.dump == std::vector<Dump>{Dump::graph, Dump::cpp}));
}

// The command in a manifest has no flag for which it would be refused.
BOOST_AUTO_TEST_CASE(the_words_of_a_run_leave_out_what_has_no_effect) {
  const std::vector<std::string> words = flag_words(lenet_mnist(), parse({"--schedule", "constant"}));
  for (const char* flag :
       {"--milestones", "--power", "--decay-share", "--end-lr", "--pad", "--cutout-size", "--mixup-alpha"})
    BOOST_TEST(std::count(words.begin(), words.end(), flag) == 0, flag);
  BOOST_TEST(usage_error(words) == "(nothing thrown)");
}

BOOST_AUTO_TEST_CASE(the_words_of_a_run_give_the_same_run) {
  RunConfig config = parse({"--lr", "0.1", "--quiet", "--out", "elsewhere", "--data", "a b", "--shards", "3"});
  std::vector<std::string> words = flag_words(lenet_mnist(), config);
  RunConfig again = parse(words);
  BOOST_TEST(again.out.folder.empty());  // flag_words() leaves out --out, --quiet and other flags of a single call
  BOOST_TEST(!again.out.quiet);
  again.out.folder = config.out.folder;
  again.out.quiet = config.out.quiet;
  BOOST_TEST((flag_values(lenet_mnist(), again) == flag_values(lenet_mnist(), config)));
  RunConfig recorded = recorded_config(lenet_mnist(), words);
  recorded.out.folder = config.out.folder;
  recorded.out.quiet = config.out.quiet;
  BOOST_TEST((flag_values(lenet_mnist(), recorded) == flag_values(lenet_mnist(), config)));
  const RunConfig adam = parse({"--optimizer", "adam", "--beta1", "0.5", "--lr", "0.01"});
  BOOST_TEST((flag_values(lenet_mnist(), recorded_config(lenet_mnist(), flag_words(lenet_mnist(), adam))) ==
              flag_values(lenet_mnist(), adam)));
  BOOST_TEST(shell_quoted("a b") == "'a b'");
  BOOST_TEST(shell_quoted("it's") == "'it'\\''s'");
  BOOST_TEST(shell_quoted("") == "''");
  BOOST_TEST(shell_quoted("--lr=0.1") == "--lr=0.1");
}

BOOST_AUTO_TEST_CASE(a_recipe_has_flags_of_its_own) {
  const Recipe recipe = resnet_cifar();
  auto parsed = [&](const std::vector<std::string>& words) { return *parse_flags(recipe, "", words); };
  auto refused = [&](const std::vector<std::string>& words) {
    return test::error_of<UsageError>([&] { parsed(words); });
  };
  BOOST_TEST(parsed({}).data.options.whole("depth") == 20);
  const RunConfig config = parsed({"--depth", "56", "--width=2"});
  BOOST_TEST(config.data.options.whole("depth") == 56);
  BOOST_TEST(config.data.options.whole("width") == 2);
  const std::vector<std::string> words = flag_words(recipe, config);
  BOOST_TEST((std::vector<std::string>(words.begin(), words.begin() + 4) ==
              std::vector<std::string>{"--depth", "56", "--width", "2"}));
  BOOST_TEST(flag_values(recipe, config)[0].value == "56");
  BOOST_TEST(refused({"--depth", "21"}) == "--depth: expected one of 8, 20, 32, 44, 56, 110, got '21'");
  BOOST_TEST(refused({"--width", "0"}) == "--width: expected a whole number in [1, 2^31), got '0'");
  BOOST_TEST(refused({"--width", "1.5"}) == "--width: expected a whole number in [1, 2^31), got '1.5'");
  BOOST_TEST(refused({"--dropout", "0"}) == "there is no flag '--dropout'; --help all lists them");
  BOOST_CHECK_THROW(config.data.options.whole("depht"), Error);
  const RunConfig mlp = *parse_flags(mlp_mnist(), "", {"--dropout", "0.25"});
  BOOST_TEST(mlp.data.options.real("dropout") == 0.25);
  BOOST_CHECK_THROW(mlp.data.options.whole("dropout"), Error);
  BOOST_CHECK_THROW(parse_flags(mlp_mnist(), "", {"--dropout", "1"}), UsageError);
}

// An option's number is whole unless the option says otherwise; a default of another kind would be refused as a value.
BOOST_AUTO_TEST_CASE(a_default_is_one_of_the_options_values) {
  const auto refusal = [](const RecipeOption& option) {
    return test::error_of([&] { OptionValues values({option}); });
  };
  BOOST_TEST(refusal({.name = "dropout", .value = 0.5, .doc = "share"}) ==
             "the recipe's option 'dropout': its default is none of its values\n"
             "  expected: a whole number in [1, 2^31)\n"
             "  got:      0.5\n"
             "  hint:     a share of something is fraction_option(\"dropout\", 0.5, ...)");
  BOOST_TEST(
      test::contains(refusal({.name = "depth", .value = 21, .doc = "layers", .choices = {20, 32}}), "one of 20, 32"));
  BOOST_TEST(test::contains(refusal(fraction_option("dropout", 1, "share")), "a number in [0, 1)"));
  RecipeOption share{.name = "dropout", .value = 0.3, .doc = "share", .choices = {0.3, 0.5}};
  BOOST_TEST(refusal(share) ==
             "the recipe's option 'dropout': one of its choices is no whole number\n"
             "  expected: whole numbers\n"
             "  got:      0.3\n"
             "  hint:     .whole = false for fractions, which real(\"dropout\") reads");
  share.choices = {1, 0.5};
  share.value = 1;
  BOOST_TEST(test::contains(refusal(share), "got:      0.5"));
  share.whole = false;
  BOOST_TEST(refusal(share) == "(nothing thrown)");
  for (const RecipeOption& option :
       {fraction_option("dropout", 0.5, "share"), word_option("norm", {"none", "batch"}, "kind"),
        switch_option("loud", "noise"), RecipeOption{.name = "width", .value = 16, .doc = "channels"}})
    BOOST_TEST(refusal(option) == "(nothing thrown)", option.name);
}

BOOST_AUTO_TEST_CASE(an_option_may_be_a_word) {
  const Recipe recipe = lenet_mnist();
  BOOST_TEST(parse({}).data.options.word("norm") == "none");
  const RunConfig config = parse({"--norm", "batch"});
  BOOST_TEST(config.data.options.word("norm") == "batch");
  BOOST_TEST(flag_values(recipe, config)[1].name == "norm");
  BOOST_TEST(flag_values(recipe, config)[1].value == "batch");
  const std::vector<std::string> words = flag_words(recipe, config);
  BOOST_TEST(recorded_config(recipe, words).data.options.word("norm") == "batch");
  BOOST_TEST(flag_words(recipe, recorded_config(recipe, words)) == words);
  BOOST_TEST(usage_error({"--norm", "bach"}) ==
             "--norm: expected one of none, batch, got 'bach'; did you mean 'batch'?");
  BOOST_TEST(usage_error({"--norm", "1"}) == "--norm: expected one of none, batch, got '1'");
  BOOST_TEST(usage_error({"--norm", ""}) == "--norm: expected one of none, batch, got ''");
}

BOOST_AUTO_TEST_CASE(words_and_numbers_are_not_read_as_each_other) {
  OptionValues values(lenet_mnist().options);
  const auto is = [](const char* text) {
    return [text](const Error& error) { return error.what() == std::string(text); };
  };
  const char* word = "the recipe's option 'norm' is a word: read it by word(\"norm\")";
  BOOST_CHECK_EXCEPTION(values.real("norm"), Error, is(word));
  BOOST_CHECK_EXCEPTION(values.whole("norm"), Error, is(word));
  BOOST_CHECK_EXCEPTION(values.set("norm", 1), Error, is(word));
  const char* number = "the recipe's option 'width' is a number: read it by real(\"width\")";
  BOOST_CHECK_EXCEPTION(values.word("width"), Error, is(number));
  BOOST_CHECK_EXCEPTION(values.set("width", "2"), Error, is(number));
  BOOST_CHECK_EXCEPTION(values.word("norms"), Error, is("the recipe has no option 'norms'; did you mean 'norm'?"));
  BOOST_TEST(values.whole("width") == 1);
  BOOST_TEST(values.word("norm") == "none");
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_an_error) {
  RunConfig config = parse({"--device", "cuda"});
  BOOST_CHECK_EXCEPTION(choose_device(config.machine, 0), Error,
                        test::says("machine.device = cuda: no GPU can be used"));
}

// These flags are refused before any process is started.
BOOST_AUTO_TEST_CASE(what_one_kind_of_device_has_not_is_refused) {
  const auto refused = [](std::vector<std::string> words) -> std::string {
    words.insert(words.end(), {"--fast", "--processes", "2"});
    RunConfig config = parse(words);
    return test::error_of<UsageError>([&] { launch_processes(config, false, {}); });
  };
  BOOST_TEST(refused({"--device", "cuda", "--all-reduce", "ring"}) ==
             "--all-reduce ring: expected halving-doubling or nccl, which GPUs have\n  or:       --device cpu");
  BOOST_TEST(refused({"--device", "cpu", "--all-reduce", "nccl"}) ==
             "--all-reduce nccl: expected GPUs, which it sums on\n  or:       --all-reduce mpi");
  BOOST_TEST(refused({"--device", "cuda", "--net", "1us,1GB/s"}).starts_with("--net: it slows down messages that go "));
}

// A command line for a GPU is taken on a CPU, which says what of it has no meaning there.
BOOST_AUTO_TEST_CASE(what_changes_nothing_on_a_cpu_says_so) {
  const auto note = [](const std::vector<std::string>& words) {
    const RunConfig config = parse(words);
    return without_effect_note(*choose_device(config.machine, 0).backend, config.machine, config.arithmetic.products);
  };
  BOOST_TEST(note({"--device", "cpu"}) == "");
  BOOST_TEST(note({"--device", "cpu", "--fast"}).starts_with("NOTE: machine.fast changes nothing on a CPU: "));
  BOOST_TEST(
      note({"--device", "cpu", "--sync-steps"}).starts_with("NOTE: machine.sync_steps changes nothing on a CPU: "));
  const Device device = choose_device(parse({"--device", "cpu"}).machine, 0);
  BOOST_TEST(precision_note(*device.backend, Precision::tf32)
                 .starts_with("NOTE: arithmetic.precision = tf32 changes nothing on a CPU"));
}

// --fast changes bits, and so belongs to the run; --sync-steps does not.
BOOST_AUTO_TEST_CASE(a_run_that_is_not_deterministic_is_told_from_others) {
  const auto effect = [](const std::string& name) {
    const std::vector<FlagValue> values = flag_values(lenet_mnist(), parse({}));
    return std::find_if(values.begin(), values.end(), [&](const FlagValue& v) { return v.name == name; })->effect;
  };
  BOOST_TEST((effect("fast") == FlagEffect::computed));
  BOOST_TEST((effect("sync-steps") == FlagEffect::call));
  const std::vector<std::string> words = flag_words(lenet_mnist(), parse({"--fast", "--sync-steps"}));
  BOOST_TEST(std::count(words.begin(), words.end(), "--fast") == 1);
  BOOST_TEST(std::count(words.begin(), words.end(), "--sync-steps") == 0);
}

BOOST_AUTO_TEST_CASE(a_plan_has_its_arithmetic) {
  RunPlan plan = make_plan(parse({"--minibatch", "64", "--epochs", "6"}), 60000);
  BOOST_TEST(plan.steps_per_epoch == 937);
  BOOST_TEST(plan.steps == 5622);
  BOOST_TEST(plan.derivation(parse({"--epochs", "6"})) ==
             "60000 samples / 64 = 937 steps an epoch (32 left out, others each time); x 6 epochs = 5622 steps");
  RunConfig some = parse({"--steps", "500", "--minibatch", "60"});
  BOOST_TEST(make_plan(some, 60000).steps == 500);
  BOOST_TEST(make_plan(some, 60000).derivation(some) ==
             "60000 samples / 60 = 1000 steps an epoch; length.steps = 500, 0.5 epochs");
  BOOST_CHECK_THROW(make_plan(parse({"--minibatch", "11"}), 10), Error);
}

// The words of a run have the --per-worker that follows from --batch-norm: the samples that are normalised together.
BOOST_AUTO_TEST_CASE(the_group_of_batch_norm_is_a_part_of_the_plan) {
  const auto words_of = [](const std::vector<std::string>& words) {
    return flag_words(lenet_mnist(), with_plan(parse(words)));
  };
  BOOST_TEST(to_string(parse({}).batch.batch_norm) == "worker");
  const std::vector<std::string> sixteen = words_of({"--minibatch", "64", "--per-worker", "16"});
  BOOST_TEST(words_of({"--minibatch", "64", "--per-worker", "32", "--batch-norm", "ghost(16)"}) == sixteen);
  BOOST_TEST(words_of({"--minibatch", "64", "--per-worker", "4", "--batch-norm", "sync(4)"}) == sixteen);
  BOOST_TEST((with_plan(parse(sixteen)).batch.per_worker == 16));
  for (const char* wrong : {"", "ghost", "ghost()", "ghost(0)", "ghost(-2)", "ghost(1.5)", "ghost(2", "sync(x)", "all"})
    BOOST_TEST(usage_error({"--batch-norm", wrong}) ==
               "--batch-norm: expected worker, ghost(M) or sync(K) with a whole number in [1, 2^31), got '" +
                   std::string(wrong) + "'");
}

BOOST_AUTO_TEST_CASE(a_tool_takes_a_recipe_first) {
  BOOST_TEST(parse_tool_call({"bench", {}, {"mlp_mnist", "--minibatch", "8"}}, "", {})->config.batch.minibatch == 8);
  BOOST_CHECK_THROW(parse_tool_call({"bench", {}, {}}, "", {}), UsageError);
  BOOST_CHECK_THROW(parse_tool_call({"bench", {}, {"--json"}}, "", {}), UsageError);
  BOOST_CHECK_THROW(parse_tool_call({"bench", {}, {"mlp_minst"}}, "", {}), Error);
  bool json = false;
  parse_tool_call({"bench", {}, {"mlp_mnist", "--json"}}, "", {{{"--json", "", ""}, &json}});
  BOOST_TEST(json);
}

BOOST_AUTO_TEST_CASE(networks_and_buckets) {
  const auto is = [](const std::string& text, double latency, double bandwidth) {
    const Network network = parse_network(text);
    BOOST_TEST(network.latency == latency, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(network.bandwidth == bandwidth, boost::test_tools::tolerance(1e-12));
  };
  is("50us,1GB/s", 50e-6, 1e9);
  is("0.00005,1e9", 50e-6, 1e9);
  is("1.5ms,250MB/s", 1.5e-3, 250e6);
  is("0,10Gbit/s", 0, 1.25e9);
  for (const char* wrong : {"", "5", "5,", ",5", "1us,0", "-1,5", "1us,1GB", "1us,1GB/s,2", "inf,1", "1us, 1GB/s"})
    BOOST_CHECK_THROW(parse_network(wrong), UsageError);
  BOOST_TEST(usage_error({"--net", "5"}).find("--net: expected LATENCY,BANDWIDTH") == 0u);

  BOOST_TEST(parse({}).arithmetic.bucket_mb == 0);
  BOOST_TEST(bucket_bytes(parse({}).arithmetic.bucket_mb) == 25'000'000);
  BOOST_TEST(bucket_bytes(parse({"--bucket-mb", "0.1"}).arithmetic.bucket_mb) == 100'000);
  BOOST_TEST(parse({"--bucket-mb", "auto"}).arithmetic.bucket_mb == 0);
  for (const char* wrong : {"0", "-1", "x", "inf"})
    BOOST_TEST(usage_error({"--bucket-mb", wrong}).find("--bucket-mb: expected auto, or a number > 0") == 0u);
}

BOOST_AUTO_TEST_CASE(flags_of_a_tool) {
  const Recipe recipe = find_recipe("mlp_mnist");
  int64_t nodes = 8;
  const std::vector<ToolSwitch> switches{{{"--node", "G", "workers of a node"}, &nodes}};
  BOOST_TEST(parse_flags(recipe, "", {"--node", "4"}, switches).has_value());
  BOOST_TEST(nodes == 4);
  for (const char* value : {"0", "-1", "2.5", "x", "4294967296"}) {
    const std::string expected = std::string("--node: expected a whole number in [1, 2^31), got '") + value + "'";
    BOOST_TEST(test::error_of<UsageError>(
                   [&] { parse_flags(recipe, "", {std::string("--node=") + value}, switches); }) == expected);
  }
  BOOST_TEST(test::error_of<UsageError>([&] {
               parse_network("50us", "--between");
             }).starts_with("--between: expected LATENCY,BANDWIDTH"));
}
BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flags_test
