#include "runtime/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

// Returns the format's name of a dtype: "BF16".
std::string format_name(DType dtype) {
  std::string text(name(dtype));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

Json header_object(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    if (header.find(tensor.name)) throw Error(fmt::format("safetensors: two tensors named '{}'", tensor.name));
    const size_t bytes = static_cast<size_t>(tensor.type.bytes());
    header[tensor.name] = {{"dtype", format_name(tensor.type.dtype)},
                           {"shape", tensor.type.shape},
                           {"data_offsets", Json::array({offset, offset + bytes})}};
    offset += bytes;
  }
  return header;
}

// Reads one file. It reads the tensors only if the header accounts for every byte; every error names the file.
class Reader {
 public:
  explicit Reader(const InputFile& file) : file_(file) {}

  SafetensorsFile read() {
    SafetensorsFile file;
    for (const auto& [name, item] : read_header().members()) {
      if (name == kMetadata)
        file.metadata = item.texts();
      else
        entries_.push_back(read_entry(name, item));
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    check_ranges();
    for (Entry& entry : entries_) file.tensors.push_back(load(entry));
    return file;
  }

 private:
  struct Entry {
    NamedTensor tensor;
    size_t begin = 0, end = 0;
  };

  std::string label() const { return file_.path().string() + ": not a safetensors file"; }

  void check(bool holds, const std::string& what, const std::string& expected, const std::string& got) const {
    if (!holds) throw Error(fmt::format("{}: {}\n  expected: {}\n  got:      {}", label(), what, expected, got));
  }

  size_t body_begin() const { return kLengthBytes + header_bytes_; }
  size_t body_bytes() const { return file_.size() - body_begin(); }

  JsonValue read_header() {
    check(file_.size() >= kLengthBytes, "too short", "at least 8 bytes of header length",
          fmt::format("{} bytes", file_.size()));
    for (const char c : reversed(file_.read(0, kLengthBytes)))
      header_bytes_ = header_bytes_ << 8 | static_cast<unsigned char>(c);
    const size_t most = std::min(kMaxSafetensorsHeader, file_.size() - kLengthBytes);
    check(header_bytes_ <= most, "header length", fmt::format("at most {} bytes", most),
          fmt::format("{} bytes", header_bytes_));
    return parse_json(file_.read(kLengthBytes, header_bytes_), label() + ": header");
  }

  static std::string reversed(std::string text) {
    std::reverse(text.begin(), text.end());
    return text;
  }

  static Dims whole_numbers(const JsonValue& value) {
    Dims numbers = value.list<int64_t>();
    if (std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number < 0; }))
      value.refuse("whole numbers >= 0");
    return numbers;
  }

  static DType read_dtype(const JsonValue& value) {
    const std::string text = value.as<std::string>();
    std::string known;
    for (const DTypeInfo& row : kDTypes) {
      if (format_name(row.dtype) == text) return row.dtype;
      known += (known.empty() ? "one of " : ", ") + format_name(row.dtype);
    }
    value.refuse(known);
  }

  Entry read_entry(const std::string& name, const JsonValue& item) const {
    Entry entry{{name, {read_dtype(item.at("dtype")), whole_numbers(item.at("shape")), ""}, {}}, 0, 0};
    const Dims offsets = whole_numbers(item.at("data_offsets"));
    const bool ordered =
        offsets.size() == 2 && offsets[0] <= offsets[1] && static_cast<size_t>(offsets[1]) <= body_bytes();
    if (!ordered) item.at("data_offsets").refuse(fmt::format("[begin, end] within {} bytes", body_bytes()));
    entry.begin = static_cast<size_t>(offsets[0]);
    entry.end = static_cast<size_t>(offsets[1]);
    check(has_size(entry), fmt::format("tensor '{}'", name),
          fmt::format("as many bytes as {} {} takes", format_name(entry.tensor.type.dtype),
                      shape_text(entry.tensor.type)),
          fmt::format("{} bytes", entry.end - entry.begin));
    return entry;
  }

  // Returns whether the byte range is as long as the type says; false when the product of the extents overflows.
  static bool has_size(const Entry& entry) {
    int64_t bytes = size_of(entry.tensor.type.dtype);
    for (int64_t extent : entry.tensor.type.shape)
      if (__builtin_mul_overflow(bytes, extent, &bytes)) return false;
    return bytes == static_cast<int64_t>(entry.end - entry.begin);
  }

  void check_ranges() const {
    size_t end = 0;
    for (const Entry& entry : entries_) {
      check(entry.begin == end, fmt::format("tensor '{}'", entry.tensor.name),
            fmt::format("bytes that begin at {}, where those before it end", end), fmt::format("{}", entry.begin));
      end = entry.end;
    }
    check(end == body_bytes(), "length", fmt::format("{} bytes of tensors", end),
          fmt::format("{} bytes", body_bytes()));
  }

  NamedTensor load(Entry& entry) const {
    entry.tensor.data.resize(entry.end - entry.begin);
    file_.read(body_begin() + entry.begin, entry.tensor.data.data(), entry.tensor.data.size());
    return std::move(entry.tensor);
  }

  const InputFile& file_;
  size_t header_bytes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace

std::string safetensors_header(std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
  std::string json = header_object(tensors, metadata).dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string header(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) header[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return header + json;
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = safetensors_header(tensors, metadata);
  int64_t bytes = std::ssize(header);
  for (const TensorView& tensor : tensors) bytes += tensor.type.bytes();
  AtomicFile file(path, bytes);
  file.write(header);
  for (const TensorView& tensor : tensors) file.write(tensor.data, static_cast<size_t>(tensor.type.bytes()));
  file.commit();
}

SafetensorsFile read_safetensors(const InputFile& file) { return Reader(file).read(); }

SafetensorsFile read_safetensors(const std::filesystem::path& path) { return read_safetensors(InputFile(path)); }

}  // namespace kb
