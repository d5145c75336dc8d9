#include "runtime/usable_processors.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <string>

#include "tests/support/support.h"

namespace kb::usable_processors_test {

namespace fs = std::filesystem;
using kb::CpuQuota;

namespace {

// A tree of control groups as a system shows it: `groups` is /proc/self/cgroup, `mounts` /proc/self/mountinfo.
class FakeSystem {
 public:
  FakeSystem(const std::string& groups, const std::string& mounts) {
    write("proc/self/cgroup", groups);
    write("proc/self/mountinfo", "23 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n" + mounts);
  }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  // Returns the quotas in processors, from the process's own group upwards.
  std::vector<double> quotas() const {
    std::vector<double> result;
    for (const CpuQuota& quota : kb::cpu_quotas(root_.path())) result.push_back(quota.processors);
    return result;
  }

  int usable(int in_mask) const { return kb::usable_processors(in_mask, kb::cpu_quotas(root_.path())); }

 private:
  kb::test::TemporaryDirectory root_;
};

const std::string kV2 = "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kV1 =
    "31 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
    "32 31 0:28 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
    "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct\n";
const std::string kV1Groups = "5:cpuset:/other\n4:cpu,cpuacct:/a/b\n3:memory:/m\n";

using Quotas = std::vector<double>;

}  // namespace

BOOST_AUTO_TEST_SUITE(usable_processors)

// docker run --cpus 1.5 on a machine of 64: the container sees its own group as the top.
BOOST_AUTO_TEST_CASE(the_quota_of_a_container) {
  const FakeSystem system("0::/\n", kV2);
  BOOST_TEST(system.usable(64) == 64);
  system.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  BOOST_TEST(system.usable(64) == 64);
  system.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  BOOST_TEST(system.quotas() == Quotas({1.5}));
  BOOST_TEST(system.usable(64) == 2);
  BOOST_TEST(system.usable(1) == 1);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_processor_is_one) {
  const auto rounded = [](double quota) { return kb::usable_processors(64, {{1, quota}}); };
  BOOST_TEST(rounded(0.1) == 1);
  BOOST_TEST(rounded(1.0) == 1);
  BOOST_TEST(rounded(1.01) == 2);
  BOOST_TEST(rounded(2.0) == 2);
  BOOST_TEST(rounded(4.0000000001) == 4);
  BOOST_TEST(rounded(1e300) == 64);
  BOOST_TEST(kb::usable_processors(64, {}) == 64);
  BOOST_TEST(kb::usable_processors(0, {}) == 1);
}

// A pod's limit stands in a group above the container's.
BOOST_AUTO_TEST_CASE(the_least_of_all_groups_above) {
  const FakeSystem system("0::/pod/container/run\n", kV2);
  system.write("sys/fs/cgroup/pod/cpu.max", "300000 100000\n");
  system.write("sys/fs/cgroup/pod/container/cpu.max", "800000 200000\n");
  system.write("sys/fs/cgroup/pod/container/run/cpu.max", "max 100000\n");
  system.write("sys/fs/cgroup/elsewhere/cpu.max", "100000 100000\n");
  BOOST_TEST(system.quotas() == Quotas({4, 3}));
  BOOST_TEST(system.usable(16) == 3);
  BOOST_TEST(system.usable(2) == 2);
}

BOOST_AUTO_TEST_CASE(the_first_version_of_control_groups) {
  const FakeSystem system(kV1Groups, kV1);
  const std::string top = "sys/fs/cgroup/cpu,cpuacct";
  for (const char* group : {"", "/a", "/a/b"}) {
    system.write(top + group + "/cpu.cfs_quota_us", "-1\n");
    system.write(top + group + "/cpu.cfs_period_us", "100000\n");
  }
  BOOST_TEST(system.usable(8) == 8);
  system.write(top + "/a/cpu.cfs_quota_us", "250000\n");
  BOOST_TEST(system.quotas() == Quotas({2.5}));
  BOOST_TEST(system.usable(8) == 3);
  system.write(top + "/a/b/cpu.cfs_quota_us", "50000\n");
  BOOST_TEST(system.usable(8) == 1);
}

// Both versions side by side, as many systems have them: processors are the first version's there.
BOOST_AUTO_TEST_CASE(both_versions_at_once) {
  const FakeSystem system(kV1Groups + "0::/a/b\n",
                          kV1 + "40 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  system.write("sys/fs/cgroup/unified/a/b/cgroup.procs", "");
  system.write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "200000\n");
  system.write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  BOOST_TEST(system.usable(8) == 2);
}

// A container without a namespace of its own for groups: the path is the host's, and its own group is what is mounted.
BOOST_AUTO_TEST_CASE(a_mounted_part_of_the_tree) {
  const FakeSystem system("4:cpu,cpuacct:/docker/123/inner\n",
                          "33 31 0:29 /docker/123 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
  const std::string top = "sys/fs/cgroup/cpu,cpuacct";
  system.write(top + "/cpu.cfs_quota_us", "400000\n");
  system.write(top + "/cpu.cfs_period_us", "100000\n");
  system.write(top + "/inner/cpu.cfs_quota_us", "100000\n");
  system.write(top + "/inner/cpu.cfs_period_us", "100000\n");
  BOOST_TEST(system.quotas() == Quotas({1, 4}));
}

// A process whose group lies outside of the mounted one has the quota of the mounted group. Files that make no sense
// set no quota.
BOOST_AUTO_TEST_CASE(what_cannot_be_seen_or_read) {
  const FakeSystem outside("0::/../../other\n", kV2);
  outside.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  outside.write("sys/other/cpu.max", "100000 100000\n");
  BOOST_TEST(outside.usable(8) == 2);
  const FakeSystem odd("0::/\nnonsense\n:\n", kV2 + "nonsense\n1 2 - \n");
  for (const char* text : {"", "max", "0 0", "0 100000", "100000", "-5 100000", "200000 0", "nonsense nonsense"}) {
    odd.write("sys/fs/cgroup/cpu.max", text);
    BOOST_TEST(odd.usable(8) == 8, text);
  }
  BOOST_TEST(kb::cpu_quotas("/nowhere").empty());
}

BOOST_AUTO_TEST_CASE(this_process) {
  const std::vector<int> mask = kb::affinity();
  BOOST_REQUIRE(!mask.empty());
  BOOST_TEST(std::is_sorted(mask.begin(), mask.end()));
  BOOST_TEST(kb::usable_processors() >= 1);
  BOOST_TEST(kb::usable_processors() <= static_cast<int>(mask.size()));
  BOOST_TEST(kb::machine_processors() >= 1);
}

// A real group with a quota of half a processor, where one may be made.
BOOST_AUTO_TEST_CASE(a_real_group) {
  const std::string name = "kilobatch-test-" + std::to_string(::getpid());
  const auto write = [](const fs::path& file, const std::string& text) {
    return (std::ofstream(file) << text).flush().good();
  };
  for (const auto& [top, limit, text] :
       {std::tuple{"/sys/fs/cgroup", "cpu.max", "50000 100000"}, {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"}}) {
    const fs::path group = fs::path(top) / name;
    if (::mkdir(group.c_str(), 0755) != 0) continue;
    if (fs::exists(group / limit) && write(group / limit, text)) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(write(group / "cgroup.procs", std::to_string(::getpid())) ? kb::usable_processors() : 99);
      int status = 0;
      ::waitpid(child, &status, 0);
      BOOST_TEST(WEXITSTATUS(status) == 1);
      BOOST_TEST_MESSAGE("a group with " << limit << " " << text << " in " << top);
    }
    fs::remove(group);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::usable_processors_test
