// Reads JSON: headers of safetensors, manifests, metrics, picks. The text may come from anywhere. Error is thrown when
// it is not JSON, nests deeper than kMaxJsonDepth, gives a key twice, has a number beyond double's range, text that is
// not UTF-8, or a NUL; and when a value does not have the type that is asked for. The error names the text, the line,
// the key, what was expected and what was found. Bytes that runtime/json.h wrote as characters become bytes again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kb {

inline constexpr int kMaxJsonDepth = 64;             // greatest depth of arrays and objects in each other
inline constexpr size_t kMaxJsonValues = 2'000'000;  // most values of one text; each takes 112 bytes

// A value of a parsed text. Copies share the text.
class JsonValue {
 public:
  enum class Kind : uint8_t { null, boolean, number, text, array, object };
  struct Document;
  struct Node;

  Kind kind() const;
  // Returns whether this is an object with the key.
  bool has(std::string_view key) const;
  // Returns a member. Throws Error when this is no object or lacks the key.
  JsonValue at(std::string_view key) const;
  // Return the items of an array, and the members of an object, in the order of the text. Each throws Error when this
  // is none.
  std::vector<JsonValue> items() const;
  std::vector<std::pair<std::string, JsonValue>> members() const;

  // Returns whether this is an integer that 64 bits hold, written without a point and an exponent.
  bool is_whole() const;
  // Returns the value; T is bool, int64_t, double or std::string. A double may be written as an integer. Throws Error
  // when it is not a T.
  template <class T>
  T as() const;
  template <class T>
  T get(std::string_view key) const {
    return at(key).as<T>();
  }
  template <class T>
  T get(std::string_view key, T fallback) const {
    return has(key) ? get<T>(key) : fallback;
  }
  template <class T>
  std::vector<T> list() const {
    std::vector<T> values;
    for (const JsonValue& item : items()) values.push_back(item.as<T>());
    return values;
  }
  std::map<std::string, std::string> texts() const;  // an object whose values are strings

  // Returns the text of an array or object as it is written. Throws Error for another value.
  std::string_view source() const;
  // Throws Error, which says that this value is not what was `expected`.
  [[noreturn]] void refuse(const std::string& expected) const;

 private:
  friend JsonValue parse_json(std::string text, const std::string& what);
  JsonValue(std::shared_ptr<const Document> document, const Node& node, std::string path)
      : document_(std::move(document)), node_(&node), path_(std::move(path)) {}
  JsonValue member(std::string_view key, const Node& node) const;
  const Node* find(std::string_view key) const;

  std::shared_ptr<const Document> document_;
  const Node* node_;
  std::string path_;  // place in the text, as "versions.compiler"; empty at the top
};

template <>
bool JsonValue::as<bool>() const;
template <>
int64_t JsonValue::as<int64_t>() const;
template <>
double JsonValue::as<double>() const;
template <>
std::string JsonValue::as<std::string>() const;

// Parses the text. `what` names it in errors: a path, or "PATH: line 12".
JsonValue parse_json(std::string text, const std::string& what);
// Parses a file. Errors begin with `who`, "--config: ", and the path.
JsonValue read_json(const std::filesystem::path& file, const std::string& who = "");

// Returns a value as it is written on a command line: a number, a word, true, null; an array or object as JSON on one
// line.
std::string scalar_text(const JsonValue& value);

}  // namespace kb
