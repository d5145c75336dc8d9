// Opens a GPU for a program: the plug-in library, the driver and a device. If one of them is missing, the error says
// which and how to get it. A program that wants no GPU opens nothing.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/comm/communicator.h"

namespace kb {

struct CudaOptions {
  int device = 0;               // ordinal, for a process without others
  bool deterministic = true;    // two runs compute the same bits
  bool sync_steps = false;      // wait after every schedule step and capture none, so that a fault names its step
  std::string cache_directory;  // "": the environment names it (runtime/options.h)
  // Set in a run of several processes, in which all open their devices at the same time. Both must outlive the backend.
  Communicator* communicator = nullptr;
  Heartbeat* heartbeat = nullptr;                      // if given, it is told where this process waits
  Algorithm all_reduce = Algorithm::halving_doubling;  // may also be nccl
};

struct CudaPlaces {
  std::vector<std::filesystem::path> plugins;  // the first that exists is opened
  std::string driver = "libcuda.so.1";
};
// Returns libkilobatch_cuda.so beside the program, in the `lib` folder next to the program's, and on its library path.
CudaPlaces cuda_places();

// Opens a GPU. Throws Error, with "missing: ..." and a hint, when it cannot be used. If the communicator has several
// ranks, each takes another device, options.device is not used, and all throw when one finds none.
std::unique_ptr<Backend> open_cuda_backend(const CudaOptions& options, const CudaPlaces& places = cuda_places());

// The plug-in's libraries, which plan for a device of an architecture that this machine need not have; they do not run.
// If the plug-in is missing or refuses, `query` is null and `name` says why.
struct DevicelessLibrary {
  std::shared_ptr<const LibraryQuery> query;
  std::string name;  // a text: "cuDNN 9.19.0, cuBLASLt 13.1.0"
};
DevicelessLibrary open_deviceless_library(const std::string& architecture, const CudaPlaces& places = cuda_places());

// The functions that the plug-in exports: kilobatch_cuda_version returns build_version(); kilobatch_cuda_open and
// kilobatch_cuda_deviceless may throw Error.
using CudaPluginVersion = const char* (*)();
using CudaPluginOpen = Backend* (*)(const CudaOptions*);
using CudaPluginDeviceless = LibraryQuery* (*)(const char* architecture, std::string* name);

}  // namespace kb
