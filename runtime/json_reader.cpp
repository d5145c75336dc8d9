#include "runtime/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "graph/error.h"
#include "runtime/input_file.h"
#include "runtime/utf8.h"

namespace kb {

struct JsonValue::Node {
  Kind kind = Kind::null;
  bool is_whole = false;        // an integer that 64 bits hold
  uint32_t begin = 0, end = 0;  // range of bytes in the text; a scalar has its end only
  union {
    int64_t whole = 0;
    double real;
    bool truth;
  };
  std::string text;
  std::string key;           // key of a member of an object
  std::vector<Node> inside;  // members of an object or items of an array, in the order of the text
};

struct JsonValue::Document {
  std::string text, what;
  Node root;

  [[noreturn]] void fail(size_t at, const std::string& path, const std::string& expected,
                         const std::string& got) const {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(std::min(at, text.size())), '\n');
    throw Error(fmt::format("{}: line {}{}\n  expected: {}\n  got:      {}", what, line,
                            path.empty() ? "" : fmt::format(", \"{}\"", path), expected, got));
  }
};

namespace {

using JsonNode = JsonValue::Node;

constexpr size_t kShownBytes = 80;

// Returns a text for an error message: at most a line long, and without characters that a terminal would act on.
std::string shown(std::string_view text) {
  size_t end = std::min(text.size(), kShownBytes);
  // The end is moved to the begin of a UTF-8 character.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  std::string out;
  for (const char c : text.substr(0, end)) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    out += is_control ? fmt::format("\\x{:02x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return end < text.size() ? out + "..." : out;
}

// An iterator over the text that counts how much was read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* count_;
};

// Builds the tree from the parser's events.
class TreeMaker : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeMaker(JsonValue::Document& document) : document_(document) {}

  void run() {
    const std::string& text = document_.text;
    if (text.size() > UINT32_MAX) document_.fail(0, "", "at most 4 GB of JSON", fmt::format("{} bytes", text.size()));
    // The parser would take a NUL for the end of the text.
    if (const size_t nul = text.find('\0'); nul != std::string::npos)
      document_.fail(nul, "", "JSON", "a byte of value 0");
    nlohmann::json::sax_parse(CountingIterator(text.data(), &read_),
                              CountingIterator(text.data() + text.size(), &read_), this);
  }

  bool null() override { return scalar(JsonValue::Kind::null), true; }
  bool boolean(bool value) override { return scalar(JsonValue::Kind::boolean).truth = value, true; }
  bool number_integer(int64_t value) override {
    JsonNode& node = scalar(JsonValue::Kind::number);
    node.is_whole = true;
    node.whole = value;
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    return value <= INT64_MAX ? number_integer(static_cast<int64_t>(value))
                              : number_float(static_cast<double>(value), "");
  }
  bool number_float(double value, const std::string&) override {
    return scalar(JsonValue::Kind::number).real = value, true;
  }
  bool string(std::string& value) override {
    refuse_nul(value);
    scalar(JsonValue::Kind::text).text = bytes_of(std::move(value));
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // JSON has no binary values

  bool start_object(size_t) override { return open(JsonValue::Kind::object); }
  bool start_array(size_t) override { return open(JsonValue::Kind::array); }
  bool end_object() override {
    refuse_twins(*open_.back());
    return end_array();
  }
  bool end_array() override {
    open_.back()->end = static_cast<uint32_t>(read_);
    open_.pop_back();
    return true;
  }
  bool key(std::string& key) override {
    refuse_nul(key);
    key_ = bytes_of(std::move(key));
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) override {
    // The text is "[json.exception.parse_error.101] parse error at line 1, column 2: WHY; last read: 'TOKEN'".
    std::string why = error.what();
    if (const size_t at = why.find("] "); at != std::string::npos) why.erase(0, at + 2);
    if (why.starts_with("parse error"))
      if (const size_t at = why.find(": "); at != std::string::npos) why.erase(0, at + 2);
    why.erase(std::min(why.find("; last read: "), why.size()));
    document_.fail(std::max<size_t>(position, 1) - 1, "", "JSON", why);
  }

 private:
  JsonNode& scalar(JsonValue::Kind kind) {
    JsonNode& node = add(kind);
    // The parser knows the end of a number only after it has read the next byte.
    const char last = document_.text[read_ - 1];
    const bool read_on = kind == JsonValue::Kind::number && (last < '0' || last > '9');
    node.end = static_cast<uint32_t>(read_ - (read_on ? 1 : 0));
    return node;
  }

  bool open(JsonValue::Kind kind) {
    if (std::ssize(open_) == kMaxJsonDepth)
      document_.fail(read_, "", fmt::format("at most {} arrays and objects inside of each other", kMaxJsonDepth),
                     "more");
    JsonNode& node = add(kind);
    node.begin = static_cast<uint32_t>(read_ - 1);
    open_.push_back(&node);
    return true;
  }

  // Adds a node to the innermost container. No other container grows, so that pointers to the containers around it stay
  // valid.
  JsonNode& add(JsonValue::Kind kind) {
    if (++values_ > kMaxJsonValues) document_.fail(read_, "", fmt::format("at most {} values", kMaxJsonValues), "more");
    JsonNode& node = open_.empty() ? document_.root : open_.back()->inside.emplace_back();
    node.kind = kind;
    node.key = std::move(key_);
    key_.clear();
    return node;
  }

  void refuse_nul(const std::string& text) const {
    if (text.find('\0') != std::string::npos) document_.fail(read_, "", "text without NUL", "\\u0000 in it");
  }

  void refuse_twins(const JsonNode& object) const {
    std::vector<const JsonNode*> members;
    for (const JsonNode& member : object.inside) members.push_back(&member);
    std::stable_sort(members.begin(), members.end(),
                     [](const JsonNode* a, const JsonNode* b) { return a->key < b->key; });
    const auto twin = std::adjacent_find(members.begin(), members.end(),
                                         [](const JsonNode* a, const JsonNode* b) { return a->key == b->key; });
    if (twin != members.end())
      document_.fail(twin[1]->end, "", "each key once", fmt::format("\"{}\" twice", shown(twin[1]->key)));
  }

  JsonValue::Document& document_;
  std::vector<JsonNode*> open_;  // the open containers, the outermost first
  std::string key_;              // key of the next value
  size_t read_ = 0;              // number of bytes read
  size_t values_ = 0;
};

std::string_view number_text(std::string_view text, size_t end) {
  const size_t before = text.find_last_not_of("0123456789+-.eE", end - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, end - begin);
}

}  // namespace

