// Describes this machine's processor as the operating system does (/proc/cpuinfo), without asking a compiler or
// starting a process. If two processors have one description, -march=native means the same on both to one compiler.
#pragma once
#include <string>

namespace kb {

// Returns one line: vendor, family, model and a hash of the feature flags of the first processor. Names and clock
// rates, which differ between equal processors, are left out.
std::string describe_processor();

// Returns Target::isa for the CPU backend: "avx512" (F, BW, DQ, VL), "avx2" (with FMA and F16C), or else "portable".
std::string instruction_set();

// These two read `cpuinfo`, the text of a /proc/cpuinfo in the form of x86 or ARM, in place of this machine's.
std::string describe_processor(const std::string& cpuinfo);
std::string instruction_set(const std::string& cpuinfo);

}  // namespace kb
