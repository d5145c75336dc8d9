// The one reader of JSON: headers of safetensors, manifests, metrics, picks. Such a text may come from anywhere, so
// what is not JSON, is nested deeper than kMaxJsonDepth, gives a key twice, holds a number beyond double's range, text
// that is no UTF-8 or a NUL, and every value that is not of the type asked for, is an Error that names the text, the
// line, the key, what was expected and what stands there. Bytes that runtime/json.h wrote as characters are bytes
// again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kb {

inline constexpr int kMaxJsonDepth = 64;             // arrays and objects inside of each other
inline constexpr size_t kMaxJsonValues = 2'000'000;  // of one text: they take 112 bytes each

// A value of a text that was parsed; copies share the text.
class JsonValue {
 public:
  enum class Kind : uint8_t { null, boolean, number, text, array, object };
  struct Document;
  struct Node;

  Kind kind() const;
  // False also of what is no object.
  bool has(std::string_view key) const;
  // Throws Error where this is no object, or an object without the key.
  JsonValue at(std::string_view key) const;
  // In the order of the text. Throw Error where this is no array, no object.
  std::vector<JsonValue> items() const;
  std::vector<std::pair<std::string, JsonValue>> members() const;

  // True for a number within 64 bits that is written without a point and an exponent.
  bool is_whole() const;
  // T is bool, int64_t, double or std::string; a double may be written as a whole number.
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
  std::map<std::string, std::string> texts() const;  // an object of strings

  // As it is written. Throws Error where this is no array and no object.
  std::string_view source() const;
  // Throws Error: this value is not what is `expected`.
  [[noreturn]] void refuse(const std::string& expected) const;

 private:
  friend JsonValue parse_json(std::string text, const std::string& what);
  JsonValue(std::shared_ptr<const Document> document, const Node& node, std::string path)
      : document_(std::move(document)), node_(&node), path_(std::move(path)) {}
  JsonValue member(std::string_view key, const Node& node) const;
  const Node* find(std::string_view key) const;

  std::shared_ptr<const Document> document_;
  const Node* node_;
  std::string path_;  // "versions.compiler"; empty at the top
};

template <>
bool JsonValue::as<bool>() const;
template <>
int64_t JsonValue::as<int64_t>() const;
template <>
double JsonValue::as<double>() const;
template <>
std::string JsonValue::as<std::string>() const;

// `what` names the text in errors: a path, "PATH: line 12".
JsonValue parse_json(std::string text, const std::string& what);

// Returns a value as a flag of a command line has it: a number, a word, true, null; of an array or object its JSON on
// one line.
std::string scalar_text(const JsonValue& value);

}  // namespace kb
