// Tests how much memory the limits of control groups leave, with trees of groups as systems show them.
#include "runtime/usable_memory.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/support/support.h"

namespace kb::usable_memory_test {
namespace {

struct Groups {
  test::TemporaryDirectory root;
  const int64_t machine = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);

  Groups() { write("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"); }

  void write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::create_directories((root / name).parent_path());
    test::write_file(root / name, text);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(memory_for_a_process, Groups)

BOOST_AUTO_TEST_CASE(without_a_limit_it_is_the_machines) {
  BOOST_TEST(usable_memory(root.path()) == machine);
  write("proc/self/cgroup", "0::/\n");
  BOOST_TEST(usable_memory(root.path()) == machine);
  write("sys/fs/cgroup/memory.max", "max\n");
  BOOST_TEST(usable_memory(root.path()) == machine);
  write("sys/fs/cgroup/memory.max", "9223372036854771712\n");
  BOOST_TEST(usable_memory(root.path()) == machine);
}

BOOST_AUTO_TEST_CASE(the_least_limit_of_the_groups_above_counts) {
  write("proc/self/cgroup", "1:cpu:/\n0::/slurm/job_7/step_0\n");
  write("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  write("sys/fs/cgroup/slurm/job_7/memory.max", "1000000\n");
  write("sys/fs/cgroup/slurm/memory.max", "2000000\n");
  BOOST_TEST(usable_memory(root.path()) == 1'000'000);
}

// A container's group is shown by its name on the host, and mounted as the top.
BOOST_AUTO_TEST_CASE(a_groups_name_may_be_hidden) {
  write("proc/self/cgroup", "0::/docker/abc\n");
  write("sys/fs/cgroup/memory.max", "3000000\n");
  BOOST_TEST(usable_memory(root.path()) == 3'000'000);
}

BOOST_AUTO_TEST_CASE(version_1_has_a_hierarchy_of_memory) {
  write("proc/self/mountinfo", "32 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "7:memory:/pod\n3:cpu,cpuacct:/pod\n");
  write("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "4000000\n");
  BOOST_TEST(usable_memory(root.path()) == 4'000'000);
}

BOOST_AUTO_TEST_CASE(the_hierarchy_may_be_mounted_anywhere) {
  write("proc/self/mountinfo", "31 23 0:27 /pods /groups/unified rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "0::/pods/a\n");
  write("groups/unified/a/memory.max", "5000000\n");
  BOOST_TEST(usable_memory(root.path()) == 5'000'000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::usable_memory_test
