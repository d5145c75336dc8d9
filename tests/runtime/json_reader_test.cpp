#include "runtime/json_reader.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::json_reader_test {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
}

// Returns the message of the error that parsing the text, or `use` of it, throws.
template <class Use>
std::string complaint(const std::string& text, Use&& use) {
  return test::error_of([&] { use(parse_json(text, "FILE")); });
}
std::string complaint(const std::string& text) {
  return complaint(text, [](const JsonValue&) {});
}

std::string fault(const std::string& place, const std::string& expected, const std::string& got) {
  return "FILE: line " + place + "\n  expected: " + expected + "\n  got:      " + got;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json_reader)

BOOST_AUTO_TEST_CASE(values_are_those_of_the_text) {
  const JsonValue json = parse_json(
      R"({"n":null,"t":true,"i":-9223372036854775808,"d":0.5,"w":3,"s":"\u00e4\"","a":[1,2],"o":{"x":"y"}})", "FILE");
  BOOST_CHECK(json.at("n").kind() == JsonValue::Kind::null);
  BOOST_TEST(json.get<bool>("t"));
  BOOST_TEST(json.get<int64_t>("i") == INT64_MIN);
  BOOST_TEST(json.get<double>("d") == 0.5);
  BOOST_TEST(json.get<double>("w") == 3.0);
  BOOST_TEST(json.get<std::string>("s") == "\xc3\xa4\"");
  BOOST_CHECK(json.at("a").list<int64_t>() == (std::vector<int64_t>{1, 2}));
  BOOST_CHECK(json.at("o").texts() == (std::map<std::string, std::string>{{"x", "y"}}));
  BOOST_TEST(json.get<int64_t>("absent", 7) == 7);
  BOOST_TEST(json.has("a"));
  BOOST_TEST(!json.at("a").has("x"));
  std::string names;
  for (const auto& [key, value] : json.members()) names += key;
  BOOST_TEST(names == "ntidwsao");
  BOOST_TEST(json.at("a").source() == "[1,2]");
  BOOST_TEST(json.at("o").source() == R"({"x":"y"})");
}

