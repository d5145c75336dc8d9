// The words of --minibatch-schedule.
#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "recipes/config/growth.h"
#include "tests/support/says.h"

namespace kb::growth_words_test {

BOOST_AUTO_TEST_SUITE(growth_words)

BOOST_AUTO_TEST_CASE(growths_are_words_and_back) {
  using Unit = Period::Unit;
  BOOST_TEST((parse_growths("--f", "30ep:x5,60ep:x2") == std::vector<Growth>{{{30}, 5}, {{60}, 2}}));
  BOOST_TEST(
      (parse_growths("--f", "0.5ep:x2,2000st:x2:sqrt,50.5ks:x3:linear") ==
       std::vector<Growth>{{{0.5}, 2}, {{2000, Unit::steps}, 2, "sqrt"}, {{50.5, Unit::kilosamples}, 3, "linear"}}));
  for (const char* text : {"30ep:x5,60ep:x2", "0.5ep:x2,2000000st:x2:sqrt,50.5ks:x3:linear", "7ep:long4,9ep:again",
                           "30ep:x1048575", "18ep:x2:long4:sqrt:rate0.5:warm0.2ep", "3st:rate0.1,5st:warm20st"})
    BOOST_TEST(growths_text(parse_growths("--f", text)) == text);
  BOOST_TEST(parse_growths("--f", "").empty());
  for (const char* wrong : {"30",
                            "30ep",
                            "30ep:5",
                            "30ep:x1",
                            "30ep:x0",
                            "30ep:x1048576",
                            "0ep:x2",
                            "30:x2",
                            "1.5st:x2",
                            "3ep:x2.5",
                            "-3ep:x2",
                            "geo:2:x2",
                            "30ep:x5,20ep:x2",
                            "30ep:x5,30ep:x2",
                            "30st:x5,30st:x2",
                            "30ep:x5,",
                            "99999999999999999999ep:x2",
                            "30st:x2:",
                            "30st:x2:adascale",
                            "30st:x2:cubic",
                            "30st:x2:sqrt:x2",
                            "30st:sqrt",
                            "30st:rate1",
                            "30st:rate-1",
                            "30st:long1",
                            "30st:warm",
                            "30st:again:warm2st",
                            "30st:x2sqrt"})
    BOOST_CHECK_EXCEPTION(parse_growths("--minibatch-schedule", wrong), Error,
                          test::says("--minibatch-schedule", "30ep:x5,60ep:x5", wrong));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::growth_words_test
