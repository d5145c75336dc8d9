// TensorBoard's event files: their bytes by the format's own rules, their points by metrics.jsonl, and what a reader
// keeps of a run that went back to a checkpoint.
#include "recipes/run/tensorboard_events.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "recipes/run/run_folder.h"
#include "recipes/run/tensorboard.pb.h"
#include "recipes/train/layer_log.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::tensorboard_events_test {
namespace {

namespace fs = std::filesystem;
using test::run;

// Computes CRC-32C bit by bit, as a division by the reversed polynomial.
uint32_t crc32c_by_bits(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

uint32_t mask_of(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8; }

// Takes `count` bytes from the front of `rest`.
std::string_view take_bytes(std::string_view& rest, size_t count) {
  BOOST_REQUIRE(rest.size() >= count);
  const std::string_view front = rest.substr(0, count);
  rest.remove_prefix(count);
  return front;
}

template <class Number>
Number take_number(std::string_view& rest) {
  Number number;
  std::memcpy(&number, take_bytes(rest, sizeof number).data(), sizeof number);
  return number;
}

std::vector<tensorboard::Event> events_of(std::string_view bytes) {
  std::vector<tensorboard::Event> events;
  while (!bytes.empty()) {
    const std::string_view length_bytes = bytes.substr(0, 8);
    const auto length = take_number<uint64_t>(bytes);
    BOOST_TEST(take_number<uint32_t>(bytes) == mask_of(crc32c_by_bits(length_bytes)));
    const std::string_view message = take_bytes(bytes, length);
    BOOST_TEST(take_number<uint32_t>(bytes) == mask_of(crc32c_by_bits(message)));
    BOOST_REQUIRE(events.emplace_back().ParseFromString(std::string(message)));
  }
  return events;
}

std::vector<fs::path> event_files(const fs::path& out) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(out))
    if (is_event_file(entry.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<tensorboard::Event> all_events(const fs::path& out) {
  std::vector<tensorboard::Event> events;
  for (const fs::path& file : event_files(out))
    for (const tensorboard::Event& event : events_of(test::read_file(file))) events.push_back(event);
  return events;
}

// The values that were written, by tag and step.
using EventPoints = std::map<std::pair<std::string, int64_t>, std::vector<float>>;

// TensorBoard's rule: a start of a session drops all points of its step and of later ones.
EventPoints points_kept(const std::vector<tensorboard::Event>& events) {
  EventPoints points;
  for (const tensorboard::Event& event : events) {
    if (event.session_log().status() == tensorboard::SessionLog::START)
      std::erase_if(points, [&](const auto& point) { return point.first.second >= event.step(); });
    for (const tensorboard::Summary::Value& value : event.summary().value())
      if (value.has_simple_value()) points[{value.tag(), event.step()}].push_back(value.simple_value());
  }
  return points;
}

std::map<std::pair<std::string, int64_t>, tensorboard::HistogramProto> histograms_of(const fs::path& out) {
  std::map<std::pair<std::string, int64_t>, tensorboard::HistogramProto> found;
  for (const tensorboard::Event& event : all_events(out))
    for (const tensorboard::Summary::Value& value : event.summary().value())
      if (value.has_histo()) found[{value.tag(), event.step()}] = value.histo();
  return found;
}

// Returns what HParams reads, by the tags that it asks for.
std::map<std::string, tensorboard::HParamsPluginData> sessions_of(const fs::path& out) {
  std::map<std::string, tensorboard::HParamsPluginData> found;
  for (const tensorboard::Event& event : all_events(out))
    for (const tensorboard::Summary::Value& value : event.summary().value()) {
      if (value.metadata().plugin_data().plugin_name() != "hparams") continue;
      BOOST_TEST(found[value.tag()].ParseFromString(value.metadata().plugin_data().content()));
    }
  return found;
}

// Returns the points of metrics.jsonl under TensorBoard's names.
EventPoints points_of_metrics(const fs::path& out) {
  EventPoints points;
  for (const nlohmann::json& line : test::lines_of(out)) {
    const bool is_step = line.at("kind") == "step";
    if (!is_step && line.at("kind") != "eval") continue;
    const int64_t done = line.at("step").get<int64_t>() + (is_step ? 1 : 0);
    const auto add = [&](const std::string& tag, const char* key) {
      points[{tag, done}].push_back(static_cast<float>(line.at(key).get<double>()));
    };
    const std::string group = is_step ? "train" : line.at("part").get<std::string>();
    add(group + "/loss", "loss");
    if (!is_step) add(group + "/error", "error");
    if (!is_step) continue;
    add("train/learning_rate", "lr");
    add("train/samples_per_s", "samples_per_s");
    add("train/data_wait_ms", "data_wait_ms");
  }
  return points;
}

void check_equal(const EventPoints& got, const EventPoints& expected) {
  for (const auto& [at, values] : expected) {
    BOOST_REQUIRE_MESSAGE(got.contains(at), at.first << " of step " << at.second << " is missing");
    BOOST_TEST(got.at(at) == values, at.first << " of step " << at.second);
  }
  for (const auto& [at, values] : got)
    BOOST_TEST(expected.contains(at), at.first << " of step " << at.second << " is in no line");
}

std::vector<float> floats_of(const NamedTensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

struct EventsFixture {
  test::TemporaryDirectory directory;
  const fs::path out = directory / "run";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tensorboard_events, EventsFixture)

// The check value of CRC-32C (RFC 3720, B.4, gives others): that of the digits 1 to 9 is 0xe3069283.
BOOST_AUTO_TEST_CASE(checksums_are_crc_32c) {
  BOOST_TEST(masked_crc32c("123456789") == mask_of(0xe3069283));
  BOOST_TEST(masked_crc32c(std::string(32, '\0')) == mask_of(0x8a9136aa));  // RFC 3720, B.4
  BOOST_TEST(masked_crc32c("") == mask_of(0));
}

BOOST_AUTO_TEST_CASE(a_record_is_length_message_and_two_checksums) {
  const std::string record = event_record("ab"), length("\2\0\0\0\0\0\0\0", 8);
  BOOST_REQUIRE(record.size() == 18u);
  BOOST_TEST(record.substr(0, 8) == length);
  BOOST_TEST(record.substr(12, 2) == "ab");
  std::string_view rest = record;
  take_bytes(rest, 8);
  BOOST_TEST(take_number<uint32_t>(rest) == mask_of(crc32c_by_bits(length)));
  take_bytes(rest, 2);
  BOOST_TEST(take_number<uint32_t>(rest) == mask_of(crc32c_by_bits("ab")));
}

BOOST_AUTO_TEST_CASE(a_run_has_the_points_of_its_metrics) {
  BOOST_REQUIRE(run(out, {}) == 0);
  BOOST_REQUIRE(event_files(out).size() == 1u);
  BOOST_TEST(event_files(out)[0].filename().string().ends_with(".kilobatch"));
  const std::vector<tensorboard::Event> events = all_events(out);
  BOOST_TEST(events.at(0).file_version() == "brain.Event:2");
  BOOST_TEST(events.at(1).session_log().status() == tensorboard::SessionLog::START);
  BOOST_TEST(events.at(1).step() == 1);
  for (size_t i = 1; i < events.size(); ++i) BOOST_TEST(events[i].wall_time() >= events[i - 1].wall_time());
  BOOST_TEST(std::abs(events[0].wall_time() - static_cast<double>(std::time(nullptr))) < 3600);
  const EventPoints points = points_kept(events);
  BOOST_TEST(points.contains({"train/loss", 20}));
  BOOST_TEST(points.contains({"test/error", 10}));
  check_equal(points, points_of_metrics(out));
}

// The run takes 13 steps and goes on from its checkpoint of step 5: the points of steps 6 to 13 are there twice and
// count once.
BOOST_AUTO_TEST_CASE(a_run_that_went_back_has_every_point_once) {
  BOOST_REQUIRE(run(out, {"--save-every", "5", "--keep", "9", "--stop-at", "13st"}) == 0);
  BOOST_REQUIRE(run({"--resume", out.string(), "--checkpoint", "step-00000005.safetensors", "--stop-at", "20st"}) == 0);
  BOOST_REQUIRE(event_files(out).size() == 2u);
  const EventPoints points = points_kept(all_events(out));
  for (const auto& [at, values] : points) BOOST_TEST(values.size() == 1u, at.first << " of step " << at.second);
  check_equal(points, points_of_metrics(out));
  BOOST_REQUIRE(run(directory / "whole", {"--save-every", "5"}) == 0);
  std::set<std::pair<std::string, int64_t>> here, whole;
  for (const auto& [at, values] : points) here.insert(at);
  for (const auto& [at, values] : points_kept(all_events(directory / "whole"))) whole.insert(at);
  BOOST_TEST((here == whole));
}

// A run that was stopped before its first checkpoint begins anew.
BOOST_AUTO_TEST_CASE(a_run_without_a_checkpoint_takes_all_points_back) {
  BOOST_REQUIRE(run(out, {"--stop-at", "3st"}) == 0);
  fs::remove_all(out / "checkpoints");
  BOOST_REQUIRE(run({"--resume", out.string(), "--stop-at", "20st"}) == 0);
  check_equal(points_kept(all_events(out)), points_of_metrics(out));
}

BOOST_AUTO_TEST_CASE(held_out_samples_and_averages_have_points_of_their_own) {
  BOOST_REQUIRE(run(out, {"--validation", "20", "--ema", "0.5", "--eval-ema", "--train-metrics"}) == 0);
  const EventPoints points = points_kept(all_events(out));
  for (const char* tag : {"valid/loss", "valid/error", "valid_averaged/error"})
    BOOST_TEST(points.contains({tag, 8}), tag);
  for (const char* tag : {"test/loss", "test/error", "test_averaged/loss", "test_best/error"})
    BOOST_TEST(points.contains({tag, 16}), tag);
  for (const nlohmann::json& line : test::of_kind(test::lines_of(out), "test"))
    BOOST_TEST(points.at({line.at("state") == "best" ? "test_best/error" : "test/error", 16}).at(0) ==
               line.at("error").get<float>());
  BOOST_TEST(!points.contains({"test/loss", 8}));
  BOOST_TEST(points.contains({"train/error", 1}));
}

BOOST_AUTO_TEST_CASE(layers_have_norms_and_those_that_are_adapted_a_trust) {
  BOOST_REQUIRE(run(out, {"--log-layers", "5st", "--optimizer", "lars"}) == 0);
  const EventPoints points = points_kept(all_events(out));
  const auto lines = test::of_kind(test::lines_of(out), "layers");
  const auto names = nlohmann::json::parse(test::read_file(out / "manifest.json")).at("layers");
  BOOST_REQUIRE(lines.size() == 4u);
  for (const nlohmann::json& line : lines) {
    const int64_t done = line.at("step").get<int64_t>() + 1;
    double squares = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string name = names[i];
      const double gradient = line.at("gradient")[i];
      squares += gradient * gradient;
      BOOST_TEST(points.at({"gradient_norm/" + name, done}).at(0) == static_cast<float>(gradient));
      BOOST_TEST(points.at({"weight_norm/" + name, done}).at(0) == line.at("weight")[i].get<float>());
      BOOST_TEST(points.contains({"trust/" + name, done}) == !line.at("trust")[i].is_null(), name);
      if (!line.at("trust")[i].is_null())
        BOOST_TEST(points.at({"trust/" + name, done}).at(0) == line.at("trust")[i].get<float>());
    }
    BOOST_TEST(points.at({"train/gradient_norm", done}).at(0) == std::sqrt(squares),
               boost::test_tools::tolerance(1e-6));
  }
}

// Every histogram agrees with the lines of metrics.jsonl and with the saved model.
BOOST_AUTO_TEST_CASE(layers_have_histograms_of_weights_and_gradients) {
  BOOST_REQUIRE(run(out, {"--log-layers", "1st", "--validation", "20"}) == 0);
  const auto histograms = histograms_of(out);
  const auto lines = test::of_kind(test::lines_of(out), "layers");
  const std::vector<std::string> names = nlohmann::json::parse(test::read_file(out / "manifest.json")).at("layers");
  std::map<std::string, NamedTensor> model;
  for (const NamedTensor& tensor : read_safetensors(out / "model.safetensors").tensors)
    model.emplace(tensor.name, tensor);
  BOOST_REQUIRE(lines.size() == 16u);
  BOOST_TEST(histograms.size() == 2 * names.size() * lines.size());
  for (const auto& [at, one] : histograms) {
    BOOST_REQUIRE(one.bucket_size() == one.bucket_limit_size());
    BOOST_TEST(std::accumulate(one.bucket().begin(), one.bucket().end(), 0.0) == one.num());
    BOOST_TEST(one.bucket_limit(one.bucket_limit_size() - 1) == one.max());
    BOOST_TEST(std::is_sorted(one.bucket_limit().begin(), one.bucket_limit().end()));
  }
  for (const nlohmann::json& line : lines)
    for (size_t i = 0; i < names.size(); ++i)
      BOOST_TEST(std::sqrt(histograms.at({"gradient/" + names[i], line.at("step").get<int64_t>() + 1}).sum_squares()) ==
                     line.at("gradient")[i].get<double>(),
                 boost::test_tools::tolerance(1e-4));
  for (const std::string& name : names) {
    const std::vector<float> values = floats_of(model.at(name));
    const tensorboard::HistogramProto& last = histograms.at({"weight/" + name, 16});
    BOOST_TEST(last.num() == static_cast<double>(values.size()));
    BOOST_TEST(last.min() == *std::min_element(values.begin(), values.end()));
    BOOST_TEST(last.max() == *std::max_element(values.begin(), values.end()));
    BOOST_TEST(last.sum() == std::accumulate(values.begin(), values.end(), 0.0), boost::test_tools::tolerance(1e-6));
  }
}

BOOST_AUTO_TEST_CASE(no_histogram_without_layers_to_log) {
  BOOST_REQUIRE(run(out, {}) == 0);
  BOOST_TEST(histograms_of(out).empty());
}

BOOST_AUTO_TEST_CASE(a_histogram_counts_finite_values) {
  const auto of = [](const std::vector<float>& values) {
    return histogram_of(DType::f32, reinterpret_cast<const std::byte*>(values.data()), std::ssize(values));
  };
  std::vector<float> values = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i <= 640; ++i) values.push_back(static_cast<float>(i) / 10);
  const Histogram all = of(values);
  BOOST_TEST(all.count == 641);
  BOOST_TEST(all.least == 0);
  BOOST_TEST(all.greatest == 64);
  BOOST_REQUIRE(all.counts.size() == kHistogramParts);
  for (const int64_t count : all.counts) BOOST_TEST((count == 10 || count == 9 || count == 11));
  BOOST_TEST(std::accumulate(all.counts.begin(), all.counts.end(), int64_t{0}) == 641);
  BOOST_TEST((of({2, 2, 2}).counts == std::vector<int64_t>{3}));
  BOOST_TEST(of({2, 2, 2}).sum_of_squares == 12);
  BOOST_TEST(of({NAN}).counts.empty());
  BOOST_TEST(of({}).count == 0);
  const std::vector<double> wide = {-1e300, 1e300};
  const Histogram two = histogram_of(DType::f64, reinterpret_cast<const std::byte*>(wide.data()), 2);
  BOOST_TEST(two.counts.front() == 1);
  BOOST_TEST(two.counts.back() == 1);
}

BOOST_AUTO_TEST_CASE(flags_are_hyperparameters_of_a_session) {
  BOOST_REQUIRE(run(out, {"--lr", "0.05", "--optimizer", "nesterov"}) == 0);
  const auto sessions = sessions_of(out);
  BOOST_REQUIRE(sessions.size() == 2u);
  const auto& flags = sessions.at("_hparams_/session_start_info").session_start_info().hparams();
  BOOST_TEST(flags.at("lr").number_value() == 0.05);
  BOOST_TEST(flags.at("optimizer").string_value() == "nesterov");
  BOOST_TEST(flags.at("recipe").string_value() == "small");
  const auto manifest = nlohmann::json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(flags.size() == manifest.at("flags").size() + 1);
  for (const auto& [name, value] : manifest.at("flags").items()) BOOST_TEST(flags.contains(name), name);
  BOOST_TEST((sessions.at("_hparams_/session_end_info").session_end_info().status() ==
              tensorboard::SessionEndInfo::STATUS_SUCCESS));
}

BOOST_AUTO_TEST_CASE(a_session_ends_as_the_run_does) {
  BOOST_REQUIRE(run(out, {"--lr", "1e30"}) == 4);
  BOOST_TEST((sessions_of(out).at("_hparams_/session_end_info").session_end_info().status() ==
              tensorboard::SessionEndInfo::STATUS_FAILURE));
  // A run that may go on has no end yet.
  TensorboardEvents(directory.path(), 0, {}, {{"on", "true"}, {"folder", "a\xff"}});
  const auto sessions = sessions_of(directory.path());
  BOOST_TEST(!sessions.contains("_hparams_/session_end_info"));
  const auto& flags = sessions.at("_hparams_/session_start_info").session_start_info().hparams();
  BOOST_TEST(flags.at("on").bool_value());
  BOOST_TEST(flags.at("folder").string_value() == "a\xf4\x8f\xbb\xbf");  // readers refuse text that is not UTF-8
}

// Readers do not see a point without a value, and Protocol Buffers leaves a 0 out unless it is in a oneof.
BOOST_AUTO_TEST_CASE(a_value_of_0_is_written) {
  TensorboardEvents(directory.path(), 0, {}).step({0, 0, 0, 0, 0, 0});
  for (const tensorboard::Event& event : all_events(directory.path()))
    for (const tensorboard::Summary::Value& value : event.summary().value()) BOOST_TEST(value.has_simple_value());
}

// The names of event files rise even if two are made within a second, or the clock went back.
BOOST_AUTO_TEST_CASE(a_later_file_has_a_later_name) {
  test::write_file(directory / "events.out.tfevents.9999999990.elsewhere", "");
  for (int64_t i = 0; i < 2; ++i) TensorboardEvents(directory.path(), 10 * i, {}).step({10 * i, 0, 1.5, 0.1, 1, 0});
  const std::vector<fs::path> files = event_files(directory.path());
  BOOST_REQUIRE(files.size() == 3u);
  for (int64_t i = 0; i < 2; ++i) {
    const std::string name = files[static_cast<size_t>(i + 1)].filename().string();
    BOOST_TEST(name.starts_with(fmt::format("events.out.tfevents.{}.", 9999999991 + i)), name);
    BOOST_TEST(events_of(test::read_file(files[static_cast<size_t>(i + 1)])).at(1).step() == 10 * i + 1);
  }
}

BOOST_AUTO_TEST_CASE(event_files_are_the_runs_own) {
  fs::create_directories(out);
  BOOST_TEST(is_own_file(out, out / "events.out.tfevents.1.host.kilobatch"));
  BOOST_TEST(!is_own_file(out, directory / "events.out.tfevents.1.host.kilobatch"));
}

BOOST_AUTO_TEST_CASE(a_folder_or_a_disk_that_takes_no_file_is_told_by_name) {
  BOOST_CHECK_EXCEPTION(TensorboardEvents(directory / "none", 0, {}), Error, test::says("cannot write", "none"));
  fs::create_directories(out);
  const test::SmallDisk disk(out, 64);
  if (!disk.mounted()) {
    fmt::print("skipped: no small file system can be mounted: {}\n", disk.reason());
    return;
  }
  TensorboardEvents events(out, 0, {});
  const auto fill = [&] {
    for (int64_t step = 0; step < 10'000; ++step) events.step({step, 0, 1.5, 0.1, 1, 0});
    events.flush();
  };
  BOOST_CHECK_EXCEPTION(fill(), Error, test::says("cannot write", "events.out.tfevents.", "No space left on device"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::tensorboard_events_test
