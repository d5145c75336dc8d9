#include "recipes/train/metrics.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "recipes/run/run_folder.h"
#include "tests/support/matches.h"
#include "tests/support/support.h"

namespace kb::metrics_test {

BOOST_AUTO_TEST_SUITE(metrics)

// Returns the values of "wall_s", and the text without them.
std::pair<std::vector<double>, std::string> without_times(const std::string& text) {
  const std::string wall = ",\"wall_s\":([-0-9.e+]+)";
  std::vector<double> times;
  for (const test::Match& match : test::all_matches(text, wall)) times.push_back(std::stod(match[1]));
  return {times, test::without_matches(text, wall)};
}

BOOST_AUTO_TEST_CASE(lines_have_exactly_the_keys_agreed_on) {
  test::TemporaryDirectory directory;
  {
    MetricsFile file(directory / "metrics.jsonl", false, {}, MetricsFile::Clock::now() - std::chrono::seconds(90));
    file.step({12, 0.25, 2.5, 0.1, 1000, 0.5});
    file.epoch({13, 1, 0.1, 2, Evaluation{0.75, 1300, {{"error", 0.25}}}});
    EvaluationReport evaluation{13, 1, {0.5, 10000, {{"error", 0.0625}}}};
    evaluation.lr = 0.1;
    evaluation.seconds = 3;
    file.evaluation(evaluation);
    file.test({13, 1, true, {0.5, 10000, {{"error", 0.0625}}}});
    file.end({937, {0.5, 10000, {{"error", 0.0625}}}, "abc"});
  }
  const auto [times, text] = without_times(test::read_file(directory / "metrics.jsonl"));
  BOOST_TEST(
      text ==
      "{\"kind\":\"step\",\"step\":12,\"epoch\":0.25,\"loss\":2.5,\"lr\":0.1,\"samples_per_s\":1000,"
      "\"data_wait_ms\":0.5}\n"
      "{\"kind\":\"epoch\",\"step\":13,\"epoch\":1,\"lr\":0.1,\"seconds\":2,\"train_loss\":0.75,\"train_error\":0.25}\n"
      "{\"kind\":\"eval\",\"step\":13,\"epoch\":1,\"part\":\"test\",\"loss\":0.5,\"error\":0.0625,\"count\":10000,"
      "\"lr\":0.1,\"seconds\":3}\n"
      "{\"kind\":\"test\",\"step\":13,\"epoch\":1,\"part\":\"test\",\"state\":\"best\",\"loss\":0.5,\"error\":0.0625,"
      "\"count\":10000}\n"
      "{\"kind\":\"end\",\"steps\":937,\"part\":\"test\",\"error\":0.0625,\"loss\":0.5,\"state_sha256\":\"abc\","
      "\"diverged\":false}\n");
  BOOST_REQUIRE(times.size() == 5u);
  BOOST_TEST(std::is_sorted(times.begin(), times.end()));
  BOOST_TEST(times.front() >= 90);
  BOOST_TEST(times.back() < 150);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_null_and_numbers_read_back_the_same) {
  fmt::memory_buffer buffer;
  append_json(buffer, NAN);
  buffer.push_back(' ');
  append_json(buffer, -INFINITY);
  buffer.push_back(' ');
  append_json(buffer, 0.1f);
  BOOST_TEST(std::string(buffer.data(), buffer.size()) == "null null 0.10000000149011612");
}

BOOST_AUTO_TEST_CASE(an_evaluation_is_on_the_disk_at_once) {
  test::TemporaryDirectory directory;
  MetricsFile file(directory / "m");
  file.step({0, 0, 1, 1, 1, 0});
  file.evaluation({7, 1, {0.5, 2, {{"error", 0.5}}}});
  std::string text = test::read_file(directory / "m");
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 2);
}

BOOST_AUTO_TEST_CASE(an_old_file_is_never_written_over) {
  test::TemporaryDirectory directory;
  test::write_file(directory / "m", "old");
  BOOST_CHECK_THROW(MetricsFile(directory / "m"), Error);
  BOOST_TEST(test::read_file(directory / "m") == "old");
}

// A metrics file with one evaluation; tests disturb the file from outside before the next one is written.
struct Disturbed {
  test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "m";
  std::string said;
  const std::string one =
      "{\"kind\":\"eval\",\"step\":7,\"epoch\":1,\"part\":\"test\",\"loss\":0.5,\"error\":0.5,\"count\":2,\"seconds\":"
      "0}\n";
  MetricsFile file{path, false, [this](const std::string& line) { said += line; }};

  std::string text() const { return without_times(test::read_file(path)).second; }

  Disturbed() { write(); }
  void write() { file.evaluation({7, 1, {0.5, 2, {{"error", 0.5}}}}); }
};

BOOST_FIXTURE_TEST_CASE(a_file_that_is_removed_is_put_back, Disturbed) {
  std::filesystem::remove(path);
  write();
  BOOST_TEST(text() == one + one);
  BOOST_TEST(said == fmt::format("NOTE: {} was removed while the run wrote to it: it is put back with all its lines",
                                 path.string()));
  write();
  file.sync();
  BOOST_TEST(text() == one + one + one);
  BOOST_TEST(said.find("NOTE", 1) == std::string::npos, said);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_replaced_is_put_back_beside_the_other, Disturbed) {
  test::write_file(directory / "other", "mine\n");
  std::filesystem::rename(directory / "other", path);
  write();
  BOOST_TEST(text() == one + one);
  BOOST_TEST(test::read_file(directory / "m.replaced-1") == "mine\n");
  BOOST_TEST(test::contains(said, "what replaced it is " + (directory / "m.replaced-1").string()));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_cut_is_told, Disturbed) {
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, 0);
  write();
  BOOST_TEST(text() == one);
  BOOST_TEST(test::contains(said, fmt::format("was cut from {} to 0 bytes by another program", size)));
  said.clear();
  write();
  BOOST_TEST(said.empty(), said);
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_removed_is_an_error) {
  test::TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "run");
  MetricsFile file(directory / "run" / "m");
  std::filesystem::remove_all(directory / "run");
  const EvaluationReport metrics{7, 1, {0.5, 2, {{"error", 0.5}}}};
  BOOST_CHECK_THROW(file.evaluation(metrics), Error);
}

BOOST_AUTO_TEST_CASE(a_folder_holds_one_run) {
  test::TemporaryDirectory directory;
  std::filesystem::path out = directory / "a" / "b";
  {
    RunFolder folder("lenet_mnist", out.string());
    BOOST_TEST(std::filesystem::is_directory(out));
    BOOST_CHECK_THROW(RunFolder("lenet_mnist", out.string()), Error);  // in use
  }
  BOOST_CHECK_NO_THROW(RunFolder("lenet_mnist", out.string()));
  test::write_file(out / "manifest.json", "{}");
  BOOST_CHECK_THROW(RunFolder("lenet_mnist", out.string()), Error);
  test::write_file(directory / "file", "");
  BOOST_CHECK_THROW(RunFolder("lenet_mnist", (directory / "file").string()), Error);
}

// The folder may hold other files of the user's.
BOOST_AUTO_TEST_CASE(what_a_run_left_that_was_killed_at_its_start_is_removed) {
  test::TemporaryDirectory directory;
  for (const char* name : {"manifest.json.4711.0.tmp", "notes.tmp"}) test::write_file(directory / name, "{");
  const RunFolder folder("lenet_mnist", directory.path().string());
  BOOST_TEST(!std::filesystem::exists(directory / "manifest.json.4711.0.tmp"));
  BOOST_TEST(std::filesystem::exists(directory / "notes.tmp"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::metrics_test
