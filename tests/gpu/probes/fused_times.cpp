#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "runtime/cuda/call_memory.h"
#include "runtime/cuda/cudnn/conv_graph.h"
#include "runtime/cuda/device.h"
#include "tests/gpu/probes/fused_graphs.h"

namespace kb::cudnn {
namespace {

constexpr int kRounds = 7;
constexpr size_t kRepeats = cuda::CallMemory::kRuns;
constexpr size_t kBarePlans = 8;
constexpr int64_t kCopyBytes = int64_t{1} << 30;

// Returns milliseconds of one run: the median of several rounds of repeats, without the first round, whose caches are
// cold.
double milliseconds(const cuda::DeviceHandles& device, const std::function<void(size_t run)>& enqueue) {
  const cuda::EventHandle begin(device.driver, cuda::kEventTimed), end(device.driver, cuda::kEventTimed);
  std::array<double, kRounds> times{};
  for (int round = -1; round < kRounds; ++round) {
    begin.record(device.stream);
    for (size_t run = 0; run < kRepeats; ++run) enqueue(run);
    end.record(device.stream);
    device.driver(device.driver.stream_synchronize, device.stream);
    if (round >= 0) times[static_cast<size_t>(round)] = end.milliseconds_since(begin) / kRepeats;
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

// Makes the descriptor for one run of a plan on one copy of the operands.
Descriptor variant_pack(const cuda::CallMemory& memory, size_t copy, const std::vector<Operand>& operands) {
  std::vector<int64_t> ids;
  std::vector<void*> addresses;
  for (size_t i = 0; i < operands.size(); ++i) {
    ids.push_back(operands[i].id);
    addresses.push_back(memory.operand(copy, i));
  }
  void* const scratch = memory.scratch();
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const int64_t>(ids))
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(addresses), addresses.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
  pack.finalize();
  return pack;
}

// Returns the time of the fastest plan; each has memory of its own and finds its operands in no cache.
double fastest_of(const cuda::DeviceHandles& device, cudnnHandle_t handle, const std::vector<Plan>& plans,
                  const std::vector<Operand>& operands) {
  std::vector<cuda::TrialOperand> parts;
  int64_t workspace = 0;
  for (const Operand& operand : operands) parts.push_back({operand.bytes, operand.dtype});
  for (const Plan& plan : plans) workspace = std::max(workspace, plan.workspace);
  const cuda::CallMemory memory(device, parts, workspace);
  std::vector<Descriptor> packs;
  for (size_t copy = 0; copy < memory.copies(); ++copy) packs.push_back(variant_pack(memory, copy, operands));
  check(cudnnSetStream(handle, device.stream), "cudnnSetStream");
  double least = std::numeric_limits<double>::infinity();
  for (const Plan& plan : plans) {
    const auto run = [&](size_t number) {
      check(cudnnBackendExecute(handle, plan.plan.raw(), packs[number % packs.size()].raw()), "cudnnBackendExecute");
    };
    least = std::min(least, milliseconds(device, run));
  }
  return least;
}

}  // namespace

double time_fused(const cuda::DeviceHandles& device, cudnnHandle_t handle, const FusedGraph& graph,
                  const FusedAnswer& answer) {
  return fastest_of(device, handle, answer.plans, graph.operands);
}

double time_bare(const cuda::DeviceHandles& device, cudnnHandle_t handle, const ConvSpec& spec) {
  const PlanDevice choice(handle);
  const Descriptor graph = conv_graph(spec, choice);
  const std::vector<Plan> plans = candidates(graph, choice, {true, true, false, kWorkspaceLimit}, kBarePlans);
  const int64_t filter = 2 * spec.o * spec.c * spec.kh * spec.kw;
  return fastest_of(device, handle, plans,
                    {{kImage, 2 * input_elements(spec), spec.dtype},
                     {kFilter, filter, spec.dtype},
                     {kResult, 2 * output_elements(spec), spec.dtype}});
}

double copy_rate(const cuda::DeviceHandles& device) {
  const std::array parts = {cuda::TrialOperand{kCopyBytes, DType::f32}, cuda::TrialOperand{kCopyBytes, DType::f32}};
  const cuda::CallMemory memory(device, parts, 0);
  const auto from = reinterpret_cast<cuda::Address>(memory.operand(0, 0));
  const auto to = reinterpret_cast<cuda::Address>(memory.operand(0, 1));
  const double least = milliseconds(device, [&](size_t) {
    device.driver(device.driver.copy_on_device, to, from, static_cast<size_t>(kCopyBytes), device.stream);
  });
  return 2e3 * static_cast<double>(kCopyBytes) / least;
}

}  // namespace kb::cudnn
