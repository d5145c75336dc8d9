#include "runtime/cuda/cudnn/device.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace kb::cudnn {
namespace {

// The properties in which the three devices differ, as cudaGetDeviceProperties reports them.
struct Model {
  const char *architecture, *name;
  int version;                  // 100 times the compute capability
  int64_t processors;           // number of multiprocessors
  int64_t shared, blocks;       // most shared memory of a block (bytes, opted in); most blocks of a multiprocessor
  int64_t memory, cache;        // bytes of memory and of the second cache
  int64_t clock, memory_clock;  // clocks of the processors and the memory, kHz
};

constexpr Model kModels[] = {
    {"sm_80", "NVIDIA A100-SXM4-80GB", 800, 108, 166912, 32, 85'095'874'560, 41'943'040, 1'410'000, 1'593'000},
    {"sm_90", "NVIDIA H200", 900, 132, 232448, 32, 150'120'366'080, 62'914'560, 1'980'000, 3'201'000},
    {"sm_100", "NVIDIA B200", 1000, 148, 232448, 32, 191'514'017'792, 132'120'576, 1'965'000, 3'996'000},
};

// Returns the properties as JSON, with cuDNN's own names of the fields (its error names a missing one).
std::string json(const Model& m) {
  return fmt::format(
      R"({{"deviceVer":{},"deviceName":"{}","multiProcessorCount":{},"maxSharedMemoryPerBlockOptin":{},"maxCtasPerSM":{},)"
      R"("totalGlobalMem":{},"l2CacheSize":{},"smClockRateKHz":{},"memClockRateKHz":{},)"
      R"("warpSize":32,"maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
      R"("regsPerBlock":65536,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"maxBlockSize":[1024,1024,64],)"
      R"("maxGridSize":[2147483647,65535,65535],"supportCoopLaunch":1,"pciDeviceId":0,"isTccDriver":0,)"
      R"("cudaDeviceId":0,"driverVer":13000}})",
      m.version, m.name, m.processors, m.shared, m.blocks, m.memory, m.cache, m.clock, m.memory_clock);
}

}  // namespace

cudnnHandle_t create_handle() {
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle), "cudnnCreate");
  return handle;
}

PlanDevice::PlanDevice(const std::string& architecture) {
  for (const Model& model : kModels) {
    if (architecture != model.architecture) continue;
    properties_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties_->set_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json(model));
    properties_->finalize();
    return;
  }
  throw Error(fmt::format("cuDNN plans for '{}': expected sm_80, sm_90 or sm_100", architecture));
}

Descriptor PlanDevice::graph_of(std::span<const Descriptor* const> operations) const {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle_) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations).finalize();
  return graph;
}

void PlanDevice::set_heuristics(Descriptor& heuristics) const { set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP); }

void PlanDevice::set_engine(Descriptor& engine) const { set(engine, CUDNN_ATTR_ENGINE_DEVICEPROP); }

void PlanDevice::set_plan(Descriptor& plan) const {
  if (handle_) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
}

void PlanDevice::set(Descriptor& descriptor, cudnnBackendAttributeName_t properties) const {
  if (properties_) descriptor.set(properties, *properties_);
}

}  // namespace kb::cudnn