JsonValue parse_json(std::string text, const std::string& what) {
  auto document = std::make_shared<JsonValue::Document>();
  document->text = std::move(text);
  document->what = what;
  TreeMaker(*document).run();
  const JsonValue::Node& root = document->root;
  return JsonValue(std::move(document), root, "");
}

JsonValue read_json(const std::filesystem::path& file, const std::string& who) {
  return parse_json(read_file(file), who + file.string());
}

JsonValue::Kind JsonValue::kind() const { return node_->kind; }

bool JsonValue::is_whole() const { return node_->is_whole; }

void JsonValue::refuse(const std::string& expected) const {
  std::string got = "null";
  if (kind() == Kind::boolean) got = node_->truth ? "true" : "false";
  if (kind() == Kind::number) got = shown(number_text(document_->text, node_->end));
  if (kind() == Kind::text) got = fmt::format("\"{}\"", shown(node_->text));
  if (kind() == Kind::array || kind() == Kind::object) got = shown(source());
  document_->fail(node_->end, path_, expected, got);
}

const JsonValue::Node* JsonValue::find(std::string_view key) const {
  if (kind() != Kind::object) return nullptr;
  const auto at =
      std::find_if(node_->inside.begin(), node_->inside.end(), [&](const JsonNode& n) { return n.key == key; });
  return at == node_->inside.end() ? nullptr : &*at;
}

JsonValue JsonValue::member(std::string_view key, const JsonNode& node) const {
  return JsonValue(document_, node, fmt::format("{}{}{}", path_, path_.empty() ? "" : ".", key));
}

bool JsonValue::has(std::string_view key) const { return find(key) != nullptr; }

JsonValue JsonValue::at(std::string_view key) const {
  const JsonNode* node = find(key);
  if (!node) refuse(fmt::format("an object with \"{}\"", key));
  return member(key, *node);
}

std::vector<JsonValue> JsonValue::items() const {
  if (kind() != Kind::array) refuse("an array");
  std::vector<JsonValue> items;
  for (const JsonNode& node : node_->inside) items.push_back(member(std::to_string(items.size()), node));
  return items;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  if (kind() != Kind::object) refuse("an object");
  std::vector<std::pair<std::string, JsonValue>> members;
  for (const JsonNode& node : node_->inside) members.emplace_back(node.key, member(node.key, node));
  return members;
}

std::map<std::string, std::string> JsonValue::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : members()) texts[key] = value.as<std::string>();
  return texts;
}

std::string_view JsonValue::source() const {
  if (kind() != Kind::array && kind() != Kind::object) refuse("an array or an object");
  return std::string_view(document_->text).substr(node_->begin, node_->end - node_->begin);
}

template <>
bool JsonValue::as<bool>() const {
  if (kind() != Kind::boolean) refuse("true or false");
  return node_->truth;
}

template <>
int64_t JsonValue::as<int64_t>() const {
  if (!node_->is_whole) refuse("a whole number within 64 bits");
  return node_->whole;
}

template <>
double JsonValue::as<double>() const {
  if (kind() != Kind::number) refuse("a number");
  return node_->is_whole ? static_cast<double>(node_->whole) : node_->real;
}

template <>
std::string JsonValue::as<std::string>() const {
  if (kind() != Kind::text) refuse("a text");
  return node_->text;
}

namespace {

// Leaves the blanks inside of strings as they are.
std::string one_line(std::string_view text) {
  std::string line;
  bool in_string = false, is_escaped = false;
  for (const char c : text) {
    const bool is_blank = c == '\n' || (c == ' ' && (line.empty() || line.back() == ' ' || line.back() == '['));
    if (in_string || !is_blank) line += c;
    if (c == '"' && !is_escaped) in_string = !in_string;
    is_escaped = c == '\\' && !is_escaped;
  }
  return line;
}

}  // namespace

std::string scalar_text(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return value.as<bool>() ? "true" : "false";
    case JsonValue::Kind::number:
      return value.is_whole() ? fmt::format("{}", value.as<int64_t>()) : fmt::format("{}", value.as<double>());
    case JsonValue::Kind::text:
      return value.as<std::string>();
    default:
      return one_line(value.source());
  }
}

}  // namespace kb
