// A checkpoint comes back byte for byte, and every damage to it is found.
#include "runtime/checkpoint.h"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>
#include <utility>

#include "runtime/atomic_file.h"
#include "runtime/safetensors.h"
#include "runtime/sha256.h"
#include "tests/runtime/elsewhere.h"
#include "tests/support/few_threads.h"
#include "tests/support/file_faults.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::checkpoint_test {

namespace fs = std::filesystem;

namespace {

Variable variable(const std::string& name, VariableKind kind, Dims shape) {
  return {name, {DType::f32, std::move(shape), ""}, kind, Role::weight, {InitKind::normal, 0, 1}, {}, 0};
}

std::vector<std::string> names(const std::vector<fs::path>& paths) {
  std::vector<std::string> result;
  for (const fs::path& path : paths) result.push_back(path.filename().string());
  return result;
}

std::string complaint(const fs::path& path) {
  return test::error_of([&] { read_checkpoint(path); });
}

// The store has a layer whose name looks like that of a slot, the slot of another layer, a running mean, and the loss
// scale of f16.
struct Fixture {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  StateStore store{*backend};
  test::TemporaryDirectory directory;
  const std::string digits = std::string(64, 'a');

  Fixture() {
    store.adopt({variable("fc.weight", VariableKind::parameter, {3, 5}),
                 variable("velocity.fc.weight", VariableKind::slot, {3, 5}),
                 variable("velocity.weight", VariableKind::parameter, {2}),
                 variable("bn.running_mean", VariableKind::state, {4}), variable("loss_scale", VariableKind::state, {}),
                 variable("loss_scale.good_steps", VariableKind::state, {})},
                {});
    store.initialise(7);
  }
  CheckpointFolder folder(int64_t keep) const {
    return {directory / "c", {{"recipe", "r"}, {"graph", "a \"step\":\"x\"\nb"}}, keep};
  }
  fs::path save(int64_t step, int64_t keep = 2) const {
    CheckpointWriter writer(store, folder(keep));
    writer.save({step, step * 10, digits});
    writer.wait();
    return list_checkpoints(directory / "c").at(0);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(checkpoint, Fixture)

// If no thread can be made, save() writes the file itself, so that it is on the disk before anybody waits.
BOOST_AUTO_TEST_CASE(without_a_thread_the_caller_writes) {
  const test::FewThreads few(0);
  CheckpointWriter writer(store, folder(2));
  writer.save({4, 40, digits});
  BOOST_TEST(names(list_checkpoints(directory / "c")) == std::vector<std::string>{"step-00000004.safetensors"});
  BOOST_TEST(read_checkpoint(directory / "c/step-00000004.safetensors").samples == 40);
  writer.check();
}

BOOST_AUTO_TEST_CASE(comes_back_byte_for_byte) {
  const Checkpoint read = read_checkpoint(save(1234));
  BOOST_TEST(read.path.filename().string() == "step-00001234.safetensors");
  BOOST_TEST(read.step == 1234);
  BOOST_TEST(read.samples == 12340);
  BOOST_TEST(read.fact("schedule_sha256") == digits);
  BOOST_TEST(read.fact("graph") == "a \"step\":\"x\"\nb");
  BOOST_TEST(read.fact("state_sha256") == store.state_sha256());
  const std::string hash = store.state_sha256();
  store.initialise(8);
  BOOST_TEST(store.state_sha256() != hash);
  BOOST_TEST(store.load(read.tensors).empty());
  BOOST_TEST(store.state_sha256() == hash);
}

BOOST_AUTO_TEST_CASE(the_state_is_that_of_the_call_whatever_follows) {
  CheckpointFolder into = folder(3);
  into.before = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };  // the next save comes meanwhile
  CheckpointWriter writer(store, into);
  const std::string hash = store.state_sha256();
  writer.save({1, 10, digits});
  store.initialise(9);
  writer.save({2, 20, digits});
  writer.wait();
  const std::vector<fs::path> files = list_checkpoints(directory / "c");
  BOOST_TEST(read_checkpoint(files.at(1)).fact("state_sha256") == hash);
  BOOST_TEST(read_checkpoint(files.at(0)).fact("state_sha256") == store.state_sha256());
}

// A device goes on writing its memory: each save fetches what is there then.
BOOST_AUTO_TEST_CASE(a_devices_state_is_that_of_the_save) {
  test::Elsewhere far;
  StateStore state(far);
  state.adopt({variable("fc.weight", VariableKind::parameter, {3, 5})}, {});
  CheckpointWriter writer(state, folder(1));
  reinterpret_cast<float*>(state.data("fc.weight"))[3] = 8;
  writer.save({1, 10, digits});
  writer.wait();
  const Checkpoint read = read_checkpoint(list_checkpoints(directory / "c").at(0));
  BOOST_TEST(load_element(DType::f32, read.tensors.at(0).data.data(), 3) == 8);
}

BOOST_AUTO_TEST_CASE(the_state_of_a_schedule_has_a_place_of_fixed_width) {
  CheckpointFolder into = folder(1);
  into.facts[kScheduleState] = "0000";
  CheckpointWriter writer(store, into);
  writer.save({.step = 1, .schedule_sha256 = digits, .schedule_state = "abcd"});
  writer.wait();
  BOOST_TEST(read_checkpoint(list_checkpoints(directory / "c").at(0)).fact(kScheduleState) == "abcd");
  BOOST_CHECK_THROW(writer.save({.step = 2, .schedule_sha256 = digits, .schedule_state = "abc"}), InternalError);
}

// A state with a NaN is neither saved nor read: a run would not recover from it.
BOOST_AUTO_TEST_CASE(a_state_that_is_not_finite_is_refused) {
  const fs::path good = save(1);
  const std::string old_hash = store.state_sha256(), whole = test::read_file(good);
  float& value = reinterpret_cast<float*>(store.data("fc.weight"))[2];
  const float before = std::exchange(value, NAN);
  const std::string said = test::error_of([&] { save(2); });
  BOOST_TEST(said.starts_with("no checkpoint is made of the state after step 2, which is not finite: fc.weight: 1 of "),
             said);
  BOOST_TEST(test::contains(said, "\n  kept: " + good.string()));
  BOOST_TEST(test::read_file(good) == whole);
  // Another program may have written such a file, with right hashes.
  const auto replace = [](std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  const auto bytes_of = [](const float& number) { return std::string(reinterpret_cast<const char*>(&number), 4); };
  std::string bad = whole;
  const size_t body = whole.size() - 152;
  bad.replace(bad.find(bytes_of(before), body), 4, bytes_of(value));
  replace(bad, old_hash, store.state_sha256());
  const std::string mark = "\"header_sha256\":\"";
  const std::string header_hash = bad.substr(bad.find(mark) + mark.size(), 64);
  replace(bad, header_hash, std::string(64, '0'));
  replace(bad, mark + std::string(64, '0'), mark + sha256_hex(bad.substr(0, body)));
  test::write_file(good, bad);
  BOOST_TEST(test::contains(complaint(good), "it is of a run that diverged: fc.weight: 1 of 15 values is not finite"));
}

// Names alone do not tell: a layer may be called as a slot or as the loss scale is elsewhere.
BOOST_AUTO_TEST_CASE(a_layer_may_have_any_name) {
  Checkpoint checkpoint;
  checkpoint.metadata["slots"] = "velocity";
  for (const char* name : {"first.weight", "loss_scale", "velocity.weight", "weight"})
    checkpoint.tensors.push_back({name, {DType::f32, {}, ""}, std::vector<std::byte>(4)});
  std::vector<std::string> kept;
  for (const NamedTensor& tensor : model_tensors(checkpoint)) kept.push_back(tensor.name);
  BOOST_TEST(kept == (std::vector<std::string>{"first.weight", "loss_scale", "weight"}));
}

BOOST_AUTO_TEST_CASE(a_model_is_without_its_slots) {
  std::vector<std::string> kept;
  for (const NamedTensor& tensor : model_tensors(read_checkpoint(save(1)))) kept.push_back(tensor.name);
  const std::vector<std::string> expected = {"bn.running_mean", "fc.weight", "velocity.weight"};
  BOOST_TEST(kept == expected);
}

BOOST_AUTO_TEST_CASE(the_newest_stay_and_a_future_given_up_goes) {
  for (int64_t step : {5, 10, 15, 200000000, 20}) save(step, 3);
  const std::vector<std::string> expected = {"step-00000020.safetensors", "step-00000015.safetensors",
                                             "step-00000010.safetensors"};
  BOOST_TEST(names(list_checkpoints(directory / "c")) == expected);
  BOOST_TEST(list_checkpoints(directory / "none").empty());
}

// The best state stays when the checkpoint of its step goes, and gives way to a better one. Where there are no hard
// links it is a copy, which is as safe on the disk as the checkpoint.
BOOST_AUTO_TEST_CASE(the_best_state_stays) {
  for (const int no_link : {0, EPERM}) {
    const test::Lacking lacking(no_link, 0);
    CheckpointWriter writer(store, folder(1));
    for (const auto& [step, is_best] : {std::pair(1, true), {2, false}, {3, true}, {4, false}}) {
      store.initialise(static_cast<uint32_t>(step));
      const test::Flushes flushes;
      writer.save({step, step, digits, is_best});
      writer.wait();
      BOOST_TEST(flushes.files() == (no_link != 0 && is_best ? 2 : 1));
      BOOST_TEST(read_checkpoint(directory / "c" / kBestCheckpoint).step == (step < 3 ? 1 : 3));
    }
    BOOST_TEST(std::distance(fs::directory_iterator(directory / "c"), fs::directory_iterator()) == 2);
    fs::remove_all(directory / "c");
  }
}

BOOST_AUTO_TEST_CASE(other_files_are_no_checkpoints) {
  save(5);
  for (const char* name : {"step-00000007.safetensors.99.0.tmp", "step-.safetensors", "step-7a.safetensors", "notes"})
    test::write_file(directory / "c" / name, "x");
  BOOST_TEST(list_checkpoints(directory / "c").size() == 1u);
}

BOOST_AUTO_TEST_CASE(cut_short_anywhere_is_found) {
  const fs::path path = save(3);
  const std::string whole = test::read_file(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    test::write_file(path, whole.substr(0, length));
    const std::string said = complaint(path);
    if (said.find("it is cut short") == std::string::npos) BOOST_ERROR("cut to " << length << ": " << said);
  }
  test::write_file(path, whole + "x");
  BOOST_TEST(test::contains(complaint(path), "too long: expected 152 bytes of tensors, got 153"));
}

BOOST_AUTO_TEST_CASE(a_flipped_bit_in_any_byte_is_found) {
  const fs::path path = save(3);
  const std::string whole = test::read_file(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    test::write_file(path, flipped);
    const std::string said = complaint(path);
    if (said.find("this checkpoint cannot be used") == std::string::npos) BOOST_ERROR("byte " << i << ": " << said);
  }
  std::string flipped = whole;
  flipped[whole.size() - 5] ^= 1;
  test::write_file(path, flipped);
  BOOST_TEST(test::contains(complaint(path), "its tensors are damaged: SHA-256\n  expected: "));
}

BOOST_AUTO_TEST_CASE(foreign_files_are_refused) {
  const fs::path path = directory / "x";
  test::write_file(path, "not a checkpoint at all, but long enough");
  BOOST_TEST(test::contains(complaint(path), "cut short or damaged"));
  // The file has holes, and its header would take more memory than there is.
  test::write_file(path, std::string("\0\0\0\0\x80\0\0\0", 8));
  fs::resize_file(path, uintmax_t{1} << 40);
  BOOST_TEST(test::contains(complaint(path), "cut short or damaged"));
  write_safetensors(path, store.views(), {{"format", "pt"}});
  BOOST_TEST(test::contains(complaint(path), "it is none, or damaged: there is no header_sha256"));
  BOOST_TEST(test::contains(complaint(directory / "none"), "No such file"));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_is_an_error) {
  test::write_file(directory / "c", "a file");
  BOOST_CHECK_THROW(CheckpointWriter(store, folder(1)), Error);
}

BOOST_AUTO_TEST_CASE(what_must_be_on_the_disk_first_is) {
  bool seen = false;
  CheckpointFolder into = folder(1);
  into.before = [&] { seen = list_checkpoints(directory / "c").empty(); };
  CheckpointWriter writer(store, into);
  writer.save({1, 1, digits});
  writer.wait();
  BOOST_TEST(seen);
}

// A limit on the size of files needs no privileges, and cuts a write in the middle as a full disk does.
BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_leaves_the_one_before) {
  const fs::path good = save(1);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small = {512, old.rlim_max};
  CheckpointWriter writer(store, folder(1));
  setrlimit(RLIMIT_FSIZE, &small);
  writer.save({2, 2, digits});
  const std::string said = test::error_of([&] { writer.wait(); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  BOOST_TEST(
      test::contains(said,
                     "step-00000002.safetensors: File too large; 0.0 MB are needed, the limit on a file (ulimit -f) "
                     "is 0.0 MB\n  kept: " +
                         good.string()));
  BOOST_TEST(complaint(good) == "(nothing thrown)");
  BOOST_TEST(std::distance(fs::directory_iterator(directory / "c"), fs::directory_iterator()) == 1);
  writer.save({3, 3, digits});  // the limit is lifted
  writer.wait();
  BOOST_TEST(read_checkpoint(list_checkpoints(directory / "c").at(0)).step == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::checkpoint_test
