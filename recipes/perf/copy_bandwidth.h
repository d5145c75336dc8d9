// Copies of large arrays by several threads: the physical limit that memory-bound kernels are measured against.
#pragma once
#include <cstdint>
#include <memory>

#include "runtime/backend.h"
#include "runtime/cpu/pool.h"

namespace kb {

class CopyBandwidth {
 public:
  // Arrays of `bytes` each; 0 threads = all cores.
  CopyBandwidth(int64_t bytes, int threads);
  ~CopyBandwidth();
  void plain();      // ordinary stores
  void streaming();  // non-temporal stores (ordinary ones where the processor has none)

 private:
  struct Arrays;
  std::unique_ptr<Arrays> arrays_;
  Pool pool_;
};

// Bytes of an array whose copy tells the rate of a device's memory: 1 GiB, of which its cache (126 MB of a B200) holds
// little, but no more than a quarter of what is free.
int64_t device_copy_bytes(const Backend& backend);

// Bytes read and written a second by the backend's own copy of one variable to another.
double device_copy_rate(Backend& backend, int64_t bytes);

}  // namespace kb
