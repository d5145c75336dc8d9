// A run that was stopped after any step goes on to the same bits, in the same folder.
#include "recipes/run/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/train/loop_result.h"
#include "recipes/train/metrics_cut.h"
#include "recipes/train/past_lines.h"
#include "runtime/checkpoint.h"
#include "runtime/safetensors.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/resumed_run.h"
#include "tests/support/matches.h"

namespace kb::resume_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::checkpoint_name, test::complaint, test::contains, test::lines_of, test::run, test::small_recipe,
    test::state_sha256, test::trace;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume, test::ResumedRun)

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

// The estimated statistics stay the same even if the evaluation at the checkpoint is not among the metrics and is done
// again.
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
  BOOST_TEST(test::contains(complaint(out, {"--recompute-bn", "0"}), "- --recompute-bn 4   the run has"));
}

// schedule-free keeps a mean of the weights over all steps, in which the share of a step follows from all learning
// rates before it.
BOOST_AUTO_TEST_CASE(a_mean_over_all_steps_goes_on) {
  train({"--optimizer", "schedule-free", "--lr", "0.3", "--recompute-bn", "2"});
  for (const int64_t step : {1, 13}) {
    die_after(step);
    BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
    BOOST_TEST(state_sha256(out) == state_sha256(whole));
  }
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
  const SafetensorsFile model = read_safetensors(whole / "model.safetensors");
  BOOST_TEST(std::ranges::none_of(model.tensors, [](const NamedTensor& t) { return t.name.starts_with("velocity."); }));
  BOOST_TEST(
      !open_resumed(small_recipe(), *parse_flags(small_recipe(), "", {"--resume", whole.string()}), {}).ended.empty());
}

