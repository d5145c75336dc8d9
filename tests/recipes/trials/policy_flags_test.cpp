// Flags of policies as words, and their names.
#include "recipes/trials/policy_flags.h"

#include <boost/test/unit_test.hpp>

namespace kb::policy_flags_test {
namespace {

PolicyFlags flags_of(const std::string& words) {
  PolicyFlags policy;
  BOOST_TEST(set_policy_words(policy, words) == "");
  return policy;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(policy_flags)

BOOST_AUTO_TEST_CASE(words_are_read_back) {
  for (const char* words :
       {"", "policy=local replicas=4 every=8 from=2.5ep outer=nesterov outer-lr=0.7",
        "policy=backup backups=2 late=finish times=lognormal:0.5 per-worker=32",
        "policy=async stale-rate=inverse processes=2 momentum=0.95 reduce-precision=bf16",
        "policy=local outer=momentum outer-momentum=0.5 outer-per-rate=true", "policy=stale stale-bound=3"})
    BOOST_TEST(policy_words(flags_of(words)) == words);
}

BOOST_AUTO_TEST_CASE(the_first_word_that_is_no_flag_or_value_is_told) {
  PolicyFlags policy;
  BOOST_TEST(set_policy_words(policy, "policy=local weight-decay=0.1 replicas=4 every=-1") == "weight-decay=0.1");
  BOOST_TEST(policy_words(policy) == "policy=local replicas=4");
  for (const char* word : {"policy=sometimes", "replicas=1.5", "every=", "momentum=high", "from=soon", "policy", "=1"})
    BOOST_TEST(set_policy_words(policy, word) == word);
  BOOST_TEST(policy_words(policy) == "policy=local replicas=4");
}

BOOST_AUTO_TEST_CASE(names_are_short) {
  for (const auto& [words, name] :
       {std::pair{"", "sync"},
        {"policy=local replicas=4 every=8", "local R 4 H 8"},
        {"policy=local replicas=0 every=8", "local R k H 8"},
        {"policy=async momentum-at=worker times-net=5e-05s,1e+09B/s", "async momentum at workers"},
        {"policy=local replicas=16 every=16 from=6ep", "post-local R 16 H 16"},
        {"policy=local every=8 outer=nesterov outer-lr=0.5", "local R 1 H 8 outer nesterov 0.5"},
        {"policy=async stale-rate=inverse", "async 1/staleness"},
        {"policy=stale stale-bound=2", "stale 2"},
        {"policy=backup backups=2 late=finish", "backup 2 finish"}})
    BOOST_TEST(policy_name(flags_of(words)) == name);
}

BOOST_AUTO_TEST_CASE(workers_follow_from_their_samples_or_from_the_processes) {
  BOOST_TEST(flags_of("per-worker=32").workers(256) == 8);
  BOOST_TEST(flags_of("per-worker=32").workers(16) == 1);
  BOOST_TEST(flags_of("processes=4").workers(256) == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::policy_flags_test
