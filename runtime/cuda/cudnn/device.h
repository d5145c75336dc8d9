// The description of a device from which cuDNN chooses and builds plans: of a device that is here, or, so that plans
// can be built on a machine without a GPU, of the one that an architecture's name stands for.
#pragma once
#include <optional>
#include <string>

#include "runtime/cuda/cudnn/descriptor.h"

namespace kb::cudnn {

// For which device plans are made. With a handle they can be run.
class DeviceChoice {
 public:
  explicit DeviceChoice(cudnnHandle_t handle) : handle_(handle) {}
  // An A100 (sm_80), H200 (sm_90) or B200 (sm_100), none of which need be here. Throws Error for another architecture.
  explicit DeviceChoice(const std::string& architecture);

  // Null: no device is here.
  cudnnHandle_t handle() const { return handle_; }
  // Tells a descriptor of the device, by whichever of its two attributes applies; where it has none for handles, it
  // reads the device off its operation graph.
  void set_graph(Descriptor& graph) const;
  void set_heuristics(Descriptor& heuristics) const;
  void set_engine(Descriptor& engine) const;
  void set_plan(Descriptor& plan) const;

 private:
  void set(Descriptor& descriptor, cudnnBackendAttributeName_t properties) const;

  cudnnHandle_t handle_ = nullptr;
  std::optional<Descriptor> properties_;
};

}  // namespace kb::cudnn
