#include "runtime/cuda/vendor/vendor_library.h"

#include <optional>

#include "graph/error.h"
#include "runtime/cuda/cublaslt/matmuls.h"
#include "runtime/cuda/cudnn/attentions.h"
#include "runtime/cuda/cudnn/convolutions.h"

namespace kb::cuda {
namespace {

constexpr int64_t kUnknownMatmulScratch = 32 << 20;  // scratch of a matmul without a device, bytes

class VendorLibrary : public DeviceLibrary {
 public:
  VendorLibrary(const DeviceHandles& device, bool deterministic) : device_(device), deterministic_(deterministic) {
    matmuls_.emplace(*device_, picks_);
  }
  explicit VendorLibrary(const std::string& architecture) {
    convolutions_.emplace(architecture, picks_, true);
    attentions_.emplace(architecture, picks_);
  }

  std::string name() const override { return cudnn::version() + ", " + cublaslt::version(); }
  DType compute_dtype(DType dtype) const override { return dtype; }

  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    if (node.op == Op::matmul && !matmuls_) return kUnknownMatmulScratch;
    return make_plan(graph, node, epilogue)->scratch_bytes();
  }
  // cuDNN reads filters as the layout pass leaves them, so nothing is packed.
  int64_t packed_bytes(const Graph&, const Node&) const override { return 0; }

  std::unique_ptr<LibraryOp> plan(const Graph& graph, const Node& node, const Epilogue& epilogue) override {
    return make_plan(graph, node, epilogue);
  }

  LibraryPicks algorithm_choices() const override { return picks_; }
  void use_algorithm_choices(LibraryPicks picks) override { picks_ = std::move(picks); }
  void add_choice(const std::string& call, const std::string& pick) override { picks_[call] = pick; }

 private:
  std::unique_ptr<LibraryOp> make_plan(const Graph& graph, const Node& node, const Epilogue& epilogue) const {
    if (node.op == Op::flash_attention || node.op == Op::flash_attention_grad)
      return attentions().plan(attention_spec(graph, node));
    if (node.op != Op::matmul) return convolutions().plan(conv_spec(graph, node, epilogue));
    if (!matmuls_) throw Error("matrix products cannot be planned without a device: cuBLASLt answers nothing there");
    return matmuls_->plan(matmul_spec(graph, node, epilogue));
  }

  // Opens cuDNN on the device when the first convolution needs it: its handle loads hundreds of megabytes of libraries.
  cudnn::Convolutions& convolutions() const {
    if (!convolutions_) convolutions_.emplace(*device_, picks_, deterministic_);
    return *convolutions_;
  }
  cudnn::Attentions& attentions() const {
    if (!attentions_) attentions_.emplace(picks_);
    return *attentions_;
  }

  std::optional<DeviceHandles> device_;
  bool deterministic_ = true;
  mutable LibraryPicks picks_;
  // All remember what they chose, so they are kept.
  mutable std::optional<cudnn::Convolutions> convolutions_;
  mutable std::optional<cudnn::Attentions> attentions_;
  mutable std::optional<cublaslt::Matmuls> matmuls_;
};

}  // namespace

std::unique_ptr<DeviceLibrary> make_vendor_library(const DeviceHandles& device, bool deterministic) {
  return std::make_unique<VendorLibrary>(device, deterministic);
}

std::unique_ptr<DeviceLibrary> make_deviceless_library(const std::string& architecture) {
  return std::make_unique<VendorLibrary>(architecture);
}

}  // namespace kb::cuda
