// Sums over ranks on their devices, as one of the ranks sees them.
#pragma once
#include <initializer_list>
#include <string>

#include "tests/gpu/checks/checks.h"

namespace kb::test {

// Every dtype and size, one reduction after the other: "", or what is wrong; bits where the algorithm is exact. All
// ranks call it at the same time, each with a device of its own.
std::string sums_conform(const cuda::OpenDevice& device, const cuda::Factories& factories, Communicator& ranks,
                         Algorithm algorithm, std::initializer_list<int64_t> sizes);

}  // namespace kb::test
