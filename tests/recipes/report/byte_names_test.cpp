// Names of files are bytes: a run folder, data and runs to branch off may have names that are not UTF-8.
#include <boost/test/unit_test.hpp>

#include "recipes/report/svg.h"
#include "runtime/json_reader.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::byte_names_test {

BOOST_AUTO_TEST_SUITE(byte_names)

namespace {

JsonValue manifest_of(const std::filesystem::path& run) {
  return parse_json(test::read_file(run / "manifest.json"), "manifest.json");
}

}  // namespace

BOOST_AUTO_TEST_CASE(xml_has_a_mark_where_no_character_may_stand) {
  BOOST_TEST(xml_text("a<b>&\"\xc3\xa4\n") == "a&lt;b&gt;&amp;&quot;\xc3\xa4\n");
  const std::string mark = "\xef\xbf\xbd";
  BOOST_TEST(xml_text("f\xfcr\x01\x1b[31m") == "f" + mark + "r" + mark + mark + "[31m");
  BOOST_TEST(xml_text(std::string_view("\0\xef\xbf\xbf\xed\xa0\x80\xf0\x9f", 9)) ==
             mark + mark + mark + mark + mark + mark + mark);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_from_a_manifest_of_such_names) {
  const test::TemporaryDirectory directory;
  const std::string out = directory / "L\xe4ufe", data = directory / "D\xe4ten \xf4\x8f\xba\x80",
                    branched = directory / "zwei";
  BOOST_REQUIRE(test::run(out, {"--data", data, "--steps", "3"}) == 0);
  BOOST_TEST(nlohmann::json::accept(test::read_file(out + "/manifest.json")));
  BOOST_TEST(manifest_of(out).at("flags").get<std::string>("data") == data);
  BOOST_TEST(manifest_of(out).has("result"));
  BOOST_TEST(test::run({"--resume", out}) == 0);
  BOOST_REQUIRE(test::run(branched, {"--branch", out + "@last", "--steps", "4"}) == 0);
  BOOST_TEST(manifest_of(branched).at("branch").get<std::string>("run") == out);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::byte_names_test
