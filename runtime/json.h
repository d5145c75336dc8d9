// Writes JSON: a value is built with its members in the order in which they are added, and dump() makes the text.
// runtime/json_reader.h reads JSON. A text may hold any bytes and is read back as the same bytes: UTF-8 is written as
// it is, and runtime/utf8.h says how other bytes are written.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kb {

class JsonValue;

// A member of a JSON object. It is a template so that its size is asked for only where that of Json is known.
template <class Value>
struct JsonMember {
  std::string key;
  Value value;
  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

class Json {
 public:
  using Member = JsonMember<Json>;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  using Value = std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object>;

  Json() : value_(nullptr) {}
  Json(std::nullptr_t) : Json() {}
  // Makes an object: {{"step", 12}, {"shape", Json::array({3, 32})}}. operator[] adds members later.
  Json(std::initializer_list<Member> members);
  Json(bool truth) : value_(truth) {}
  template <std::signed_integral T>
  Json(T number) : value_(int64_t{number}) {}
  template <std::unsigned_integral T>
  Json(T number) : value_(uint64_t{number}) {}
  // A number that is not finite is written as null, since JSON has none.
  Json(double number) : value_(number) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(Array items) : value_(std::move(items)) {}
  template <class T>
  Json(const std::vector<T>& items) : value_(Array(items.begin(), items.end())) {}
  template <class T>
  Json(const std::map<std::string, T>& members);
  template <class T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}
  template <class T>
  Json(const T*) = delete;  // keeps other pointers from becoming truth values

  static Json array(Array items = {}) { return Json(std::move(items)); }
  static Json object() { return Json(std::initializer_list<Member>{}); }

  // Returns a member. Null becomes an object first, and a missing member is added as null.
  Json& operator[](std::string_view key);
  // Returns a member; null when there is none.
  const Json* find(std::string_view key) const;
  // Adds an item. Null becomes an array first.
  void push_back(Json item);
  const Value& value() const { return value_; }
  const Object& members() const { return std::get<Object>(value_); }

  // Returns the text in one line, or in lines indented by `indent` spaces a level.
  std::string dump(int indent = -1) const;

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

 private:
  Value value_;
};

template <class T>
Json::Json(const std::map<std::string, T>& members) : Json(object()) {
  for (const auto& [key, value] : members) std::get<Object>(value_).push_back({key, Json(value)});
}

// Returns a value that was read, so that it can be written again.
Json copy_of(const JsonValue& value);

// Returns a number or a truth value, if `text` is one in JSON, else a text. It is the inverse of scalar_text().
Json scalar_json(const std::string& text);

}  // namespace kb
