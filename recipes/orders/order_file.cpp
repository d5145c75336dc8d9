#include "recipes/orders/order_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "graph/error.h"
#include "graph/parsed_number.h"
#include "recipes/config/values.h"
#include "recipes/orders/line_error.h"
#include "runtime/file_error.h"
#include "runtime/flat_json.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"
#include "runtime/write_all.h"

namespace kb {
namespace {

constexpr int64_t kOrderFormat = 1;  // "format_version" of the head

constexpr const char* kOrderFormatName = "kilobatch order";

// A line of a gradient, and where it stands.
struct RecordLine {
  FlatJson json;
  const std::filesystem::path& path;
  int64_t number;

  [[noreturn]] void refuse(const char* key, const std::string& expected, const std::string& got) const {
    refuse_line(path, number, fmt::format("\"{}\": {}", key, expected), got);
  }

  const FlatJson::Field& field(const char* key, const std::string& expected) const {
    const FlatJson::Field* found = json.find(key);
    if (!found) refuse(key, expected, "no such field");
    return *found;
  }

  int64_t whole(const char* key, const std::string& expected = "a whole number in [0, 2^63)") const {
    const FlatJson::Field& found = field(key, expected);
    const std::optional<int64_t> value = parsed_number<int64_t>(found.source);
    if (found.kind != FlatJson::Kind::number || !value || *value < 0) refuse(key, expected, in_quotes(found.source));
    return *value;
  }

  std::optional<int64_t> whole_or_null(const char* key) const {
    const std::string expected = "a whole number in [0, 2^63) or null";
    if (field(key, expected).kind == FlatJson::Kind::null) return std::nullopt;
    return whole(key, expected);
  }

