#include "runtime/cuda/cublaslt/matmuls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/error.h"
#include "runtime/cuda/alignment.h"
#include "runtime/cuda/trials.h"

namespace kb::cublaslt {
namespace {

constexpr int64_t kWorkspaceLimit = 64 << 20;  // greatest workspace, bytes
constexpr int kCandidates = 8;                 // number of algorithms that are tried

class MatmulOp : public cuda::LibraryOp {
 public:
  MatmulOp(cublasLtHandle_t handle, bool bias, std::shared_ptr<const MatmulPlan> chosen)
      : handle_(handle), bias_(bias), chosen_(std::move(chosen)) {}

  int64_t scratch_bytes() const override {
    return chosen_->workspace == 0 ? 0 : chosen_->workspace + cuda::kWorkspaceAlignment;
  }
  std::string implementation() const override {
    int32_t id = 0;
    size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&chosen_->algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
    return fmt::format("cublaslt algorithm {}", id);
  }

  void enqueue(cuda::Stream stream, std::span<const void* const> in, std::span<void* const> out,
               void* scratch) const override {
    chosen_->problem.enqueue(handle_, chosen_->algorithm, stream, in[0], in[1], bias_ ? in[2] : nullptr, out[0],
                             cuda::workspace_in(scratch), chosen_->workspace);
  }

 private:
  cublasLtHandle_t handle_;
  bool bias_;
  std::shared_ptr<const MatmulPlan> chosen_;
};

}  // namespace

Matmuls::Matmuls(const cuda::DeviceHandles& device, cuda::LibraryPicks& picks) : device_(device), picks_(picks) {
  check(cublasLtCreate(&handle_), "cublasLtCreate");
}

Matmuls::~Matmuls() {
  chosen_.clear();
  cublasLtDestroy(handle_);
}

std::unique_ptr<cuda::LibraryOp> Matmuls::plan(const MatmulSpec& spec) {
  return std::make_unique<MatmulOp>(handle_, spec.bias, choose(spec));
}

std::shared_ptr<const MatmulPlan> Matmuls::choose(const MatmulSpec& spec) {
  const std::string key = text(spec);
  std::shared_ptr<const MatmulPlan>& chosen = chosen_[key];
  if (chosen) return chosen;
  auto plan = std::make_shared<MatmulPlan>(spec);
  const auto pick = picks_.find(key);
  if (pick == picks_.end()) {
    choose_algorithm(spec, *plan);
    picks_[key] = to_pick(plan->algorithm);
  } else {
    plan->algorithm = from_pick(pick->second);
    plan->workspace = plan->problem.workspace(handle_, plan->algorithm);
    if (plan->workspace < 0)
      throw Error(fmt::format("the recorded choice of {} is none for this device: it was made for another{}", key,
                              cuda::kPickHint));
  }
  return chosen = std::move(plan);
}

void Matmuls::choose_algorithm(const MatmulSpec& spec, MatmulPlan& plan) const {
  const auto found = plan.problem.algorithms(handle_, kWorkspaceLimit, kCandidates);
  if (found.empty()) throw Error(fmt::format("{} has no implementation of {}", version(), text(spec)));
  size_t best = 0;
  if (found.size() > 1) {
    int64_t workspace = 0;
    for (const auto& result : found) workspace = std::max(workspace, static_cast<int64_t>(result.workspaceSize));
    const DType result = spec.wide ? DType::f32 : spec.dtype;
    const int64_t size = size_of(spec.dtype), result_size = size_of(result);
    const std::array<cuda::TrialOperand, 4> parts = {{{spec.batch * spec.m * spec.k * size, spec.dtype},
                                                      {spec.batch * spec.k * spec.n * size, spec.dtype},
                                                      {spec.bias ? spec.n * result_size : 0, result},
                                                      {spec.batch * spec.m * spec.n * result_size, result}}};
    const cuda::CallMemory memory(device_, parts, workspace);
    const auto enqueue = [&](size_t i, size_t copy) {
      const auto part = [&](size_t which) { return memory.operand(copy, which); };
      plan.problem.enqueue(handle_, found[i].algo, device_.stream, part(0), part(1), spec.bias ? part(2) : nullptr,
                           part(3), memory.scratch(), static_cast<int64_t>(found[i].workspaceSize));
    };
    best =
        cuda::fastest(device_, memory,
                      {version(), text(spec), found.size(), [&](size_t i) { return to_pick(found[i].algo); }, enqueue});
  }
  plan.algorithm = found[best].algo;
  plan.workspace = static_cast<int64_t>(found[best].workspaceSize);
}

}  // namespace kb::cublaslt
