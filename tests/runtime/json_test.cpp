#include "runtime/json.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/json_reader.h"
#include "runtime/utf8.h"

namespace kb::json_test {

BOOST_AUTO_TEST_SUITE(json)

namespace {

std::string back(const std::string& text) {
  return parse_json(Json({{"k", text}}).dump(), "FILE").get<std::string>("k");
}

std::string all_bytes() {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

// Returns random bytes: some make UTF-8 characters, and some are parts of such.
std::string random_bytes(std::mt19937& random) {
  const std::string pieces[] = {
      "a",    "\"",   "\n",   "\xc3\xa4", "\xe2\x82\xac", "\xf4\x8f\xba\x80", "\xf4\x8f\xbb\xbf", "\xf4", "\x8f",
      "\xba", "\xbb", "\x80", "\xc3",     "\xff",         "\xed\xa0\x80",     "\xc0\x80"};
  std::string text;
  for (size_t left = random() % 12; left > 0; --left) text += pieces[random() % std::size(pieces)];
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(texts_are_those_of_the_library) {
  Json json = {{"z", 1}, {"a", -7}, {"most", UINT64_MAX}, {"least", INT64_MIN}, {"true", true}, {"null", nullptr}};
  json["real"] = Json::array({0.1, 3.0, 1e300, -0.0, 5e-324, std::numeric_limits<double>::infinity(), 1e21, 0.1f});
  json["text"] = "\xc3\xa4 \"quoted\" \\ \n\x01\x7f";
  json["list"] = std::vector<std::string>{"x", "y"};
  json["map"] = std::map<std::string, double>{{"b", 0.5}, {"a", 2}};
  json["maybe"] = Json::array({std::optional<double>(), std::optional<int>(3)});
  json["nested"] = {{"shape", Json::array({1, 2})}, {"empty", Json::object()}, {"none", Json::array()}};
  json["z"] = 2;
  nlohmann::ordered_json same = {{"z", 2}, {"a", -7}, {"most", UINT64_MAX}, {"least", INT64_MIN}, {"true", true}};
  same["null"] = nullptr;
  same["real"] = {0.1, 3.0, 1e300, -0.0, 5e-324, std::numeric_limits<double>::infinity(), 1e21, 0.1f};
  same["text"] = "\xc3\xa4 \"quoted\" \\ \n\x01\x7f";
  same["list"] = std::vector<std::string>{"x", "y"};
  same["map"] = std::map<std::string, double>{{"b", 0.5}, {"a", 2}};
  same["maybe"] = {nullptr, 3};
  same["nested"] = {{"shape", {1, 2}}, {"empty", nlohmann::json::object()}, {"none", nlohmann::json::array()}};
  for (const int indent : {-1, 0, 1, 2}) BOOST_TEST(json.dump(indent) == same.dump(indent));
}

BOOST_AUTO_TEST_CASE(what_was_read_is_written_as_it_was) {
  const std::string text =
      R"({"z":[1,2.5,3.0,1e+21,-0.0,null,true,"\n"],"a":{"b":{},"c":[]},"d":-9223372036854775808})";
  BOOST_TEST(copy_of(parse_json(text, "FILE")).dump() == text);
}

BOOST_AUTO_TEST_CASE(a_word_of_a_command_line_is_a_number_where_json_has_it) {
  for (const char* number : {"12", "-3", "0.5", "1e-3", "true", "false", "18446744073709551615"})
    BOOST_TEST(scalar_json(number).dump() == nlohmann::json::parse(number).dump());
  for (const char* text : {"", "auto", "null", "nan", "1/2", "0x10", "[1]", "\"a\"", "1e999", "01", "\xff"})
    BOOST_TEST(scalar_json(text).dump() == Json(text).dump());
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_valid_json_and_come_back) {
  BOOST_TEST(Json("Daten f\xfcr M\xc3\xbcnchen").dump() == "\"Daten f\xf4\x8f\xbb\xbcr M\xc3\xbcnchen\"");
  BOOST_TEST(back(all_bytes()) == all_bytes());
  // A longer form than a character needs, and a character cut short, are bytes, each of which becomes one of its own.
  for (const std::string_view bytes :
       {std::string_view("\xe0\x80\x80"), std::string_view("\xf0\x8f\xbf\xbf"), std::string_view("\xed\xa0\x80"),
        std::string_view("\xf4\x90\x80\x80"), std::string_view("\xe2\x82\xac").substr(0, 2)})
    BOOST_TEST(characters_of(bytes).size() == 4 * bytes.size());
  BOOST_TEST(back("\xf4\x8f\xba\x80 \xf4\x8f\xbc\x80") == "\xf4\x8f\xba\x80 \xf4\x8f\xbc\x80");
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = random_bytes(random), characters = characters_of(bytes);
    BOOST_REQUIRE(bytes_of(characters) == bytes);
    BOOST_REQUIRE(nlohmann::json::accept(nlohmann::json(characters).dump()));
    BOOST_REQUIRE(back(bytes) == bytes);
  }
}

BOOST_AUTO_TEST_CASE(keys_may_be_names_of_files) {
  const JsonValue json = parse_json(Json({{"\xe4", 1}}).dump(), "FILE");
  BOOST_TEST(json.get<int64_t>("\xe4") == 1);
  BOOST_TEST(copy_of(json).dump() == Json({{"\xe4", 1}}).dump());
}

BOOST_AUTO_TEST_CASE(objects_and_arrays_grow_from_null) {
  Json json;
  json["a"]["b"].push_back(1);
  json["a"]["b"].push_back({{"c", 2}});
  json["a"]["d"];
  BOOST_TEST(json.dump() == R"({"a":{"b":[1,{"c":2}],"d":null}})");
  BOOST_CHECK(json.find("a")->find("d") != nullptr);
  BOOST_CHECK(json.find("b") == nullptr);
  BOOST_CHECK(Json(3).find("b") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::json_test
