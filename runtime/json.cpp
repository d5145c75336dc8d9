#include "runtime/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/error.h"
#include "runtime/json_reader.h"
#include "runtime/utf8.h"

namespace kb {
namespace {

using Nlohmann = nlohmann::ordered_json;

Nlohmann nlohmann_of(const Json& json);

Nlohmann nlohmann_of(const Json::Array& items) {
  Nlohmann array = Nlohmann::array();
  for (const Json& item : items) array.push_back(nlohmann_of(item));
  return array;
}

Nlohmann nlohmann_of(const Json::Object& members) {
  Nlohmann::object_t object;
  for (const Json::Member& member : members) object.emplace_back(characters_of(member.key), nlohmann_of(member.value));
  return object;
}

Nlohmann nlohmann_of(const std::string& bytes) { return characters_of(bytes); }

template <class T>
Nlohmann nlohmann_of(const T& scalar) {
  return scalar;
}

Nlohmann nlohmann_of(const Json& json) {
  return std::visit([](const auto& value) { return nlohmann_of(value); }, json.value());
}

Json copy_of_number(const JsonValue& value) {
  return value.is_whole() ? Json(value.as<int64_t>()) : Json(value.as<double>());
}

}  // namespace

Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object();
  auto& members = std::get<Object>(value_);
  const auto at = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  return at != members.end() ? at->value : members.emplace_back(std::string(key), Json()).value;
}

const Json* Json::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (!members) return nullptr;
  const auto at = std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.key == key; });
  return at == members->end() ? nullptr : &at->value;
}

void Json::push_back(Json item) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Array();
  std::get<Array>(value_).push_back(std::move(item));
}

std::string Json::dump(int indent) const { return nlohmann_of(*this).dump(indent); }

Json copy_of(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::null:
      return nullptr;
    case JsonValue::Kind::boolean:
      return value.as<bool>();
    case JsonValue::Kind::number:
      return copy_of_number(value);
    case JsonValue::Kind::text:
      return value.as<std::string>();
    case JsonValue::Kind::array: {
      Json array = Json::array();
      for (const JsonValue& item : value.items()) array.push_back(copy_of(item));
      return array;
    }
    case JsonValue::Kind::object: {
      Json object = Json::object();
      for (const auto& [key, member] : value.members()) object[key] = copy_of(member);
      return object;
    }
  }
  throw Error("a value of JSON of no known kind");
}

Json scalar_json(const std::string& text) {
  const Nlohmann parsed = Nlohmann::parse(text, nullptr, false);
  if (parsed.is_boolean()) return parsed.get<bool>();
  if (parsed.is_number_unsigned()) return parsed.get<uint64_t>();
  if (parsed.is_number_integer()) return parsed.get<int64_t>();
  return parsed.is_number() ? Json(parsed.get<double>()) : Json(text);
}

}  // namespace kb
