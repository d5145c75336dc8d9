// Tests claims of trials by real processes: one process alone has a trial, a process that is not heard of loses it, and
// only the file system's clock counts.
#include "recipes/sweep/claims.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "graph/error.h"
#include "tests/support/support.h"

namespace kb::claims_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kLongLease = 600s;

// A process that does the work and then ends as it stands, without giving anything back.
class Other {
 public:
  explicit Other(const std::function<void()>& work) : process_(::fork()) {
    if (process_ != 0) return;
    work();
    ::_exit(0);
  }
  ~Other() { wait(); }
  void wait() {
    if (process_ > 0) ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }
  void kill(int number) const { ::kill(process_, number); }

 private:
  pid_t process_;
};

// Sets the time of a claim's last renewal to `age` ago, by the file system's clock.
void set_age(const fs::path& file, std::chrono::seconds age) {
  struct stat now {};
  test::write_file(file.parent_path() / "now", "");
  BOOST_REQUIRE(::stat((file.parent_path() / "now").c_str(), &now) == 0);
  timespec then = now.st_mtim;
  then.tv_sec -= age.count();
  const timespec times[] = {then, then};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

template <class Condition>
void until(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(2ms);
}

struct ClaimFixture {
  test::TemporaryDirectory directory;
  const fs::path claims = directory / "claims";
  ClaimFolder folder{claims, kLongLease};

  // Writes a claim of a process on another machine.
  void make_foreign(const std::string& file, std::chrono::milliseconds lease = kLongLease) const {
    test::write_file(
        claims / file,
        fmt::format(R"({{"host":"far","pid":1,"process_start":"1","system":"another","lease_ms":{}}})", lease.count()));
  }

  // Holds a trial until it is lost; the file "has" tells the begin, the file "lost" the end.
  void hold_until_lost(ClaimFolder& own) const {
    const std::unique_ptr<Claim> claim = own.take("kn8-p00");
    test::write_file(directory / "has", "");
    until([&] { return claim->is_lost(); });
    test::write_file(directory / "lost", "");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(claims, ClaimFixture)

BOOST_AUTO_TEST_CASE(a_trial_is_taken_once_until_it_is_given_back) {
  std::unique_ptr<Claim> claim = folder.take("kn8-p00");
  BOOST_REQUIRE(claim);
  BOOST_TEST(!folder.take("kn8-p00"));
  BOOST_TEST(folder.take("kn8-p01").get() != nullptr);
  claim.reset();
  claim = folder.take("kn8-p00");
  BOOST_REQUIRE(claim);
  BOOST_TEST(fs::exists(claims / "kn8-p00.2"));
  BOOST_TEST(!fs::exists(claims / "kn8-p00.3"));
  BOOST_TEST(!claim->is_lost());
}

// Field 22 of /proc/PID/stat (proc(5)) tells a process from an earlier one of its number. The test's name has no space.
BOOST_AUTO_TEST_CASE(a_claim_tells_when_its_process_began) {
  const std::unique_ptr<Claim> claim = folder.take("kn8-p00");
  std::istringstream fields(test::read_file("/proc/self/stat"));
  std::string start;
  for (int field = 1; field <= 22; ++field) fields >> start;
  const std::string text = test::read_file(claims / "kn8-p00.1");
  BOOST_TEST(test::contains(text, fmt::format(R"("process_start":"{}")", start)));
}

BOOST_AUTO_TEST_CASE(of_processes_that_race_one_wins_each_trial) {
  constexpr int kProcesses = 4, kTrials = 60;
  const fs::path start = directory / "start";
  {
    std::vector<std::unique_ptr<Other>> racing;
    for (int number = 0; number < kProcesses; ++number)
      racing.push_back(std::make_unique<Other>([&, number] {
        until([&] { return fs::exists(start); });
        std::vector<std::unique_ptr<Claim>> own;
        std::string names;
        for (int trial = 0; trial < kTrials; ++trial)
          if (std::unique_ptr<Claim> claim = folder.take(fmt::format("p{}", trial))) {
            names += fmt::format("p{}\n", trial);
            own.push_back(std::move(claim));
          }
        test::write_file(directory / fmt::format("won.{}.part", number), names);
        fs::rename(directory / fmt::format("won.{}.part", number), directory / fmt::format("won.{}", number));
        // A process that ends loses what it has, so that every process waits for all others.
        for (int other = 0; other < kProcesses; ++other)
          until([&] { return fs::exists(directory / fmt::format("won.{}", other)); });
      }));
    test::write_file(start, "");
  }
  std::map<std::string, int> winners;
  for (int number = 0; number < kProcesses; ++number) {
    std::istringstream names(test::read_file(directory / fmt::format("won.{}", number)));
    for (std::string name; names >> name;) ++winners[name];
  }
  BOOST_TEST(winners.size() == static_cast<size_t>(kTrials));
  for (const auto& [name, count] : winners) BOOST_TEST(count == 1, name);
}

BOOST_AUTO_TEST_CASE(what_a_dead_process_had_is_free_at_once) {
  Other other([&] {
    const std::unique_ptr<Claim> claim = folder.take("kn8-p00");
    ::raise(SIGKILL);
  });
  other.wait();
  BOOST_TEST(fs::exists(claims / "kn8-p00.1"));
  BOOST_TEST(folder.take("kn8-p00").get() != nullptr);
  BOOST_TEST(fs::exists(claims / "kn8-p00.2"));
}

BOOST_AUTO_TEST_CASE(a_lease_of_another_machine_runs_out_by_the_file_systems_clock) {
  make_foreign("kn8-p00.1");
  BOOST_TEST(!folder.take("kn8-p00"));
  set_age(claims / "kn8-p00.1", kLongLease - 10s);
  BOOST_TEST(!folder.take("kn8-p00"));
  set_age(claims / "kn8-p00.1", kLongLease + 1s);
  BOOST_TEST(folder.take("kn8-p00").get() != nullptr);
  BOOST_TEST(fs::exists(claims / "kn8-p00.2"));
}

BOOST_AUTO_TEST_CASE(a_claim_holds_for_its_own_lease_whoever_asks) {
  ClaimFolder brief(claims, 1s);
  make_foreign("kn8-p00.1");
  set_age(claims / "kn8-p00.1", kLongLease / 2);
  BOOST_TEST(!brief.take("kn8-p00"));
  make_foreign("kn8-p01.1", 1s);
  set_age(claims / "kn8-p01.1", 5s);
  BOOST_TEST(folder.take("kn8-p01").get() != nullptr);
  make_foreign("kn8-p02.1", std::chrono::milliseconds(std::numeric_limits<int64_t>::max()));
  BOOST_TEST(!brief.take("kn8-p02"));
}

// A claim is dated ahead if a clock was wrong once, or somebody set it.
BOOST_AUTO_TEST_CASE(a_claim_dated_ahead_holds_for_a_lease_in_which_nobody_renews_it) {
  ClaimFolder brief(claims, 1s);
  make_foreign("kn8-p00.1", 1s);
  set_age(claims / "kn8-p00.1", -3600s);
  BOOST_TEST(!brief.take("kn8-p00"));
  BOOST_TEST(brief.holder("kn8-p00") == "far");
  std::unique_ptr<Claim> claim;
  until([&] { return (claim = brief.take("kn8-p00")) != nullptr; });
  BOOST_TEST(fs::exists(claims / "kn8-p00.2"));
  BOOST_TEST(brief.holder("kn8-p01") == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_claim_holds_for_one_lease) {
  ClaimFolder brief(claims, 1s);
  fs::create_directory(claims / "kn8-p00.1");
  BOOST_REQUIRE(::mkfifo((claims / "kn8-p01.1").c_str(), 0600) == 0);
  fs::create_symlink(directory / "nowhere", claims / "kn8-p02.1");
  make_foreign("kn8-p03.1", std::chrono::milliseconds(std::numeric_limits<int64_t>::max()));
  make_foreign("kn8-p04.1", -1s);
  for (const char* file : {"kn8-p00.1", "kn8-p01.1", "kn8-p03.1"}) set_age(claims / file, -3600s);
  const auto names = {"kn8-p00", "kn8-p01", "kn8-p02", "kn8-p03", "kn8-p04"};
  for (const char* name : names) BOOST_TEST(!brief.take(name), name);
  for (const char* name : names) until([&] { return brief.take(name) != nullptr; });
}

// The folder may be another user's, who could have put anything there.
BOOST_AUTO_TEST_CASE(nothing_is_written_but_own_claims) {
  const fs::path victim = directory / "victim";
  test::write_file(victim, "");
  set_age(victim, 3600s);
  const auto before = fs::last_write_time(victim);
  fs::create_symlink(victim, claims / "clock");
  make_foreign("kn8-p00.1");
  BOOST_TEST(!folder.take("kn8-p00"));
  const std::unique_ptr<Claim> claim = folder.take("kn8-p01");
  BOOST_TEST((fs::last_write_time(victim) == before));
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(claims))
    names.insert(entry.path().filename().string());
  BOOST_TEST((names == std::set<std::string>{"clock", "kn8-p00.1", "kn8-p01.1"}));
}

BOOST_AUTO_TEST_CASE(the_highest_number_owns) {
  make_foreign("kn8-p00.1");
  set_age(claims / "kn8-p00.1", 10 * kLongLease);
  make_foreign("kn8-p00.2");
  BOOST_TEST(!folder.take("kn8-p00"));
}

BOOST_AUTO_TEST_CASE(a_claim_is_renewed_as_long_as_it_lives) {
  constexpr auto kLease = 2s;
  ClaimFolder brief(claims, kLease);
  const std::unique_ptr<Claim> claim = brief.take("kn8-p00");
  BOOST_REQUIRE(claim);
  make_foreign("kn8-p01.1", kLease);
  std::unique_ptr<Claim> other;
  until([&] { return (other = brief.take("kn8-p01")) != nullptr; });  // nobody renews this lease, so that it runs out
  BOOST_TEST(!brief.take("kn8-p00"));
  BOOST_TEST(!claim->is_lost());
}

BOOST_AUTO_TEST_CASE(who_is_not_heard_of_loses_and_finds_out) {
  ClaimFolder brief(claims, 1s);
  Other stopped([&] { hold_until_lost(brief); });
  until([&] { return fs::exists(directory / "has"); });
  BOOST_TEST(!folder.take("kn8-p00"));
  stopped.kill(SIGSTOP);
  std::unique_ptr<Claim> claim;
  until([&] { return (claim = folder.take("kn8-p00")) != nullptr; });
  stopped.kill(SIGCONT);
  until([&] { return fs::exists(directory / "lost"); });
  BOOST_TEST(!claim->is_lost());
}

// Another process might have taken the trial, and ended, meanwhile.
BOOST_AUTO_TEST_CASE(who_stood_still_for_most_of_a_lease_has_lost) {
  constexpr auto kLease = 1s;
  ClaimFolder brief(claims, kLease);
  Other stopped([&] { hold_until_lost(brief); });
  until([&] { return fs::exists(directory / "has"); });
  stopped.kill(SIGSTOP);
  std::this_thread::sleep_for(kLease);
  stopped.kill(SIGCONT);
  until([&] { return fs::exists(directory / "lost"); });
  BOOST_TEST(!fs::exists(claims / "kn8-p00.2"));
}

BOOST_AUTO_TEST_CASE(a_claim_cut_short_is_one) {
  test::write_file(claims / "kn8-p00.1", "");
  BOOST_TEST(!folder.take("kn8-p00"));
  test::write_file(claims / "kn8-p01.1", "{\"host\":");
  BOOST_TEST(!folder.take("kn8-p01"));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_written_is_named) {
  test::write_file(directory / "file", "");
  BOOST_CHECK_THROW(ClaimFolder(directory / "file" / "claims", kLongLease), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::claims_test
