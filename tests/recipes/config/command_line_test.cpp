// The command line of programs without a recipe: what it sets, what it refuses, and its help.
#include "recipes/config/command_line.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "tests/support/says.h"

namespace kb::command_line_test {

BOOST_AUTO_TEST_SUITE(command_line)

struct Variables {
  std::string in, out = "here", plan = "brief";
  std::vector<std::string> rest, tags;
  int threads = 2;
  std::optional<int64_t> base;
  std::optional<double> speed;
  double goal = 24.1;
  bool quick = false;
};

CommandLine line_of(Variables& v) {
  CommandLine line("Does one thing.", "./run thing IN [--out DIR]");
  line.text({"IN", "", "what is read"}, v.in)
      .required()
      .texts({"REST", "", "all else"}, v.rest)
      .text({"--out", "DIR", "folder of the answer; never the one that is read, which would be overwritten by it"},
            v.out)
      .texts({"--tag", "WORD", "may be given several times"}, v.tags)
      .choice({"--plan", "PLAN", "brief or full"}, v.plan, {"brief", "full"})
      .whole({"--threads", "N", "threads"}, v.threads, 1, 64)
      .whole({"--base", "B", "base"}, v.base, 1)
      .positive({"--speed", "X", "images/s"}, v.speed, 1e9)
      .positive({"--goal", "PERCENT", "error"}, v.goal, 100)
      .flag("--quick", v.quick, "few")
      .excludes("--base");
  return line;
}

std::string error_of(const std::vector<std::string>& words) {
  Variables v;
  return test::error_of<UsageError>([&] { line_of(v).parse(words); });
}

BOOST_AUTO_TEST_CASE(words_set_variables) {
  Variables v;
  BOOST_TEST(
      line_of(v).parse({"a",  "--out=b", "--tag", "x",       "c",   "--plan", "full", "--threads", "64",      "--tag",
                        "-y", "--base",  "8",     "--speed", "1e3", "--goal", "0.5",  "--",        "--quick", "-d"}));
  BOOST_TEST((v.in == "a" && v.out == "b" && v.plan == "full" && v.threads == 64 && !v.quick));
  BOOST_TEST((v.rest == std::vector<std::string>{"c", "--quick", "-d"}));
  BOOST_TEST((v.tags == std::vector<std::string>{"x", "-y"}));
  BOOST_TEST((v.base == 8 && v.speed == 1e3 && v.goal == 0.5));
  Variables untouched;
  BOOST_TEST(line_of(untouched).parse({"a"}));
  BOOST_TEST((untouched.out == "here" && untouched.threads == 2 && !untouched.base && !untouched.speed));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const std::string usage = "; usage: ./run thing IN [--out DIR]";
  BOOST_TEST(error_of({}) == "IN is not given" + usage);
  BOOST_TEST(error_of({"a", "--ouy", "b"}) == "there is no flag '--ouy'; did you mean '--out'?");
  BOOST_TEST(error_of({"a", "--threads", "0"}) == "--threads: expected a whole number in [1, 64], got '0'");
  BOOST_TEST(error_of({"a", "--threads", "65"}) == "--threads: expected a whole number in [1, 64], got '65'");
  BOOST_TEST(error_of({"a", "--base", "x"}) == "--base: expected a whole number in [1, 2^31), got 'x'");
  BOOST_TEST(error_of({"a", "--goal", "0"}) == "--goal: expected a number in (0, 100], got '0'");
  BOOST_TEST(error_of({"a", "--goal", "nan"}) == "--goal: expected a number in (0, 100], got 'nan'");
  BOOST_TEST(error_of({"a", "--plan", "ful"}) ==
             "--plan: expected one of brief, full, got 'ful'; did you mean 'full'?");
  BOOST_TEST(error_of({"a", "--quick", "--base", "3"}) == "--quick: expected no --base beside it" + usage);
  BOOST_TEST(error_of({"a", "--quick=no"}) == "--quick: expected no value, got 'no'");
  BOOST_TEST(error_of({"a", "--out"}) == "--out: expected a value, got none");
  BOOST_TEST(error_of({"a", "--out", "b", "--out", "c"}) == "--out: expected once, got 2 of them: b, c");
}

BOOST_AUTO_TEST_CASE(a_word_too_many_is_refused) {
  std::string one;
  CommandLine line("One.", "./run one X");
  line.text({"X", "", "the one"}, one);
  BOOST_CHECK_EXCEPTION(line.parse({"a", "b"}), UsageError, test::says("'b' is not expected here; usage: ./run one X"));
}

BOOST_AUTO_TEST_CASE(help_has_all_and_fits_80_columns) {
  Variables v;
  const std::string help = line_of(v).help();
  BOOST_TEST(help ==
             "Does one thing.\n"
             "\n"
             "usage: ./run thing IN [--out DIR] (defaults stand in brackets)\n"
             "\n"
             "Arguments\n"
             "  IN                     what is read\n"
             "  REST                   all else\n"
             "\n"
             "Flags\n"
             "  --out DIR              folder of the answer;\n"
             "                         never the one that is read, which would be overwritten\n"
             "                         by it [here]\n"
             "  --tag WORD             may be given several times\n"
             "  --plan PLAN            brief or full [brief]\n"
             "  --threads N            threads [2]\n"
             "  --base B               base\n"
             "  --speed X              images/s\n"
             "  --goal PERCENT         error [24.1]\n"
             "  --quick                few\n"
             "  --help                 this text\n");
  std::istringstream lines(help);
  for (std::string each; std::getline(lines, each);) BOOST_TEST(each.size() <= 80u, each);
}

BOOST_AUTO_TEST_CASE(help_is_short_or_whole) {
  const std::vector<FlagForm> flags = {{"--lr"}, {"--quiet", false}};
  BOOST_TEST((split_words(flags, {"--help"}).help == HelpScope::common));
  BOOST_TEST((split_words(flags, {"--lr", "1", "-h"}).help == HelpScope::common));
  const SplitWords whole = split_words(flags, {"--quiet", "--help", "all", "--lr=1"});
  BOOST_TEST((whole.help == HelpScope::all));
  BOOST_TEST((whole.others.empty() && whole.values.at("--lr") == std::vector<std::string>{"1"}));
  BOOST_TEST((split_words(flags, {"--lr", "1"}).help == HelpScope::none));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::command_line_test
