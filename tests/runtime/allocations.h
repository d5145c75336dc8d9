// Counts the calls of operator new in this test program, of all threads. Calls from oneDNN's own code are counted
// apart.
#pragma once
#include <cstdint>

namespace kb::test {

int64_t allocations_of_ours();
int64_t allocations_of_onednn();

}  // namespace kb::test
