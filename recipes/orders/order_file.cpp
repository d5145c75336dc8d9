#include "recipes/orders/order_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "graph/error.h"
#include "recipes/orders/line_error.h"
#include "runtime/file_error.h"
#include "runtime/write_all.h"

namespace kb {
namespace {

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