  GradientFate fate() const {
    const std::string expected = fmt::format("one of {}", fmt::join(words_of(kGradientFates), ", "));
    const FlatJson::Field& found = field("fate", expected);
    for (const Choice<GradientFate>& choice : kGradientFates)
      if (found.kind == FlatJson::Kind::text && choice.word == found.source) return choice.value;
    refuse("fate", expected, in_quotes(found.source));
  }
};

int64_t whole_in(const JsonValue& json, const char* key, int64_t least, int64_t most) {
  const auto value = json.get<int64_t>(key);
  if (value < least || value > most) json.at(key).refuse(fmt::format("a whole number in [{}, {}]", least, most));
  return value;
}

template <class Choices>
auto choice_in(const JsonValue& json, const char* key, const Choices& choices) {
  const auto word = json.get<std::string>(key);
  for (const auto& choice : choices)
    if (choice.word == word) return choice.value;
  json.at(key).refuse(fmt::format("one of {}", fmt::join(words_of(choices), ", ")));
}

OrderPolicy policy_in(const JsonValue& json) {
  OrderPolicy policy;
  policy.kind = choice_in(json, "policy", kOrderKinds);
  policy.workers = whole_in(json, "workers", 1, kMostOrderWorkers);
  if (policy.kind == OrderKind::stale) policy.bound = whole_in(json, "bound", 0, kWholeBelow - 1);
  if (policy.kind != OrderKind::backup) return policy;
  policy.backups = whole_in(json, "backups", 0, kMostOrderWorkers);
  policy.late = choice_in(json, "late", kLateGradients);
  return policy;
}

GradientTimes times_in(const JsonValue& json, int64_t workers) {
  const auto text = json.get<std::string>("times");
  if (text == times_text({.kind = GradientTimes::Kind::clock})) return {.kind = GradientTimes::Kind::clock};
  GradientTimes times;
  try {
    times = parse_times("times", text);
  } catch (const UsageError&) {
    json.at("times").refuse("clock, constant, exponential, lognormal:S or a path");
  }
  if (times.kind != GradientTimes::Kind::file) return times;
  times.means_s = json.at("means_s").list<double>();
  const auto is_mean = [](double mean) { return mean >= kLeastMean && mean <= kMostMean; };
  if (std::ssize(times.means_s) != workers || !std::all_of(times.means_s.begin(), times.means_s.end(), is_mean))
    json.at("means_s").refuse(fmt::format("{} numbers in [1e-9, 1e6], one for each worker", workers));
  return times;
}

constexpr size_t kOrderBytesAtOnce = size_t{1} << 16;
constexpr size_t kMostLineBytes = size_t{1} << 26;  // a head with the times of 2^20 workers is shorter

std::string text_or_null(const std::optional<int64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string("null");
}

// Throws Error with the first field in which a gradient differs from the one that follows from the lines before it.
[[noreturn]] void refuse_difference(const std::filesystem::path& path, int64_t line, const GradientRecord& ruled,
                                    const GradientRecord& got) {
  const auto same = [&](const char* key, const std::string& expected, const std::string& found) {
    if (expected != found)
      refuse_line(path, line, fmt::format("\"{}\": {}, by the lines before", key, expected), found);
  };
  same("number", text_or_null(ruled.number), text_or_null(got.number));
  same("count", text_or_null(ruled.count), text_or_null(got.count));
  same("read", text_or_null(ruled.read), text_or_null(got.read));
  same("applied_to", text_or_null(ruled.applied_to), text_or_null(got.applied_to));
  same("fate", word_of(kGradientFates, ruled.fate), word_of(kGradientFates, got.fate));
  same("begin_ns", text_or_null(ruled.begin_ns), text_or_null(got.begin_ns));
  same("piece", text_or_null(ruled.piece), text_or_null(got.piece));
  throw InternalError("equal gradients differ");
}

// Returns how many bytes of a file its first `decided` gradients have, with the head.
int64_t bytes_before(const std::filesystem::path& path, const OrderPlan& plan, int64_t decided) {
  OrderReader reader(path);
  if (!(reader.plan() == plan))
    throw Error(fmt::format("{}: line 1\n  expected: the plan of the order that goes on\n  got:      another plan",
                            path.string()));
  for (int64_t number = 0; number < decided; ++number)
    if (!reader.next())
      throw Error(
          fmt::format("{}: it ends\n  expected: the {} gradients before the place at which the order goes on\n"
                      "  got:      {}",
                      path.string(), decided, number));
  return reader.bytes();
}

// Append a line, with its line end.
void append_head(TextBuffer& out, const OrderPlan& plan) {
  const OrderPolicy& policy = plan.policy;
  Json json = {{"format", kOrderFormatName},
               {"format_version", kOrderFormat},
               {"policy", word_of(kOrderKinds, policy.kind)},
               {"workers", policy.workers}};
  if (policy.kind == OrderKind::stale) json["bound"] = policy.bound;
  if (policy.kind == OrderKind::backup) json["backups"] = policy.backups;
  if (policy.kind == OrderKind::backup) json["late"] = word_of(kLateGradients, policy.late);
  json["times"] = times_text(plan.times);
  if (plan.times.kind == GradientTimes::Kind::file) json["means_s"] = plan.times.means_s;
  if (plan.times.message_ns > 0) json["message_ns"] = plan.times.message_ns;
  json["seed"] = plan.seed;
  json["pieces"] = plan.pieces;
  put(out, "{}\n", json.dump());
}

void append_record(TextBuffer& out, const GradientRecord& r) {
  put(out, "{{\"number\":{},\"worker\":{},\"count\":{},\"read\":{},\"applied_to\":", r.number, r.worker, r.count,
      r.read);
  r.applied_to ? put(out, "{}", *r.applied_to) : put(out, "null");
  put(out, ",\"fate\":\"{}\",\"begin_ns\":{},\"end_ns\":{},\"piece\":{}}}\n", word_of(kGradientFates, r.fate),
      r.begin_ns, r.end_ns, r.piece);
}

// Read a line without its line end. They throw Error, which names the path, the line, the field, what was expected and
// what was found. Fields that they do not know are skipped. The head is line 1.
OrderPlan parse_head(std::string_view text, const std::filesystem::path& path) {
  const JsonValue json = parse_json(std::string(text), path.string());
  if (json.get<std::string>("format") != kOrderFormatName)
    json.at("format").refuse(fmt::format("\"{}\"", kOrderFormatName));
  whole_in(json, "format_version", kOrderFormat, kOrderFormat);
  OrderPlan plan;
  plan.policy = policy_in(json);
  plan.times = times_in(json, plan.policy.all_workers());
  if (json.has("message_ns")) plan.times.message_ns = whole_in(json, "message_ns", 1, kMostMessageNs + 1);
  plan.seed = static_cast<uint64_t>(whole_in(json, "seed", 0, INT64_MAX));
  plan.pieces = whole_in(json, "pieces", 0, INT64_MAX);
  if (const int64_t update = plan.policy.gradients_per_update(); plan.pieces % update != 0)
    json.at("pieces").refuse(fmt::format("a multiple of the {} gradients of an update", update));
  return plan;
}

GradientRecord parse_record(std::string_view text, const std::filesystem::path& path, int64_t number) {
  RecordLine line{{}, path, number};
  if (!line.json.parse(text))
    refuse_line(path, number, "a gradient: a JSON object whose values are numbers, words or null", in_quotes(text));
  return {.number = line.whole("number"),
          .worker = line.whole("worker"),
          .count = line.whole("count"),
          .read = line.whole("read"),
          .applied_to = line.whole_or_null("applied_to"),
          .fate = line.fate(),
          .begin_ns = line.whole("begin_ns"),
          .end_ns = line.whole("end_ns"),
          .piece = line.whole("piece")};
}

}  // namespace

OrderReader::OrderReader(const std::filesystem::path& path) : file_(path) {
  const std::optional<std::string_view> head = next_line();
  if (!head) refuse_line(path, 1, "the head of an order of gradients", "an empty file");
  plan_ = parse_head(*head, path);
  rules_.emplace(plan_.policy, plan_.pieces);
}

// Appends more of the file to the buffer; returns false at its end.
bool OrderReader::read_on() {
  buffer_.erase(0, at_);
  at_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(had + kOrderBytesAtOnce);
  buffer_.resize(had +
                 file_.read_some(static_cast<size_t>(line_begin_) + had, buffer_.data() + had, kOrderBytesAtOnce));
  return buffer_.size() > had;
}

std::optional<std::string_view> OrderReader::next_line() {
  size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos) {
    const size_t searched = buffer_.size() - at_;
    if (searched > kMostLineBytes) refuse_line(file_.path(), line_ + 1, "a line of at most 64 MiB", "a longer one");
    if (!read_on()) break;
    end = buffer_.find('\n', searched);
  }
  if (end == std::string::npos && buffer_.empty()) return std::nullopt;
  if (end == std::string::npos)
    refuse_line(file_.path(), line_ + 1, "a line end: the last line is cut off", in_quotes(buffer_),
                fmt::format("without this line the file is whole: its first {} bytes", line_begin_));
  const std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
  ++line_;
  line_begin_ += static_cast<int64_t>(end + 1 - at_);
  at_ = end + 1;
  return line;
}

