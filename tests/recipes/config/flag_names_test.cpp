// Messages of a training name members of its configuration; a command line shows its flags in their place.
#include "recipes/config/flag_names.h"

#include <boost/test/unit_test.hpp>

namespace kb::flag_names_test {

BOOST_AUTO_TEST_SUITE(flag_names)

BOOST_AUTO_TEST_CASE(a_member_is_shown_as_its_flag) {
  BOOST_TEST(with_flags("batch.per_worker: expected 8, got 3") == "--per-worker: expected 8, got 3");
  BOOST_TEST(with_flags("hint: batch.per_worker = 8; or judging.check_finite.") ==
             "hint: --per-worker 8; or --check-finite.");
  BOOST_TEST(with_flags("batch.growths = 1ep:x2: expected none") == "--minibatch-schedule 1ep:x2: expected none");
  BOOST_TEST(with_flags("(learning.hyper.skip_lr)") == "(--skip-lr)");
}

BOOST_AUTO_TEST_CASE(a_member_that_two_flags_set_goes_by_the_first) {
  BOOST_TEST(with_flags("a smaller learning.lr") == "a smaller --lr");
  BOOST_TEST(with_members("--base-lr: expected a number") == "learning.lr: expected a number");
}

BOOST_AUTO_TEST_CASE(other_words_stay) {
  for (const char* text : {"", "batch", "runs/batch.fit.txt", "a.batch.fit", "out.folder2 = 3", "64 x 0.5 = 32", "..."})
    BOOST_TEST(with_flags(text) == text);
  BOOST_TEST(with_members("--no-such-flag 3") == "--no-such-flag 3");
}

BOOST_AUTO_TEST_CASE(a_flag_is_shown_as_its_member) {
  BOOST_TEST(with_members("--minibatch: expected a whole number, got '0'") ==
             "batch.minibatch: expected a whole number, got '0'");
  BOOST_TEST(with_members("beside --warmup-epochs") == "beside learning.warmup_epochs");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flag_names_test
