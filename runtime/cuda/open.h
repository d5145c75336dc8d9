// A program's way to a GPU: the plug-in library, the driver and a device, or which of them is missing and how to get
// it. A program that asks for no GPU opens nothing.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/comm/communicator.h"

namespace kb {

struct CudaOptions {
  int device = 0;               // ordinal, of a process alone
  bool deterministic = true;    // two runs give the same bits
  bool sync_steps = false;      // wait after every schedule step, capture none: a fault is told by its step
  std::string cache_directory;  // "" = from the environment (runtime/options.h)
  // Set in programs of several processes, each of which opens its own device at that time; both outlive the backend.
  Communicator* communicator = nullptr;
  Heartbeat* heartbeat = nullptr;                      // is told where this process waits; may be absent
  Algorithm all_reduce = Algorithm::halving_doubling;  // or nccl
};

struct CudaPlaces {
  std::vector<std::filesystem::path> plugins;  // the first that is there is opened
  std::string driver = "libcuda.so.1";
};
// libkilobatch_cuda.so beside the program, in the `lib` folder next to the program's, or on its library path.
CudaPlaces cuda_places();

// Throws Error, with "missing: ..." and a hint, where a GPU cannot be used. Where the communicator has several ranks,
// each takes a device of its own in place of options.device, and all of them throw where one has none.
std::unique_ptr<Backend> open_cuda_backend(const CudaOptions& options, const CudaPlaces& places = cuda_places());

// The plug-in's libraries, asked about a device of an architecture that need not be here: convolutions are planned, not
// run. `query` is null, and `name` says why, if the plug-in is missing or refuses.
struct DevicelessLibrary {
  std::shared_ptr<const LibraryQuery> query;
  std::string name;  // "cuDNN 9.19.0, cuBLASLt 13.1.0"
};
DevicelessLibrary open_deviceless_library(const std::string& architecture, const CudaPlaces& places = cuda_places());

// The plug-in's exports: kilobatch_cuda_version, which gives build_version(); kilobatch_cuda_open and
// kilobatch_cuda_deviceless, which may throw Error.
using CudaPluginVersion = const char* (*)();
using CudaPluginOpen = Backend* (*)(const CudaOptions*);
using CudaPluginDeviceless = LibraryQuery* (*)(const char* architecture, std::string* name);

}  // namespace kb
