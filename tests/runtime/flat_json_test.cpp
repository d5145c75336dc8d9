#include "runtime/flat_json.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::flat_json_test {

BOOST_AUTO_TEST_SUITE(flat_json)

BOOST_AUTO_TEST_CASE(numbers_texts_and_nulls_are_found_by_key) {
  FlatJson line;
  BOOST_REQUIRE(line.parse(R"({"kind":"step", "step" : 12,"loss":-2.5e-3,"lr":null,"step":13})"));
  BOOST_TEST(line.text("kind") == "step");
  BOOST_TEST(line.number("step") == 12);
  BOOST_TEST(line.number("loss") == -2.5e-3);
  BOOST_TEST(line.find("loss")->source == "-2.5e-3");
  BOOST_TEST((line.find("lr")->kind == FlatJson::Kind::null));
  BOOST_TEST(std::isnan(line.number("lr")));
  BOOST_TEST(std::isnan(line.number("kind")));
  BOOST_TEST(std::isnan(line.number("other")));
  BOOST_TEST(line.text("step").empty());
  BOOST_TEST(line.find("other") == nullptr);
}

BOOST_AUTO_TEST_CASE(truth_values_are_no_numbers) {
  FlatJson line;
  BOOST_REQUIRE(line.parse(R"({"a":true,"b": false,"c":1})"));
  BOOST_TEST((line.find("a")->kind == FlatJson::Kind::boolean));
  BOOST_TEST(line.find("a")->source == "true");
  BOOST_TEST(line.find("b")->source == "false");
  BOOST_TEST(std::isnan(line.number("a")));
  BOOST_TEST(line.number("c") == 1);
}

BOOST_AUTO_TEST_CASE(what_is_not_flat_is_refused) {
  FlatJson line;
  for (const char* text : {"",
                           "{",
                           "{}",
                           "[1]",
                           "12",
                           R"({"a")",
                           R"({"a":})",
                           R"({"a":1)",
                           R"({"a":1,})",
                           R"({"a":1}})",
                           R"({"a":1} x)",
                           R"({"a":[1]})",
                           R"({"a":{"b":1}})",
                           R"({"a":nan})",
                           R"({"a":-inf})",
                           R"({"a":-})",
                           R"({"a":1.})",
                           R"({"a":.5})",
                           R"({"a":+1})",
                           R"({"a":1e999})",
                           R"({"a":"x\"y"})",
                           R"({"a":"x\n"})",
                           R"({"a":"x)",
                           R"({a:1})",
                           R"({"a":tru})",
                           "{\"a\":\"\x01\"}",
                           R"({"a":nul})"})
    BOOST_TEST(!line.parse(text), text);
}

BOOST_AUTO_TEST_CASE(damaged_lines_are_passed_over) {
  double sum = 0;
  int lines = 0;
  for_each_flat_json("{\"a\":1}\n\n{\"a\":\n{\"a\":[8]}\n{\"a\":2}\r\n{\"a\":4}", [&](const FlatJson& line) {
    sum += line.number("a");
    ++lines;
  });
  BOOST_TEST(sum == 3);
  BOOST_TEST(lines == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flat_json_test
