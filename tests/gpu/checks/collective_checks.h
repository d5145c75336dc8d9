// Sums over ranks on their devices, as one rank sees them.
#pragma once
#include <initializer_list>
#include <string>

#include "tests/gpu/checks/checks.h"

namespace kb::test {

// Sums arrays of every dtype and size, one reduction after another. Returns what is wrong, or "". If the algorithm is
// exact, the bits are compared, also of sums among every second rank if their number is even. All ranks call it at the
// same time, each with another device.
std::string sums_conform(const cuda::OpenDevice& device, const cuda::Factories& factories, Communicator& ranks,
                         Algorithm algorithm, std::initializer_list<int64_t> sizes);

}  // namespace kb::test
