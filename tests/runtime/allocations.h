// How often operator new ran in this test program, any thread; calls made by oneDNN's own code are not counted.
#pragma once
#include <cstdint>

namespace kb::test {

int64_t allocations_of_ours();

}  // namespace kb::test
