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
    const int64_t needed = chosen_->algorithm.workspace;
    return needed == 0 ? 0 : needed + cuda::kWorkspaceAlignment;
  }
  std::string implementation() const override {
    int32_t id = 0;
    size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&chosen_->algorithm.code, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id,
                                               &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
    return fmt::format("cublaslt algorithm {}", id);
  }

  void enqueue(cuda::Stream stream, std::span<const void* const> in, std::span<void* const> out,
               void* scratch) const override {
    chosen_->problem.enqueue(handle_, chosen_->algorithm, stream, {in[0], in[1], bias_ ? in[2] : nullptr, out[0]},
                             cuda::workspace_in(scratch));
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
    plan->algorithm = best_algorithm(spec, plan->problem);
    picks_[key] = to_pick(plan->algorithm.code);
  } else {
    plan->algorithm.code = from_pick(pick->second);
    plan->algorithm.workspace = plan->problem.workspace(handle_, plan->algorithm.code);
    if (plan->algorithm.workspace < 0)
      throw Error(fmt::format("the recorded choice of {} is none for this device: it was made for another{}", key,
                              cuda::kPickHint));
  }
  return chosen = std::move(plan);
}

Algorithm Matmuls::best_algorithm(const MatmulSpec& spec, const Problem& problem) const {
  const std::vector<Algorithm> found = problem.algorithms(handle_, kWorkspaceLimit, kCandidates);
  if (found.empty()) throw Error(fmt::format("{} has no implementation of {}", version(), text(spec)));
  if (found.size() == 1) return found[0];
  int64_t workspace = 0;
  for (const Algorithm& algorithm : found) workspace = std::max(workspace, algorithm.workspace);
  const DType result = spec.wide ? DType::f32 : spec.dtype;
  const int64_t size = size_of(spec.dtype), result_size = size_of(result);
  const std::array<cuda::TrialOperand, 4> parts = {{{spec.batch * spec.m * spec.k * size, spec.dtype},
                                                    {spec.batch * spec.k * spec.n * size, spec.dtype},
                                                    {spec.bias ? spec.n * result_size : 0, result},
                                                    {spec.batch * spec.m * spec.n * result_size, result}}};
  const cuda::CallMemory memory(device_, parts, workspace);
  const auto enqueue = [&](size_t i, size_t copy) {
    const auto part = [&](size_t which) { return memory.operand(copy, which); };
    problem.enqueue(handle_, found[i], device_.stream, {part(0), part(1), spec.bias ? part(2) : nullptr, part(3)},
                    memory.scratch());
  };
  const auto pick = [&](size_t i) { return to_pick(found[i].code); };
  return found[cuda::fastest(device_, memory, {version(), text(spec), found.size(), pick, enqueue})];
}

}  // namespace kb::cublaslt
