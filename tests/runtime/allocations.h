// How often operator new ran in this test program, any thread; calls made by oneDNN's own code are counted apart.
#pragma once
#include <cstdint>

namespace kb::test {

int64_t allocations_of_ours();
int64_t allocations_of_onednn();

}  // namespace kb::test
