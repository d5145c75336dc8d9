// Programs that share a run over MPI: one set of bits for every split, whoever starts, stops or dies.
#include "tests/recipes/run/process_runs.h"

#include <boost/test/unit_test.hpp>

namespace kb::processes_test {

BOOST_AUTO_TEST_SUITE(processes)

BOOST_AUTO_TEST_CASE(every_split_ends_in_one_state) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const std::string alone = state_after(folder.path() / "1", 1);
  BOOST_TEST(!alone.empty());
  BOOST_TEST(state_after(folder.path() / "2", 2) == alone);
  BOOST_TEST(state_after(folder.path() / "4", 4) == alone);
  // Every line that the leading process writes is that of a run alone.
  BOOST_TEST(test::trace(folder.path() / "2") == test::trace(folder.path() / "1"));
}

// Every process estimates the statistics of batch norm itself, from the same minibatches.
BOOST_AUTO_TEST_CASE(statistics_estimated_anew_are_those_of_one_process) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const std::string more = "--steps 3 --recompute-bn 5";
  const std::string alone = state_after(folder.path() / "1", 1, more);
  BOOST_TEST(!alone.empty());
  BOOST_TEST(state_after(folder.path() / "2", 2, more) == alone);
  BOOST_TEST(state_after(folder.path() / "0", 1, "--steps 3") != alone);
}

// Neither a slow network nor the cut of the gradient changes a bit; the table has a line a bucket.
BOOST_AUTO_TEST_CASE(a_described_network_and_buckets_change_no_bits) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const std::string one = state_after(folder.path() / "1", 2, "--steps 3 --bucket-mb 25");
  const Ended cut = run_shell(
      kProgram + words(folder.path() / "2", 2, "--steps 3 --bucket-mb 0.05 --net 100us,100MB/s --explain-overlap"));
  BOOST_TEST(cut.code == 0, cut.text);
  BOOST_TEST(test::state_sha256(folder.path() / "2") == one);
  for (const char* part : {"as over 100 us, 0.1 GB/s", "linear.*, layer3.*", "losses, statistics", "\nexposed "})
    BOOST_TEST(test::contains(cut.text, part));
  const Ended alone = run_shell(kProgram + words(folder.path() / "3", 1, "--net 1us,1GB/s"));
  BOOST_TEST(alone.code == 2, alone.text);
}

// With one sample a worker, the gradient of a bias is that of the layer's output, which the backward pass reads while
// its bucket is summed.
BOOST_AUTO_TEST_CASE(one_sample_a_worker_in_buckets_of_any_size) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const auto state = [&](const std::string& name, const std::string& more) {
    const Ended ended = run_shell(KB_BIN "/mlp_mnist --dataset synthetic --minibatch 4 --per-worker 1 --steps 3 " +
                                  std::string("--threads 1 --out ") + (folder / name).string() + " " + more);
    BOOST_TEST(ended.code == 0, ended.text);
    return test::state_sha256(folder / name);
  };
  const std::string alone = state("1", "");
  BOOST_TEST(!alone.empty());
  BOOST_TEST(state("2", "--processes 2") == alone);
  BOOST_TEST(state("4", "--processes 4 --bucket-mb 0.000001") == alone);
}

// Every process reports a drawn step, on one clock; the bits are those of a run that is not drawn.
BOOST_AUTO_TEST_CASE(every_process_is_in_the_trace) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const fs::path picture = folder / "a.svg", trace = folder / "a.json";
  for (const std::string per_worker : {"8", "4"}) {
    const std::string steps = "--steps 3 --bucket-mb 0.05";
    const auto split = [&](const std::string& out) {
      std::string text = words(folder / out, 2, steps);
      return text.replace(text.find("--per-worker 4"), 14, "--per-worker " + per_worker);
    };
    BOOST_REQUIRE(run_shell(kProgram + split("plain")).code == 0);
    const Ended drawn =
        run_shell(kProgram + split("drawn") + " --picture " + picture.string() + " --trace " + trace.string());
    BOOST_TEST(drawn.code == 0, drawn.text);
    BOOST_TEST(test::contains(drawn.text, ": step 2, measured: picture " + picture.string()));
    BOOST_TEST(test::state_sha256(folder / "drawn") == test::state_sha256(folder / "plain"));
    std::map<int, std::vector<std::string>> ids;  // the key is the rank
    int reductions = 0;
    const nlohmann::json events = nlohmann::json::parse(test::read_file(trace)).at("traceEvents");
    for (const nlohmann::json& event : events) {
      if (event.at("ph") != "X") continue;
      ids[event.at("pid").get<int>()].push_back(event.at("args").at("id"));
      reductions += event.at("cat") == "all_reduce" ? 1 : 0;
    }
    BOOST_TEST(ids.size() == 2u);
    for (auto& [rank, all] : ids) std::sort(all.begin(), all.end());
    BOOST_TEST(ids[0] == ids[1]);
    BOOST_TEST(reductions > 8);
    BOOST_TEST(test::contains(test::read_file(picture), "rank 0 of 2: "));
    for (const char* out : {"plain", "drawn"}) fs::remove_all(folder / out);
  }
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_in_another_split) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const fs::path out = folder.path() / "run";
  const std::string whole = state_after(out, 1, "--steps 6 --save-every 2 --keep 9");
  std::string name;
  for (const fs::path& file : list_checkpoints(out / "checkpoints"))
    if (read_checkpoint(file).step == 2) name = file.filename().string();
  BOOST_REQUIRE(!name.empty());
  const Ended ended = run_shell(kProgram + " --resume " + out.string() + " --checkpoint " + name + " --processes 2");
  BOOST_TEST(ended.code == 0, ended.text);
  BOOST_TEST(test::state_sha256(out) == whole);
}

