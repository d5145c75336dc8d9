#include "runtime/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/error.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxHeader = 100'000'000;  // bytes; the format's own bound
constexpr const char* kMetadata = "__metadata__";

struct DTypeRow {
  DType dtype;
  const char* name;
};
constexpr std::array kDTypes = {
    DTypeRow{DType::f64, "F64"}, DTypeRow{DType::f32, "F32"}, DTypeRow{DType::bf16, "BF16"},
    DTypeRow{DType::f16, "F16"}, DTypeRow{DType::i32, "I32"}, DTypeRow{DType::u32, "U32"},
    DTypeRow{DType::u8, "U8"},   DTypeRow{DType::i64, "I64"}, DTypeRow{DType::boolean, "BOOL"}};

const char* format_name(DType dtype) {
  return std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& row) { return row.dtype == dtype; })->name;
}

Json header_object(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    if (header.contains(tensor.name)) throw Error(fmt::format("safetensors: two tensors named '{}'", tensor.name));
    const size_t bytes = static_cast<size_t>(tensor.type.bytes());
    header[tensor.name] = {{"dtype", format_name(tensor.type.dtype)},
                           {"shape", tensor.type.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  return header;
}

// Reads one file's header; every complaint names the file.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const std::string& bytes) : path_(path), bytes_(bytes) {}

  SafetensorsFile read() {
    Json header = parse_header();
    SafetensorsFile file;
    for (const auto& [name, item] : header.items()) {
      if (name == kMetadata)
        file.metadata = read_metadata(item);
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

  [[noreturn]] void fail(const std::string& what, const std::string& expected, const std::string& got) const {
    throw Error(fmt::format("{}: not a safetensors file: {}\n  expected: {}\n  got:      {}", path_.string(), what,
                            expected, got));
  }

  void check(bool holds, const std::string& what, const std::string& expected, const std::string& got) const {
    if (!holds) fail(what, expected, got);
  }

  size_t body_begin() const { return kLengthBytes + header_bytes_; }
  size_t body_bytes() const { return bytes_.size() - body_begin(); }

  Json parse_header() {
    check(bytes_.size() >= kLengthBytes, "too short", "at least 8 bytes of header length",
          fmt::format("{} bytes", bytes_.size()));
    for (size_t i = 0; i < kLengthBytes; ++i)
      header_bytes_ |= static_cast<size_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    size_t most = std::min(kMaxHeader, bytes_.size() - kLengthBytes);
    check(header_bytes_ <= most, "header length", fmt::format("at most {} bytes", most),
          fmt::format("{} bytes", header_bytes_));
    Json header;
    try {
      header = Json::parse(
          bytes_.begin() + kLengthBytes, bytes_.begin() + static_cast<ptrdiff_t>(body_begin()),
          [this](int depth, Json::parse_event_t event, Json& parsed) { return note_key(depth, event, parsed); });
    } catch (const nlohmann::json::parse_error& error) {
      fail("header", "a JSON object", error.what());
    }
    check(header.is_object(), "header", "a JSON object", header.type_name());
    return header;
  }

  bool note_key(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key)
      check(names_.insert(parsed.get<std::string>()).second, "header", "each name once",
            fmt::format("'{}' twice", parsed.get<std::string>()));
    return true;
  }

  std::map<std::string, std::string> read_metadata(const Json& item) const {
    check(item.is_object(), kMetadata, "an object of strings", item.type_name());
    std::map<std::string, std::string> metadata;
    for (const auto& [key, value] : item.items()) {
      check(value.is_string(), fmt::format("{} '{}'", kMetadata, key), "a string", value.type_name());
      metadata[key] = value.get<std::string>();
    }
    return metadata;
  }

  const Json& member(const std::string& name, const Json& item, const char* key) const {
    check(item.is_object() && item.contains(key), fmt::format("tensor '{}'", name),
          "an object with dtype, shape and data_offsets", item.dump().substr(0, 80));
    return item[key];
  }

  std::vector<int64_t> integers(const std::string& name, const Json& item, const char* key) const {
    const Json& value = member(name, item, key);
    std::vector<int64_t> result;
    std::string expected = "an array of whole numbers >= 0";
    check(value.is_array(), fmt::format("tensor '{}': {}", name, key), expected, value.dump().substr(0, 80));
    for (const Json& number : value) {
      check(number.is_number_unsigned() && number.get<uint64_t>() <= INT64_MAX,
            fmt::format("tensor '{}': {}", name, key), expected, number.dump().substr(0, 80));
      result.push_back(number.get<int64_t>());
    }
    return result;
  }

  DType read_dtype(const std::string& name, const Json& item) const {
    const Json& value = member(name, item, "dtype");
    std::string text = value.is_string() ? value.get<std::string>() : value.dump().substr(0, 80), known;
    for (const DTypeRow& row : kDTypes) {
      if (row.name == text) return row.dtype;
      known += (known.empty() ? "one of " : ", ") + std::string(row.name);
    }
    fail(fmt::format("tensor '{}': dtype", name), known, text);
  }

  Entry read_entry(const std::string& name, const Json& item) const {
    Entry entry{{name, {read_dtype(name, item), integers(name, item, "shape"), ""}, {}}, 0, 0};
    std::vector<int64_t> offsets = integers(name, item, "data_offsets");
    bool ordered = offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= static_cast<int64_t>(body_bytes());
    check(ordered, fmt::format("tensor '{}': data_offsets", name),
          fmt::format("[begin, end] within {} bytes", body_bytes()), fmt::format("[{}]", fmt::join(offsets, ", ")));
    entry.begin = static_cast<size_t>(offsets[0]);
    entry.end = static_cast<size_t>(offsets[1]);
    check(has_size(entry), fmt::format("tensor '{}'", name),
          fmt::format("as many bytes as {} {} takes", format_name(entry.tensor.type.dtype),
                      shape_text(entry.tensor.type)),
          fmt::format("{} bytes", entry.end - entry.begin));
    return entry;
  }

  // Whether the byte range is as long as the type says; extents whose product overflows are not.
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
    if (!entry.tensor.data.empty())
      std::memcpy(entry.tensor.data.data(), bytes_.data() + body_begin() + entry.begin, entry.tensor.data.size());
    return std::move(entry.tensor);
  }

  const std::filesystem::path& path_;
  const std::string& bytes_;
  size_t header_bytes_ = 0;
  std::set<std::string> names_;
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

SafetensorsFile parse_safetensors(const std::filesystem::path& path, const std::string& bytes) {
  return Reader(path, bytes).read();
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) { return parse_safetensors(path, read_file(path)); }

}  // namespace kb
