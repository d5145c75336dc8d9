#include "runtime/cuda/cudnn/attentions.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "graph/error.h"
#include "graph/rounding.h"
#include "runtime/cuda/alignment.h"
#include "runtime/cuda/cudnn/attention_graph.h"
#include "runtime/cuda/cudnn/convolutions.h"
#include "runtime/cuda/cudnn/device.h"

namespace kb::cudnn {
namespace {

constexpr int64_t kSmallWorkspace = 1 << 20;  // bytes that a plan may want beside the gradients of the scores

// The ids of the operands, in the order of the op's inputs and outputs.
std::vector<int64_t> operand_ids(const AttentionSpec& spec) {
  std::vector<int64_t> ids = {kQuery, kKey, kValue};
  if (spec.backward) ids.insert(ids.end(), {kOutput, kLogSumExp, kOutputGrad});
  if (spec.lengths) ids.insert(ids.end(), {kQueryLengths, kKeyLengths});
  if (spec.backward)
    ids.insert(ids.end(), {kQueryGrad, kKeyGrad, kValueGrad});
  else
    ids.insert(ids.end(), {kOutput, kLogSumExp});
  return ids;
}

// Scratch holds cuDNN's workspace and, backward, the sums over rows behind it.
int64_t scratch_of(const AttentionSpec& spec, int64_t workspace) {
  const int64_t bytes = cuda::workspace_aligned(workspace) + (spec.backward ? row_sums_bytes(spec) : 0);
  return bytes == 0 ? 0 : bytes + cuda::kWorkspaceAlignment;
}

class AttentionOp : public cuda::LibraryOp {
 public:
  // `chosen` is null where nothing could be planned.
  AttentionOp(cudnnHandle_t handle, const AttentionSpec& spec, std::shared_ptr<const GraphPlan> chosen)
      : handle_(handle), spec_(spec), chosen_(std::move(chosen)) {}

  int64_t scratch_bytes() const override {
    return scratch_of(spec_, chosen_ ? chosen_->plan.workspace : attention_workspace(spec_));
  }
  std::string implementation() const override {
    return chosen_ ? "cudnn attention engine " + chosen_->plan.pick : "cudnn attention, which plans with a driver only";
  }

  void enqueue(cuda::Stream stream, std::span<const void* const> in, std::span<void* const> out,
               void* scratch) const override {
    ensure(handle_, "attention: no device to run on");
    float scale = static_cast<float>(spec_.scale), minus_infinity = -std::numeric_limits<float>::infinity(), one = 1;
    std::vector<int64_t> ids = operand_ids(spec_);
    std::vector<void*> addresses;
    for (const void* operand : in) addresses.push_back(const_cast<void*>(operand));
    addresses.insert(addresses.end(), out.begin(), out.end());
    ensure(ids.size() == addresses.size(), "attention: another number of operands than its spec has");
    for (const void* address : addresses) cuda::check_operand("attention", address);
    std::byte* const workspace = cuda::workspace_in(scratch);
    const auto add = [&](int64_t id, void* address) {
      ids.push_back(id);
      addresses.push_back(address);
    };
    add(kScale, &scale);
    if (spec_.causal || spec_.lengths) add(kMinusInfinity, &minus_infinity);
    if (spec_.backward) add(kOne, &one);
    if (spec_.backward) add(kRowSums, workspace + cuda::workspace_aligned(chosen_->plan.workspace));
    check(cudnnSetStream(handle_, stream), "cudnnSetStream");
    execute(handle_, chosen_->plan, ids, addresses, workspace);
  }

 private:
  cudnnHandle_t handle_;
  AttentionSpec spec_;
  std::shared_ptr<const GraphPlan> chosen_;
};

bool has_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library) dlclose(library);
  return library != nullptr;
}

// Returns whether the cuDNN that runs has this backward pass right; 9.10.0 and 9.10.1 have not.
bool is_known_wrong(const AttentionSpec& spec) {
  const size_t version = cudnnGetVersion();
  return spec.backward && (version == 91000 || version == 91001);
}

}  // namespace

int64_t attention_workspace(const AttentionSpec& spec) {
  const int64_t scores = spec.n * spec.heads * round_up(spec.t, 64) * round_up(spec.s, 128);
  return kSmallWorkspace + (spec.backward ? scores * 2 : 0);
}

Attentions::Attentions(cuda::LibraryPicks& picks) : choice_(create_handle()), picks_(picks) {}

Attentions::Attentions(const std::string& architecture, cuda::LibraryPicks& picks)
    : choice_(architecture), picks_(picks) {}

Attentions::~Attentions() {
  chosen_.clear();
  if (choice_.handle()) cudnnDestroy(choice_.handle());
}

std::unique_ptr<cuda::LibraryOp> Attentions::plan(const AttentionSpec& spec) {
  return std::make_unique<AttentionOp>(choice_.handle(), spec, choose(spec));
}

// The heuristics' favourite is taken without trials: a plan takes a second to compile, and lengths of random numbers
// would time nothing.
std::shared_ptr<const GraphPlan> Attentions::choose(const AttentionSpec& spec) {
  const std::string key = text(spec);
  if (const auto known = chosen_.find(key); known != chosen_.end()) return known->second;
  if (is_known_wrong(spec)) throw Error(version() + " computes wrong gradients of attention\n  hint: cuDNN 9.10.2");
  if (!choice_.handle() && !has_driver()) return chosen_[key] = nullptr;
  Descriptor graph = attention_graph(spec, choice_);
  const PlanRules rules{.compiled_later = true, .workspace_limit = attention_workspace(spec)};
  const auto pick = picks_.find(key);
  std::vector<Plan> plans;
  if (pick != picks_.end())
    plans.push_back(picked_plan(graph, choice_, pick->second));
  else
    plans = candidates(graph, choice_, rules, 1);
  if (plans.empty()) throw Error(fmt::format("{} has no deterministic implementation of {}", version(), key));
  picks_[key] = plans.front().pick;
  return chosen_[key] = std::make_shared<const GraphPlan>(GraphPlan{std::move(graph), std::move(plans.front())});
}

}  // namespace kb::cudnn