BOOST_AUTO_TEST_CASE(a_value_outlives_the_others) {
  const JsonValue inner = parse_json(R"({"a":{"b":[1]}})", "FILE").at("a").at("b");
  BOOST_TEST(inner.items().front().as<int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused_with_its_line) {
  BOOST_TEST(complaint("").starts_with("FILE: line 1\n  expected: JSON\n"));
  BOOST_TEST(complaint("{\n\"a\": tru\n}").starts_with("FILE: line 2\n  expected: JSON\n"));
  BOOST_TEST(complaint("[1]x").starts_with("FILE: line 1\n  expected: JSON\n"));
  BOOST_TEST(complaint("[1,\n\"\xff\"]").starts_with("FILE: line 2\n  expected: JSON\n"));
  BOOST_TEST(complaint("[NaN]").starts_with("FILE: line 1\n  expected: JSON\n"));
  BOOST_TEST(complaint("[1e999]") == fault("1", "JSON", "number overflow parsing '1e999'"));
}

BOOST_AUTO_TEST_CASE(nul_is_refused_wherever_it_hides) {
  BOOST_TEST(complaint(std::string("[1]\0[2]", 7)) == fault("1", "JSON", "a byte of value 0"));
  BOOST_TEST(complaint(R"(["a\u0000b"])") == fault("1", "text without NUL", "\\u0000 in it"));
  BOOST_TEST(complaint(R"({"a\u0000b":1})") == fault("1", "text without NUL", "\\u0000 in it"));
}

BOOST_AUTO_TEST_CASE(nesting_and_number_of_values_have_a_limit) {
  BOOST_TEST(complaint(nested(kMaxJsonDepth)) == "(nothing thrown)");
  const std::string deeper = fault("1", "at most 64 arrays and objects inside of each other", "more");
  BOOST_TEST(complaint(nested(kMaxJsonDepth + 1)) == deeper);
  BOOST_TEST(complaint(std::string(10'000'000, '[')) == deeper);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  BOOST_TEST(complaint(objects) == deeper);
  std::string many = "[0";
  for (size_t i = 0; i < kMaxJsonValues; ++i) many += ",0";
  BOOST_TEST(complaint(many + "]") == fault("1", "at most 2000000 values", "more"));
}

BOOST_AUTO_TEST_CASE(a_key_stands_once) {
  BOOST_TEST(complaint("{\"a\":1,\n\"b\":2,\n\"a\":3}") == fault("3", "each key once", "\"a\" twice"));
  BOOST_TEST(complaint(R"([{"a":1},{"a":2}])") == "(nothing thrown)");
}

BOOST_AUTO_TEST_CASE(another_type_is_refused_with_line_key_and_what_is_there) {
  const auto get = [](auto type) { return [](const JsonValue& json) { json.get<decltype(type)>("k"); }; };
  BOOST_TEST(complaint("{\n\"k\":\"7\"}", get(int64_t())) ==
             fault("2, \"k\"", "a whole number within 64 bits", "\"7\""));
  for (const char* number : {"1.0", "1e3", "9223372036854775808", "-9223372036854775809", "99999999999999999999999"})
    BOOST_TEST(complaint(std::string("{\"k\":") + number + "}", get(int64_t())) ==
               fault("1, \"k\"", "a whole number within 64 bits", number));
  BOOST_TEST(complaint(R"({"k":null})", get(double())) == fault("1, \"k\"", "a number", "null"));
  BOOST_TEST(complaint(R"({"k":1})", get(bool())) == fault("1, \"k\"", "true or false", "1"));
  BOOST_TEST(complaint(R"({"k":[1, 2]})", get(std::string())) == fault("1, \"k\"", "a text", "[1, 2]"));
  BOOST_TEST(complaint("{}", get(std::string())) == fault("1", "an object with \"k\"", "{}"));
  BOOST_TEST(complaint("[]", get(std::string())) == fault("1", "an object with \"k\"", "[]"));
  BOOST_TEST(complaint(R"({"k":{"i":[0,"x"]}})", [](const JsonValue& json) { json.at("k").at("i").list<int64_t>(); }) ==
             fault("1, \"k.i.1\"", "a whole number within 64 bits", "\"x\""));
  BOOST_TEST(complaint("3", [](const JsonValue& json) { json.items(); }) == fault("1", "an array", "3"));
  BOOST_TEST(complaint("true", [](const JsonValue& json) { json.members(); }) == fault("1", "an object", "true"));
  BOOST_TEST(complaint("4", [](const JsonValue& json) { json.source(); }) == fault("1", "an array or an object", "4"));
}

BOOST_AUTO_TEST_CASE(what_is_shown_is_short_and_whole_utf8) {
  std::string text = "\"x";
  for (int i = 0; i < 100; ++i) text += "\xc3\xa4";
  const std::string said = complaint(text + "\"", [](const JsonValue& json) { json.as<int64_t>(); });
  std::string expected = "x";
  for (int i = 0; i < 39; ++i) expected += "\xc3\xa4";
  BOOST_TEST(said == fault("1", "a whole number within 64 bits", "\"" + expected + "...\""));
  BOOST_TEST(complaint(R"("\u001b[31m")", [](const JsonValue& json) { json.as<bool>(); }) ==
             fault("1", "true or false", "\"\\x1b[31m\""));
}

BOOST_AUTO_TEST_CASE(a_value_for_a_command_line_loses_nothing) {
  for (const char* text : {"9007199254740993", "-9223372036854775808", "10000000000000000", "0.25", "1e+20", "null",
                           "true", "[1, 2]", R"({"k": "a  [ b"})"})
    BOOST_TEST(scalar_text(parse_json(text, "FILE")) == text);
  BOOST_TEST(scalar_text(parse_json("[\n  \"a  \\\"  b\",\n  1\n]", "FILE")) == "[\"a  \\\"  b\", 1]");
  BOOST_TEST(scalar_text(parse_json("\"a  b\"", "FILE")) == "a  b");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::json_reader_test