std::optional<GradientRecord> OrderReader::next() {
  const std::optional<std::string_view> line = next_line();
  if (!line) return std::nullopt;
  const GradientRecord record = parse_record(*line, file_.path(), line_);
  check(record);
  const GradientRecord ruled = rules_->decide(record.worker, record.end_ns);
  if (!(ruled == record)) refuse_difference(file_.path(), line_, ruled, record);
  return record;
}

// Checks what the rules take as given: the worker computes, is the one to be abandoned if there is one, and ends in
// the order of time.
void OrderReader::check(const GradientRecord& record) const {
  const auto refuse = [&](const std::string& expected, int64_t got) {
    refuse_line(file_.path(), line_, expected, fmt::format("{}", got));
  };
  const int64_t workers = plan_.policy.all_workers();
  if (record.worker >= workers) refuse(fmt::format("\"worker\": a whole number in [0, {})", workers), record.worker);
  if (!rules_->worker(record.worker).computes) refuse("\"worker\": one that computes a gradient", record.worker);
  const std::optional<int64_t> late = rules_->late();
  if (late && record.worker != *late)
    refuse(fmt::format("\"worker\": {}, whose gradient is abandoned", *late), record.worker);
  if (late && record.end_ns != state().now_ns)
    refuse(fmt::format("\"end_ns\": {}, the end of the update", state().now_ns), record.end_ns);
  if (record.end_ns < state().now_ns)
    refuse(fmt::format("\"end_ns\": at least {}, the end before", state().now_ns), record.end_ns);
}

OrderWriter::OrderWriter(const std::filesystem::path& path, const OrderPlan& plan)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_file_error("write", path_, errno);
  append_head(pending_, plan);
}

OrderWriter::OrderWriter(const std::filesystem::path& path, const OrderPlan& plan, int64_t decided) : path_(path) {
  const int64_t bytes = bytes_before(path, plan, decided);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw_file_error("write", path_, errno);
  if (::ftruncate(descriptor_, bytes) == 0) return;
  const int error = errno;
  ::close(descriptor_);  // no destructor runs after a constructor that throws
  throw_file_error("cut", path_, error);
}

OrderWriter::~OrderWriter() {
  try {
    flush();
  } catch (const std::exception&) {
    // A destructor must not throw.
  }
  ::close(descriptor_);
}

void OrderWriter::write(const GradientRecord& record) {
  append_record(pending_, record);
  if (pending_.size() > kOrderBytesAtOnce) flush();
}

void OrderWriter::flush() {
  write_all(descriptor_, pending_.data(), pending_.size(), path_);
  pending_.clear();
}

void OrderWriter::sync() {
  flush();
  if (::fsync(descriptor_) != 0) throw_file_error("write", path_, errno);
}

}  // namespace kb
