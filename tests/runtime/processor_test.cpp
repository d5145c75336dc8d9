#include "runtime/processor.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"

namespace kb::processor_test {

namespace {

constexpr char kCpuInfo[] =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n"
    "flags\t\t: fpu avx2 avx512f\n\nprocessor\t: 1\nvendor_id\t: Other\nflags\t\t: none\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(processor)

BOOST_AUTO_TEST_CASE(equal_processors_are_described_equally) {
  const std::string text = kb::describe_processor(kCpuInfo);
  BOOST_TEST(text.starts_with("GenuineIntel 6 85 features "), text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, "fpu avx2", "avx2 fpu")) == text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, "Xeon", "another name")) == text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, " avx512f", "")) != text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, ": 85", ": 86")) != text);
  BOOST_TEST(kb::describe_processor() == kb::describe_processor());
}

BOOST_AUTO_TEST_CASE(arm_is_described_too) {
  BOOST_TEST(kb::describe_processor("processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n"
                                    "CPU architecture: 8\nCPU part\t: 0xd40\n")
                 .starts_with("0x41 8 0xd40 features "));
  for (const char* incomplete : {"nothing here", "vendor_id\t: X\n", "flags\t: fpu avx2\n"})
    BOOST_CHECK_THROW(kb::describe_processor(incomplete), kb::Error);
}

BOOST_AUTO_TEST_CASE(the_widest_whole_instruction_set) {
  const auto with = [](const std::string& flags) { return kb::instruction_set("flags\t: " + flags + "\n"); };
  BOOST_TEST(with("fma avx512vl avx512f avx512bw avx2 avx512dq f16c") == "avx512");
  BOOST_TEST(with("fma avx512f avx2 f16c") == "avx2");
  BOOST_TEST(with("avx avx2 fma") == "portable");
  BOOST_TEST(with("sse2") == "portable");
  BOOST_TEST(kb::instruction_set("Features\t: fp asimd\n") == "portable");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::processor_test
