#include "tests/gpu/checks/device_block.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "runtime/cuda/memory.h"

namespace kb::test {
namespace {

constexpr unsigned char kFill = 0xa5;

}  // namespace

DeviceBlock::DeviceBlock(const cuda::OpenDevice& device, int64_t bytes, size_t margin, size_t shift)
    : device_(device), bytes_(static_cast<size_t>(bytes)), margin_(margin), shift_(shift) {
  device_.driver(device_.driver.memory_allocate, &address_, std::max<size_t>(shift_ + bytes_ + margin_, 1));
  clear();
}

DeviceBlock::~DeviceBlock() { device_.driver.memory_free.function(address_); }

void DeviceBlock::clear() {
  if (margin_ == 0) return;
  device_.driver(device_.driver.fill_bytes, address_, kFill, shift_ + bytes_ + margin_, device_.compute);
}

void DeviceBlock::write(std::span<const std::byte> bytes) {
  const auto host = cuda::allocate_pinned(device_, static_cast<int64_t>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), host->data());
  device_.driver(device_.driver.copy_to_device, cuda::address_of(data()), host->data(), bytes.size(), device_.compute);
  device_.wait();
}

std::vector<std::byte> DeviceBlock::read() const {
  const auto host = cuda::allocate_pinned(device_, static_cast<int64_t>(bytes_ + margin_));
  const std::byte *begin = host->data(), *end = begin + bytes_;
  device_.driver(device_.driver.copy_to_host, host->data(), cuda::address_of(data()), bytes_ + margin_,
                 device_.compute);
  device_.wait();
  const bool kept = std::all_of(end, end + margin_, [](std::byte b) { return b == std::byte{kFill}; });
  BOOST_TEST(kept, "written behind the end");
  return {begin, end};
}

}  // namespace kb::test
