// The one writer of JSON: a value is built, its members in the order in which they are given, and dump() makes the
// text; runtime/json_reader.h reads. Light to include. A text may hold any bytes: they are read as they were
// (runtime/utf8.h says how they are written), and what is UTF-8 is written as it is.
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

class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  using Value = std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object>;

  Json() : value_(nullptr) {}
  Json(std::nullptr_t) : Json() {}
  // An object: {{"step", 12}, {"shape", Json::array({3, 32})}}. `=` adds to one that has been made.
  Json(std::initializer_list<Member> members);
  Json(bool truth) : value_(truth) {}
  template <std::signed_integral T>
  Json(T number) : value_(int64_t{number}) {}
  template <std::unsigned_integral T>
  Json(T number) : value_(uint64_t{number}) {}
  // What is not finite is written as null: JSON has no such numbers.
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
  Json(const T*) = delete;  // of other pointers, which would be truth values

  static Json array(Array items = {}) { return Json(std::move(items)); }
  static Json object() { return Json(std::initializer_list<Member>{}); }

  // Null becomes an object, and a key that is not there a member that is null.
  Json& operator[](std::string_view key);
  // Null where there is no such member.
  const Json* find(std::string_view key) const;
  // Null becomes an array.
  void push_back(Json item);
  const Value& value() const { return value_; }
  const Object& members() const { return std::get<Object>(value_); }

  // In one line, or in lines of `indent` spaces a level.
  std::string dump(int indent = -1) const;

  friend bool operator==(const Json& a, const Json& b);

 private:
  Value value_;
};

struct Json::Member {
  std::string key;
  Json value;
  friend bool operator==(const Member&, const Member&) = default;
};

// Behind Member, whose size g++ 14 wants to know here.
inline bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

template <class T>
Json::Json(const std::map<std::string, T>& members) : Json(object()) {
  for (const auto& [key, value] : members) std::get<Object>(value_).push_back({key, Json(value)});
}

// Returns a value that was read, to be written again.
Json copy_of(const JsonValue& value);

// Returns a number or a truth value as JSON has it, anything else as text: the other way of scalar_text.
Json scalar_json(const std::string& text);

}  // namespace kb