// The run died after the last line of its metrics, while it drew its curves.
BOOST_AUTO_TEST_CASE(a_run_without_an_end_in_its_manifest_ends_once_more) {
  train();
  fs::copy(whole, out, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  const Json result = manifest.at("result");
  manifest.erase("ended");
  manifest.erase("result");
  manifest["started"] = "before";
  test::write_file(out / "manifest.json", manifest.dump());
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  const Json again = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(again.at("ended").at("how") == "finished");
  BOOST_TEST(again.at("result") == result);
  BOOST_TEST(again.at("started") == "before");
  BOOST_TEST(trace(out) == trace(whole));
}

// The lines are those of a run that a signal stopped while it evaluated its final state.
BOOST_AUTO_TEST_CASE(a_run_that_was_stopped_in_its_last_evaluation_makes_it) {
  train();
  fs::copy(whole, out, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  manifest["ended"]["how"] = "interrupted";
  test::write_file(out / "manifest.json", manifest.dump());
  std::string text;
  for (const Json& line : test::lines_of(whole))
    if (line.at("kind") != "eval" || line.at("step") < 20) text += line.dump() + "\n";
  test::write_file(out / "metrics.jsonl", text);
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  BOOST_TEST(Json::parse(test::read_file(out / "manifest.json")).at("ended").at("how") == "finished");
  BOOST_TEST(trace(out) == trace(whole));
}

// The process died before its first checkpoint, with an order whose head was not on the disk.
BOOST_AUTO_TEST_CASE(an_order_of_no_checkpoint_begins_anew) {
  train({"--per-worker", "5", "--policy", "async"});
  fs::copy(whole, out, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  manifest.erase("ended");
  test::write_file(out / "manifest.json", manifest.dump());
  fs::remove_all(out / "checkpoints");
  for (const char* file : {"metrics.jsonl", "order.jsonl"}) test::write_file(out / file, "");
  BOOST_REQUIRE(run({"--resume", out.string()}) == 0);
  BOOST_TEST(trace(out) == trace(whole));
  BOOST_TEST(test::read_file(out / "order.jsonl") == test::read_file(whole / "order.jsonl"));
}

BOOST_AUTO_TEST_CASE(a_run_grows_longer_where_its_steps_would_have_been_the_same) {
  const fs::path longer = directory / "longer";
  BOOST_REQUIRE(run(longer, {"--schedule", "constant", "--epochs", "3"}) == 0);
  BOOST_REQUIRE(run(out, {"--schedule", "constant"}) == 0);
  BOOST_REQUIRE(run({"--resume", out.string(), "--epochs", "3"}) == 0);
  BOOST_TEST(trace(out) == trace(longer));
  BOOST_TEST(Json::parse(test::read_file(out / "manifest.json")).at("flags").at("epochs") == 3);
  BOOST_TEST(run({"--resume", out.string()}) == 0);
  BOOST_TEST(run({"--resume", out.string(), "--epochs", "1"}) == 1);  // the run has done more steps already
  const fs::path counted = directory / "counted";
  BOOST_REQUIRE(run(counted, {"--schedule", "constant", "--steps", "11"}) == 0);
  BOOST_REQUIRE(run({"--resume", counted.string(), "--steps", "30"}) == 0);
  BOOST_TEST(state_sha256(counted) == state_sha256(longer));
  train();
  BOOST_TEST(run({"--resume", whole.string(), "--epochs", "3"}) == 1);  // its cosine would have fallen more slowly
}

BOOST_AUTO_TEST_CASE(the_manifest_repeats_the_run_and_fixes_its_shards) {
  BOOST_REQUIRE(run(out, {"--shards", "3", "--quiet"}) == 0);
  const Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("flags").at("shards") == 3);
  const auto commit = manifest.at("versions").at("commit").get<std::string>();
  BOOST_TEST(!test::whole_match(commit, "unknown|[0-9a-f]{12}([+][0-9a-f]{8})?").empty(), commit);
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

// Holds what a training that goes on restores from the kept lines of its metrics.
struct PastState {
  StepSums sums;  // since the last evaluation
  std::vector<int64_t> steps;
  std::optional<Evaluation> evaluation;  // after the last step
  std::optional<BestState> best;
};

PastState past_state(const MetricsCut& cut, const ComputedMetrics& metrics = {{{"error"}}, {}}) {
  PastState all;
  for_each_flat_json(cut.past, [&](const FlatJson& line) {
    if (is_step(line)) {
      all.steps.push_back(step_of(line));
      all.sums.add(loss_of(line), means_of(line, metrics.training));
      all.evaluation.reset();
    } else if (is_evaluation(line)) {
      all.evaluation = evaluation_of(line, metrics.test);
      all.sums = {};
      if (is_better(*all.evaluation, all.best)) all.best = {step_of(line), *all.evaluation, std::nullopt};
    }
  });
  return all;
}

// Whatever became of line 5, a checkpoint of step 60 keeps the 60 lines before it and the damaged one as it is.
BOOST_AUTO_TEST_CASE(a_damaged_line_of_the_metrics_cuts_nothing_off) {
  const fs::path file = directory / "m";
  const std::string before = step_lines(0, 4), after = step_lines(5, 60), past = step_lines(60, 65);
  for (const std::string& damaged :
       {std::string("{\"kind\":\"step\",\"st\n"), std::string(40, '\0') + "\n", std::string("\n"), std::string("7\n"),
        std::string("{\"kind\":7,\"step\":4}\n"), std::string("{\"kind\":\"step\",\"step\":\"4\"}\n"),
        std::string("{\"kind\":\"step\",\"step\":1e999}\n"),
        std::string("{\"kind\":\"step\",\"step\":4,\"loss\":\"5\"}\n"), step_line(99), step_line(0), step_line(-4)}) {
    test::write_file(file, before + damaged + after + past);
    fs::remove(directory / kCutMetrics);
    const MetricsCut cut = cut_metrics(file, 60, false);
    BOOST_TEST(test::read_file(file) == before + damaged + after, damaged);
    BOOST_TEST(cut.dropped == 5, damaged);
    BOOST_TEST(cut.damaged == std::vector<int64_t>{5}, damaged);
    BOOST_TEST(cut.last_step == 59, damaged);
    const PastState state = past_state(cut);
    BOOST_TEST(state.sums.steps == 59, damaged);
    BOOST_TEST(state.sums.loss == 60 * 61 / 2 - 5, damaged);
    BOOST_TEST(state.steps.at(3) == 3, damaged);
    BOOST_TEST(state.steps.at(4) == 5, damaged);
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
  const StepSums sums = past_state(cut_metrics(file, 2, false), metrics).sums;
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
  BOOST_TEST(!past_state(cut_metrics(file, 2, true)).best);
  test::write_file(file, lines + finite);
  const std::optional<BestState> best = past_state(cut_metrics(file, 2, true)).best;
  BOOST_REQUIRE(best);
  BOOST_TEST(best->step == 2);
  BOOST_TEST(best->evaluation.figures.at(0).value == 0.5);
}

// The best state may be newer or older than the evaluation that a run goes on from. All processes have the model, or
// none.
BOOST_AUTO_TEST_CASE(the_model_of_a_step_is_of_that_step) {
  train();
  const fs::path checkpoints = whole / "checkpoints";
  fs::rename(checkpoints / checkpoint_name(7), checkpoints / kBestCheckpoint);
  const auto models = [&](int64_t step, bool second_sees) {
    std::vector<std::string> hashes(2);
    test::on_ranks(2, [&](int rank, Machine machine) {
      const fs::path folder = rank == 0 || second_sees ? checkpoints : directory.path();
      const std::vector<NamedTensor> model = saved_model(machine.world, folder, step);
      hashes[static_cast<size_t>(rank)] = model.empty() ? "" : kb::state_sha256(views_of(model));
    });
    return hashes;
  };
  const auto hash_of = [](const fs::path& file) {
    return kb::state_sha256(views_of(model_tensors(read_checkpoint(file))));
  };
  const std::string seventh = hash_of(checkpoints / kBestCheckpoint), ninth = hash_of(checkpoints / checkpoint_name(9));
  BOOST_TEST(seventh != ninth);
  BOOST_TEST((models(7, true) == std::vector{seventh, seventh}));
  BOOST_TEST((models(9, true) == std::vector{ninth, ninth}));
  for (const auto& none : {models(9, false), models(50, true)}) BOOST_TEST((none == std::vector<std::string>(2)));
}

BOOST_AUTO_TEST_CASE(metrics_are_cut_at_the_checkpoint) {
  const fs::path file = directory / "m";
  auto cut = [&](const std::string& text, int64_t step, bool due) {
    test::write_file(file, text);
    return cut_metrics(file, step, due);
  };
  const std::string steps = "{\"kind\":\"step\",\"step\":0,\"loss\":2}\n{\"kind\":\"step\",\"step\":1,\"loss\":1}\n";
  const std::string eval = "{\"kind\":\"eval\",\"loss\":3,\"error\":0.5,\"count\":37}\n";
  const std::string end = "{\"kind\":\"end\",\"steps\":2}\n";
  MetricsCut result = cut(steps + eval + end, 2, true);
  BOOST_TEST(test::read_file(file) == steps + eval);
  BOOST_TEST(result.dropped == 1);
  BOOST_TEST(past_state(result).evaluation->count == 37);
  BOOST_TEST(past_state(result).sums.steps == 0);
  BOOST_TEST(result.last_step == 1);
  result = cut(steps + eval + end, 2, false);  // the evaluation was made at a Ctrl-C, when none was due
  BOOST_TEST(test::read_file(file) == steps);
  BOOST_TEST(!past_state(result).evaluation);
  BOOST_TEST(past_state(result).sums.loss == 3.0);
  BOOST_TEST(past_state(result).sums.steps == 2);
  result = cut(steps + eval, 1, false);
  BOOST_TEST(past_state(result).sums.loss == 2.0);
  BOOST_TEST(result.dropped == 2);
  result = cut(steps + "{\"kind\":\"step\",\"st", 9, false);  // the last line is torn
  BOOST_TEST(test::read_file(file) == steps);
  BOOST_TEST(result.last_step == 1);
  for (const char* none : {"", "{\"kind\":\"step\",\"st"}) BOOST_TEST(cut(none, 3, false).last_step == -1, none);
  test::write_file(file, steps + end);
  BOOST_TEST(ended_after(file).value() == 2);
  test::write_file(file, steps + eval);
  BOOST_TEST(!ended_after(file));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::resume_test
