#include "runtime/cuda/cudnn/convolutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "graph/error.h"
#include "runtime/cuda/alignment.h"
#include "runtime/cuda/cudnn/conv_graph.h"
#include "runtime/cuda/cudnn/device.h"
#include "runtime/cuda/trials.h"

namespace kb::cudnn {
namespace {

constexpr size_t kCandidates = 10;  // number of implementations that are tried

int64_t mb(int64_t bytes) { return (bytes + 500'000) / 1'000'000; }

int64_t filter_elements(const ConvSpec& spec) { return spec.o * (spec.c / spec.groups) * spec.kh * spec.kw; }

// Returns the most bytes of a workspace; engines that want more copy whole operands. Of ResNet-50's 161 convolutions in
// bf16 at 256 samples, only the first one needs more than 256 MiB or half of its operands would give: cuDNN pads its 3
// channels to 8 (206 MB). That grows with the minibatch, and so does the limit.
int64_t workspace_limit(const ConvSpec& spec) {
  const int64_t operands = input_elements(spec) + filter_elements(spec) + output_elements(spec);
  return std::max<int64_t>(256 << 20, operands * size_of(spec.dtype) / 2);
}

// Addresses of the graph's tensors.
struct Operands {
  void *image = nullptr, *filter = nullptr, *result = nullptr, *bias = nullptr;
};

Operands operands(const ConvSpec& spec, std::span<const void* const> in, std::span<void* const> out) {
  const auto input = [&](size_t i) { return const_cast<void*>(in[i]); };
  switch (spec.kind) {
    case ConvKind::forward:
      return {input(0), input(1), out[0], spec.bias ? input(2) : nullptr};
    case ConvKind::input_grad:
      return {out[0], input(1), input(0), nullptr};
    case ConvKind::weight_grad:
      return {input(0), out[0], input(1), nullptr};
  }
  throw InternalError("convolution: no such kind");
}

void execute(cudnnHandle_t handle, const Plan& plan, const Operands& o, void* workspace) {
  const int64_t ids[] = {kImage, kFilter, kResult, kBias};
  void* const addresses[] = {o.image, o.filter, o.result, o.bias};
  const size_t count = o.bias ? 4 : 3;
  for (const void* address : std::span(addresses).first(count)) cuda::check_operand("convolution", address);
  execute(handle, plan, std::span(ids).first(count), std::span(addresses).first(count), workspace);
}

class ConvOp : public cuda::LibraryOp {
 public:
  ConvOp(cudnnHandle_t handle, const ConvSpec& spec, std::shared_ptr<const GraphPlan> chosen)
      : handle_(handle), spec_(spec), chosen_(std::move(chosen)) {}

  // Returns the bytes of the workspace and of its alignment.
  int64_t scratch_bytes() const override {
    const int64_t needed = chosen_->plan.workspace;
    return needed == 0 ? 0 : needed + cuda::kWorkspaceAlignment;
  }
  std::string implementation() const override {
    const int64_t limit = workspace_limit(spec_), needed = chosen_->plan.workspace;
    return "cudnn engine " + chosen_->plan.pick +
           (needed <= limit ? ""
                            : fmt::format(", {} MB of workspace: no fast engine keeps to {}", mb(needed), mb(limit)));
  }

  void enqueue(cuda::Stream stream, std::span<const void* const> in, std::span<void* const> out,
               void* scratch) const override {
    ensure(handle_, "convolution: no device to run on");
    const Operands all = operands(spec_, in, out);
    check(cudnnSetStream(handle_, stream), "cudnnSetStream");
    execute(handle_, chosen_->plan, all, cuda::workspace_in(scratch));
  }

 private:
  cudnnHandle_t handle_;
  ConvSpec spec_;
  std::shared_ptr<const GraphPlan> chosen_;
};

Error unsupported(const ConvSpec& spec, bool deterministic) {
  return Error(fmt::format("{} has no {}implementation of {}{}", version(), deterministic ? "deterministic " : "",
                           text(spec), deterministic ? "\n  hint: --fast allows others" : ""));
}

}  // namespace

std::string version() {
  const size_t v = cudnnGetVersion();
  return fmt::format("cuDNN {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

Convolutions::Convolutions(const cuda::DeviceHandles& device, cuda::LibraryPicks& picks, bool deterministic)
    : device_(&device), choice_(create_handle()), picks_(picks), deterministic_(deterministic) {}

Convolutions::Convolutions(const std::string& architecture, cuda::LibraryPicks& picks, bool deterministic)
    : choice_(architecture), picks_(picks), deterministic_(deterministic) {}

Convolutions::~Convolutions() {
  chosen_.clear();
  if (choice_.handle()) cudnnDestroy(choice_.handle());
}

std::unique_ptr<cuda::LibraryOp> Convolutions::plan(const ConvSpec& spec) {
  return std::make_unique<ConvOp>(choice_.handle(), spec, choose(spec));
}

std::shared_ptr<const GraphPlan> Convolutions::choose(const ConvSpec& spec) {
  const std::string key = text(spec);
  std::shared_ptr<const GraphPlan>& chosen = chosen_[key];
  if (chosen) return chosen;
  Descriptor graph = conv_graph(spec, choice_);
  const auto pick = picks_.find(key);
  Plan plan = pick == picks_.end() ? best(spec, graph) : picked_plan(graph, choice_, pick->second);
  picks_[key] = plan.pick;
  chosen = std::make_shared<const GraphPlan>(GraphPlan{std::move(graph), std::move(plan)});
  return chosen;
}

Plan Convolutions::best(const ConvSpec& spec, const Descriptor& graph) {
  PlanRules rules{deterministic_, spec.dtype != DType::f32 || spec.tf32, false, workspace_limit(spec)};
  std::vector<Plan> plans = candidates(graph, choice_, rules, kCandidates);
  if (plans.empty()) {
    rules.compiled_later = true;
    plans = candidates(graph, choice_, rules, 1);
  }
  if (plans.empty()) throw unsupported(spec, deterministic_);
  if (!device_ || plans.size() == 1) return std::move(plans.front());
  int64_t workspace = 0;
  for (const Plan& plan : plans) workspace = std::max(workspace, plan.workspace);
  const int64_t size = size_of(spec.dtype);
  const DType filter =
      spec.kind == ConvKind::weight_grad && spec.wide && is_low_precision(spec.dtype) ? DType::f32 : spec.dtype;
  const std::array<cuda::TrialOperand, 4> parts = {{{input_elements(spec) * size, spec.dtype},
                                                    {filter_elements(spec) * size_of(filter), filter},
                                                    {output_elements(spec) * size, spec.dtype},
                                                    {spec.bias ? bias_bytes(spec) : 0, spec.dtype}}};
  const cuda::CallMemory memory(*device_, parts, workspace);
  const auto run = [&](size_t i, size_t copy) {
    const auto part = [&](size_t which) { return memory.operand(copy, which); };
    execute(choice_.handle(), plans[i], {part(0), part(1), part(2), spec.bias ? part(3) : nullptr}, memory.scratch());
  };
  check(cudnnSetStream(choice_.handle(), device_->stream), "cudnnSetStream");
  const cuda::Trials trials{version(), text(spec), plans.size(), [&](size_t i) { return plans[i].pick; }, run};
  return std::move(plans[cuda::fastest(*device_, memory, trials)]);
}

}  // namespace kb::cudnn
