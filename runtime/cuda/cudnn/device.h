// The description of a device from which cuDNN chooses and builds plans: of a device of this machine or, so that plans
// can be built without a GPU, of one that an architecture's name stands for.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "runtime/cuda/cudnn/descriptor.h"

namespace kb::cudnn {

// Makes a handle of the current context's device; cudnnDestroy ends it. Throws InternalError.
cudnnHandle_t create_handle();

// The device that plans are made for. With a handle they can be run.
class PlanDevice {
 public:
  explicit PlanDevice(cudnnHandle_t handle) : handle_(handle) {}
  // Describes an A100 (sm_80), H200 (sm_90) or B200 (sm_100), which this machine need not have. Throws Error for
  // another architecture.
  explicit PlanDevice(const std::string& architecture);

  // Null: this machine has no device.
  cudnnHandle_t handle() const { return handle_; }
  // Returns the operations as a graph.
  Descriptor graph_of(std::span<const Descriptor* const> operations) const;
  // Set the device in a descriptor, by the one of its two attributes that applies. A descriptor without an attribute
  // for handles takes the device from its operation graph.
  void set_heuristics(Descriptor& heuristics) const;
  void set_engine(Descriptor& engine) const;
  void set_plan(Descriptor& plan) const;

 private:
  void set(Descriptor& descriptor, cudnnBackendAttributeName_t properties) const;

  cudnnHandle_t handle_ = nullptr;
  std::optional<Descriptor> properties_;
};

}  // namespace kb::cudnn
