// What this machine's processor is, as the operating system describes it (/proc/cpuinfo): no compiler is asked and no
// process started. Two processors with one description mean the same by -march=native, for one compiler.
#pragma once
#include <string>

namespace kb {

// Vendor, family, model and a hash of the feature flags, of the first processor: one line. Names and clock rates, which
// differ between equal processors, are not in it.
std::string describe_processor();

// Target::isa of the CPU backend: "avx512" (F, BW, DQ, VL), "avx2" (with FMA and F16C), else "portable".
std::string instruction_set();

// The same from the text of /proc/cpuinfo, in the spelling of x86 or of ARM.
std::string describe_processor(const std::string& cpuinfo);
std::string instruction_set(const std::string& cpuinfo);

}  // namespace kb
