// Copies of large arrays, whose bandwidth is the physical limit that memory-bound kernels are measured against.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/backend.h"
#include "runtime/cpu/pool.h"

namespace kb {

// Copies one array in host memory to another, or reads it alone, by several threads. The caller takes the time.
class CopyBandwidth {
 public:
  // Allocates two arrays of at least `bytes` bytes each; 0 threads stand for one per core.
  CopyBandwidth(int64_t bytes, int threads);
  void plain();      // copies with ordinary stores
  void streaming();  // copies with non-temporal stores, or with ordinary ones if the processor is no x86-64
  void reading();    // reads the array that they copy to; after streaming(), none of it is in the cache

 private:
  const int64_t tiles_;
  Pool pool_;
  const std::unique_ptr<DeviceMemory> from_, to_;
  std::atomic<uint64_t> bits_ = 0;  // joins what was read: without a use of it the compiler would read nothing
};

// Returns the bytes of an array whose copy measures the bandwidth of a device's memory: 1 GiB, of which a cache (126 MB
// in a B200) holds little, but at most a quarter of the free memory.
int64_t device_copy_bytes(const Backend& backend);

// Returns the bytes read and written per second when the backend copies one variable of `bytes` bytes to another. It is
// the best of several trials.
double device_copy_rate(Backend& backend, int64_t bytes);

}  // namespace kb
