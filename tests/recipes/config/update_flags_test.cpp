// Runs under the flags around the update: clipping, averaged parameters, roles, norms of layers, an early end.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/period.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/models/export.h"
#include "recipes/papers/table.h"
#include "recipes/run/schedule_text.h"
#include "recipes/train/layer_log.h"
#include "recipes/train/programs.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/matches.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::update_flags_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run, test::small_recipe, test::state_sha256, test::trace;
using Words = std::vector<std::string>;

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path plain = directory / "plain", out = directory / "run";
};

Words lars(Words more = {}) {
  Words words = {"--optimizer", "lars", "--lr", "10", "--skip-lr", "0.05"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string usage_error(const Words& words) {
  return test::error_of<UsageError>([&] { parse_flags(lenet_mnist(), "", words); });
}

std::vector<double> losses(const fs::path& out) {
  std::vector<double> values;
  for (const Json& step : of_kind(lines_of(out), "step")) values.push_back(step.at("loss"));
  return values;
}

double norm(const NamedTensor& tensor) {
  double squares = 0;
  for (int64_t i = 0; i < tensor.type.elements(); ++i)
    squares += std::pow(load_element(tensor.type.dtype, tensor.data.data(), i), 2);
  return std::sqrt(squares);
}

// Returns a line for each layer, which says whether weight decay applies to it and whether its rate is adapted.
std::string switches(const Words& words) {
  const RunConfig config = *parse_flags(small_recipe(), "", words);
  const Compiled compiled =
      compile_training(declared_task(small_recipe(), config),
                       settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
  std::string text;
  for (const LoggedLayer& layer : logged_layers(compiled.space)) {
    const Segment& segment = *compiled.space.find(layer.name);
    text += layer.name + (segment.decay ? " decay" : "") + (segment.adapt ? " adapt" : "") + "\n";
  }
  return text;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(update_flags, Fixture)

BOOST_AUTO_TEST_CASE(an_average_is_kept_evaluated_and_exported_beside_the_same_training) {
  const Words rates = {"--schedule", "constant"};
  BOOST_REQUIRE(run(plain, rates) == 0);
  BOOST_REQUIRE(run(out, {"--schedule", "constant", "--ema", "0.9", "--eval-ema"}) == 0);
  BOOST_TEST(losses(out) == losses(plain));
  const std::vector<Json> evaluations = of_kind(lines_of(out), "eval");
  BOOST_REQUIRE(evaluations.size() == 2u);
  BOOST_TEST(evaluations[1].at("ema_loss") != evaluations[1].at("loss"));
  BOOST_TEST(!of_kind(lines_of(plain), "eval")[1].contains("ema_loss"));

  // The exported weights, given to --init, have the loss that was noted.
  const fs::path averaged = directory / "averaged.safetensors";
  const auto quiet = [](const std::string&) {};
  export_model({out, "", averaged, true}, quiet);
  const fs::path again = directory / "again";
  BOOST_REQUIRE(run(again, {"--init", averaged.string(), "--epochs", "0"}) == 0);
  BOOST_TEST(of_kind(lines_of(again), "eval")[0].at("loss") == evaluations[1].at("ema_loss"));
  BOOST_CHECK_THROW(export_model({plain, "", directory / "none.safetensors", true}, quiet), Error);
  BOOST_TEST(!fs::exists(directory / "none.safetensors"));
}

BOOST_AUTO_TEST_CASE(an_average_goes_on_where_it_stopped) {
  const Words words = {"--ema", "0.9", "--eval-ema", "--clip-norm", "0.5"};
  Words stopped = words;
  stopped.insert(stopped.end(), {"--stop-at", "13st"});
  BOOST_REQUIRE(run(plain, words) == 0);
  BOOST_REQUIRE(run(out, stopped) == 0);
  BOOST_TEST(lines_of(out).back().at("steps") == 13);
  BOOST_REQUIRE(run({"--resume", out.string(), "--stop-at", "2ep"}) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(plain));
  BOOST_TEST(of_kind(lines_of(out), "step").size() == 20u);
}

BOOST_AUTO_TEST_CASE(clipping_acts_where_the_norm_is_exceeded_alone) {
  BOOST_REQUIRE(run(plain, {}) == 0);
  BOOST_REQUIRE(run(out, {"--clip-norm", "1e9"}) == 0);
  BOOST_TEST(trace(out) == trace(plain));
  BOOST_REQUIRE(run(directory / "tight", {"--clip-norm", "0.01"}) == 0);
  BOOST_TEST(state_sha256(directory / "tight") != state_sha256(plain));
}

BOOST_AUTO_TEST_CASE(roles_are_switched_off_one_by_one) {
  BOOST_TEST(switches({}) == "conv.weight decay adapt\nbn.weight\nbn.bias\nfc.weight decay adapt\nfc.bias\n");
  BOOST_TEST(
      switches({"--no-decay", "none", "--no-adapt", "bias"}) ==
      "conv.weight decay adapt\nbn.weight decay adapt\nbn.bias decay adapt\nfc.weight decay adapt\nfc.bias decay\n");
  BOOST_TEST(switches({"--no-decay", "norm_scale,norm_shift"}) ==
             "conv.weight decay adapt\nbn.weight\nbn.bias\nfc.weight decay adapt\nfc.bias decay\n");
  BOOST_TEST(usage_error({"--no-decay", "bais"}) ==
             "--no-decay: expected one of weight, bias, norm_scale, norm_shift, embedding, got 'bais'; did you mean "
             "'bias'?");
}

BOOST_AUTO_TEST_CASE(what_is_not_adapted_is_told_with_its_rate) {
  const auto told = [](const Words& words) {
    const RunConfig config = *parse_flags(small_recipe(), "", words);
    const Compiled compiled =
        compile_training(declared_task(small_recipe(), config),
                         settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
    return adaptation_text(config.learning,
                           make_scalars(rules_of(small_recipe()), config.learning, make_plan(config, 100)),
                           compiled.space);
  };
  BOOST_TEST(told({}) == "");
  BOOST_TEST(told(lars()) ==
             "layers with rates of their own: 2; not adapted: 3 (bias, norm_scale, norm_shift), their rate is at most "
             "0.05 (learning.hyper.skip_lr), in the shape of the schedule");
  // A growth that multiplies the rate lifts these rates too.
  BOOST_TEST(
      told(lars({"--minibatch-schedule", "1ep:x2:linear"}))
          .ends_with("0.05 (learning.hyper.skip_lr), in the shape of the schedule, up to 2 times that as the minibatch "
                     "grows"));
  BOOST_TEST(told({"--optimizer", "lamb", "--no-adapt", "bias"}) ==
             "layers with rates of their own: 4; not adapted: 1 (bias), their rate is the learning rate itself, up to "
             "0.005; learning.hyper.skip_lr gives them a lower one");
  BOOST_TEST(told({"--optimizer", "lars", "--no-adapt", "none"}) == "layers with rates of their own: 5");
}

// The norms before step 5 are those of the checkpoint after 5 steps; the training is the same to the bit.
BOOST_AUTO_TEST_CASE(norms_of_layers_are_logged_and_change_nothing) {
  BOOST_REQUIRE(run(plain, lars()) == 0);
  BOOST_REQUIRE(run(out, lars({"--log-layers", "5st", "--save-every", "5", "--keep", "9"})) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(plain));
  const Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  const auto names = manifest.at("layers").get<std::vector<std::string>>();
  BOOST_TEST(names == (std::vector<std::string>{"conv.weight", "bn.weight", "bn.bias", "fc.weight", "fc.bias"}));
  const std::vector<LayerNorms> norms = read_layer_norms(out / "metrics.jsonl", names.size());
  BOOST_REQUIRE(norms.size() == 4u);
  BOOST_TEST(norms[1].step == 5);
  const Checkpoint checkpoint = read_checkpoint(out / "checkpoints" / "step-00000005.safetensors");
  for (size_t i = 0; i < names.size(); ++i)
    for (const NamedTensor& tensor : checkpoint.tensors)
      if (tensor.name == names[i])
        BOOST_TEST(std::abs(norms[1].weight[i] - norm(tensor)) <= 1e-6 * norm(tensor), names[i]);
  BOOST_TEST(norms[1].trust[0] > 0);
  BOOST_TEST(std::isnan(norms[1].trust[1]));
  BOOST_TEST(test::read_file(out / "layers.svg").starts_with("<svg"));
}

// A run that goes on draws the norms that were logged before it stopped, too. The optimizer momentum has no trust
// ratios.
BOOST_AUTO_TEST_CASE(norms_of_layers_go_on_with_the_run) {
  BOOST_REQUIRE(run(out, {"--log-layers", "1ep", "--stop-at", "15st"}) == 0);
  BOOST_REQUIRE(run({"--resume", out.string(), "--stop-at", "20st", "--log-layers", "4st"}) == 0);
  const std::vector<LayerNorms> norms = read_layer_norms(out / "metrics.jsonl", 5);
  std::vector<int64_t> steps;
  for (const LayerNorms& line : norms) {
    steps.push_back(line.step);
    BOOST_TEST(line.trust.empty());
  }
  BOOST_TEST(steps == (std::vector<int64_t>{0, 10, 16}));
}

BOOST_AUTO_TEST_CASE(a_heat_map_has_a_row_a_layer_and_a_column_a_step) {
  const double none = std::nan("");
  const std::vector<LoggedLayer> layers = {{"conv1.weight", true}, {"bn1.bias", false}};
  const std::vector<LayerNorms> norms = {{0, {3, 0}, {0.5, 0.25}, {0.001, none}},
                                         {50, {2, 0.1}, {0.25, 0.5}, {0.002, none}}};
  const std::string picture = layer_picture("small, optimizer lars, kn 64", layers, norms);
  const std::string bar_part =
      "<rect x=\"[0-9.]+\" y=\"156.00\" width=\"5.20\" height=\"10.00\" fill=\"(#[0-9a-f]+)\"/>\n";
  const std::vector<test::Match> bars = test::all_matches(picture, bar_part);
  BOOST_REQUIRE(bars.size() == 3u * 60);  // a scale of 60 colours below each of three maps
  for (const auto& [part, colour] :
       {std::pair{0, "#440456"}, {30, "#23938b"}, {59, "#f8e627"}, {60, "#440456"}, {179, "#f8e627"}})
    BOOST_TEST(bars[static_cast<size_t>(part)][1] == colour);
  test::golden("layers.svg", test::without_matches(picture, bar_part));
}

BOOST_AUTO_TEST_CASE(a_run_stops_where_it_is_told_and_keeps_its_schedule) {
  BOOST_REQUIRE(run(plain, {}) == 0);
  BOOST_REQUIRE(run(out, {"--stop-at", "1ep"}) == 0);
  BOOST_TEST(lines_of(out).back().at("steps") == 10);
  BOOST_TEST(of_kind(lines_of(out), "eval").size() == 1u);
  for (int i = 0; i < 10; ++i)
    BOOST_TEST(of_kind(lines_of(out), "step")[i].at("lr") == of_kind(lines_of(plain), "step")[i].at("lr"));
  BOOST_REQUIRE(run({"--resume", out.string(), "--stop-at", "20st"}) == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(plain));
  BOOST_REQUIRE(run(directory / "learnt", {"--stop-at", "100%"}) == 0);  // an error is never above 100 %
  BOOST_TEST(lines_of(directory / "learnt").back().at("steps") == 10);
  BOOST_REQUIRE(run({"--resume", (directory / "learnt").string()}) == 0);
  BOOST_TEST(lines_of(directory / "learnt").back().at("steps") == 10);
}

BOOST_AUTO_TEST_CASE(durations_are_read_or_refused) {
  const RunPlan plan{100, 10, 10, 20};
  BOOST_TEST(parse_duration("--x", "7st").steps(plan.steps_per_epoch) == 7);
  BOOST_TEST(parse_duration("--x", "1.5ep").steps(plan.steps_per_epoch) == 15);
  BOOST_TEST(parse_duration("--x", "0.001ep").steps(plan.steps_per_epoch) == 1);
  BOOST_TEST(last_step(parse_stop_at("9ep"), plan) == 20);
  BOOST_TEST(*parse_stop_at("8.5%").percent == 8.5);
  for (const char* wrong : {"7", "1.5st", "0st", "-1ep", "nanep", "infst", "ep", "7 st", "1e400ep", "3e9st"})
    BOOST_TEST(usage_error({"--log-layers", wrong}).starts_with("--log-layers: expected steps or epochs"), wrong);
  for (const char* wrong : {"101%", "0%", "%", "x%", "7"})
    BOOST_TEST(usage_error({"--stop-at", wrong}).starts_with("--stop-at: expected steps or epochs"), wrong);
}

BOOST_AUTO_TEST_CASE(one_learning_rate_is_given) {
  const std::string both = usage_error({"--lr", "0.4", "--base-lr", "0.1", "--base-minibatch", "64"});
  BOOST_TEST(both.starts_with("--lr, --base-lr: expected one of them, got both\n  hint:     --lr X is"), both);
  BOOST_TEST(usage_error({"--lr", "0.4", "--base-minibatch", "64"}).starts_with("--lr, --base-minibatch: expected"));
  BOOST_TEST(usage_error({"--base-lr", "0.1"}).starts_with("--base-lr: expected --base-minibatch B beside it"));
  BOOST_TEST(usage_error({"--eval-ema"}).starts_with("--eval-ema: it has no effect here\n  expected: --ema D"));
  BOOST_TEST(usage_error({"--lr", "0.4", "--base-minibatch", "0"}) == "(nothing thrown)");
  // The recipe's base rate gives way to --lr, and holds for another --base-minibatch.
  const RunConfig peak = *parse_flags(resnet50(), "", {"--lr", "3.2"});
  BOOST_TEST(peak.learning.base_minibatch == 0);
  BOOST_TEST(peak.learning.lr == 3.2);
  BOOST_TEST(parse_flags(resnet50(), "", {"--base-minibatch", "128"})->learning.lr == 0.1);
  BOOST_TEST(parse_flags(resnet50(), "", {"--optimizer", "lars"})->learning.base_minibatch == 0);
}

BOOST_AUTO_TEST_CASE(a_schedule_is_printed_and_drawn) {
  const auto table = [](const Recipe& recipe, const Words& words, int64_t samples) {
    const RunConfig config = *parse_flags(recipe, "", words);
    return schedule_text(recipe, config, make_plan(config, samples));
  };
  const std::string text =
      table(resnet50(), {"--minibatch", "8192"}, 1281167) + "\n" +
      table(resnet50(),
            {"--minibatch", "8192", "--optimizer", "lars-mlperf", "--lr", "10", "--skip-lr", "0.1", "--schedule",
             "mlperf", "--end-lr", "1e-4", "--warmup-from", "0", "--epochs", "41"},
            1281167) +
      "\n" + table(lenet_mnist(), {"--minibatch", "4096", "--optimizer", "rmsprop-warmup", "--epochs", "16"}, 60000) +
      "\n" + table(lenet_mnist(), {"--steps", "5"}, 60000);
  test::golden("schedules.txt", text);
  const RunConfig config = *parse_flags(resnet50(), "", {"--minibatch", "8192"});
  const std::string picture = schedule_picture(resnet50(), config, make_plan(config, 1281167));
  BOOST_TEST(picture.starts_with("<svg"));
  BOOST_TEST(run({"--print-schedule", (directory / "s.svg").string(), "--out", out.string()}) == 0);
  BOOST_TEST(test::read_file(directory / "s.svg").ends_with("</svg>\n"));
  BOOST_TEST(!fs::exists(out));
}

// Half of the 100 samples are left to train on.
BOOST_AUTO_TEST_CASE(a_printed_schedule_leaves_out_samples_that_are_held_out) {
  const std::string file = (directory / "s.svg").string();
  BOOST_TEST(run({"--print-schedule", file, "--validation", "50", "--schedule", "cosine"}) == 0);
  BOOST_TEST(test::contains(test::read_file(file), "cosine over 10 steps"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::update_flags_test