// The means of training metrics go on from the leading process's folder; a flag that one process has no use for does
// not keep a run from going on.
BOOST_AUTO_TEST_CASE(metrics_of_training_go_on_whatever_the_split) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const fs::path whole = folder.path() / "whole", out = folder.path() / "run";
  const std::string more = "--steps 9 --save-every 1 --train-metrics";
  state_after(whole, 1, more);
  const Ended begun = run_shell(kProgram + words(out, 2, more + " --all-reduce ring --fast --stop-at 3st"));
  BOOST_TEST(begun.code == 0, begun.text);
  for (const auto& [processes, steps] : {std::pair{"1", "5st"}, {"2", "7st"}, {"2", "9st"}}) {
    const Ended ended =
        run_shell(kProgram + " --resume " + out.string() + " --processes " + processes + " --stop-at " + steps);
    BOOST_TEST(ended.code == 0, ended.text);
  }
  const auto means = [](const fs::path& run) {
    const nlohmann::json evaluation = test::of_kind(test::lines_of(run), "eval").back();
    return std::pair(evaluation.at("train_error").get<double>(), evaluation.at("train_loss").get<double>());
  };
  BOOST_TEST(means(out).first == means(whole).first, boost::test_tools::tolerance(0.2));
  BOOST_TEST(means(out).second == means(whole).second, boost::test_tools::tolerance(1e-3));
}

// The flags are compared first, so that processes are told apart even if they would send each other other messages.
BOOST_AUTO_TEST_CASE(processes_that_differ_are_told_apart) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  std::string command;
  for (const std::string& word : mpirun_command(RuntimeOptions::from_environment().mpirun, 2, {}))
    command += word + " ";
  for (const std::string differs : {"--seed 2", "--save-every 3"}) {
    const Ended ended = run_shell(command + "sh -c 'exec " + kProgram + words(folder.path() / "run", 1) +
                                  " $([ $OMPI_COMM_WORLD_RANK = 0 ] || echo \"" + differs + "\")'");
    BOOST_TEST(ended.code != 0);
    BOOST_TEST(test::contains(ended.text, "flags of rank 1 differs"));
    BOOST_TEST(test::contains(ended.text, "+ " + differs));
  }
}

// The state is the same whether images come from a folder or a pack, and whichever process reads which of them.
BOOST_AUTO_TEST_CASE(images_in_files_give_one_state_in_every_split) {
  if (!can_share()) return;
  const test::Photos photos;
  const std::string pack = photos.dir() + "/photos.pack";
  write_pack(*open_image_store({photos.dir(), {}, 1}), pack, {});
  const auto state = [&](const std::string& name, int processes, const std::string& data, const std::string& more) {
    const fs::path out = photos.directory / name;
    const Ended ended = run_shell(
        fmt::format("{} --depth 8 --dataset imagenet --data {} --image 16 --augment resized-crop,flip,jitter,lighting "
                    "--minibatch 8 --per-worker 2 --threads 1 --eval-every 0 --steps 4 --processes {} --out {} {}",
                    kProgram, data, processes, out.string(), more));
    BOOST_TEST(ended.code == 0, ended.text);
    return test::state_sha256(out);
  };
  const std::string expected = state("folder1", 1, photos.dir(), "");
  BOOST_TEST(!expected.empty());
  BOOST_TEST(state("pack1", 1, pack, "") == expected);
  BOOST_TEST(state("folder4", 4, photos.dir(), "") == expected);
  BOOST_TEST(state("pack2", 2, pack, "") == expected);
  // The run is stopped on 4 processes and goes on on 2.
  state("stopped", 4, photos.dir(), "--stop-at 2st");
  const fs::path out = photos.directory / "stopped";
  const Ended ended = run_shell(kProgram + " --resume " + out.string() + " --stop-at 4st --processes 2 --data " + pack);
  BOOST_TEST(ended.code == 0, ended.text);
  BOOST_TEST(test::state_sha256(out) == expected);
}

// The ranks of a trial are started by mpirun although the sweep's program is not that of a recipe.
BOOST_AUTO_TEST_CASE(a_trial_of_a_sweep_is_several_processes) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const auto state_of = [&](const std::string& processes) {
    const fs::path store = folder / processes;
    test::Words words = test::sweep(store, {"--per-worker", "16", "--processes", processes});
    for (const auto& [flag, value] : {std::pair{"--grid", "minibatch=64"}, {"--trials", "1"}, {"--seeds", "1"}})
      words = test::with_value(words, flag, value);
    BOOST_TEST(test::output_of(words).status == 0);
    const nlohmann::json manifest = nlohmann::json::parse(test::read_file(store / "kn64-p00/manifest.json"));
    BOOST_TEST(manifest.at("flags").at("processes") == std::stoi(processes));
    return test::state_sha256(store / "kn64-p00");
  };
  const std::string alone = state_of("1");
  BOOST_TEST(!alone.empty());
  BOOST_TEST(state_of("2") == alone);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::processes_test
