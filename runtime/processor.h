// A description of this machine's processor, as the operating system gives it (/proc/cpuinfo): no compiler is asked and
// no process started. For one compiler, -march=native means the same on two processors with one description.
#pragma once
#include <string>

namespace kb {

// Vendor, family, model and a hash of the feature flags, of the first processor: one line. Names and clock rates, which
// differ between equal processors, are not in it.
std::string describe_processor();

// Target::isa of the CPU backend: "avx512" (F, BW, DQ, VL), "avx2" (with FMA and F16C), else "portable".
std::string instruction_set();

// Both read the given text of /proc/cpuinfo in place of this machine's, in the spelling of x86 or of ARM.
std::string describe_processor(const std::string& cpuinfo);
std::string instruction_set(const std::string& cpuinfo);

}  // namespace kb
