// The convolutions of a device library, by cuDNN. An implementation is chosen once for equal specs: by its pick if one
// is given, else by trials. Without a device, the heuristics choose from the properties of one.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "runtime/cuda/cudnn/plans.h"
#include "runtime/cuda/library.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

std::string version();  // returns "cuDNN 9.19.0"

class Convolutions {
 public:
  // Works on the handles' device, whose context is current. The implementations that trials choose are recorded in
  // `picks`.
  Convolutions(const cuda::DeviceHandles& device, cuda::LibraryPicks& picks, bool deterministic);
  // Works without a device: plans can be made, and their scratch be asked for, but they do not run.
  Convolutions(const std::string& architecture, cuda::LibraryPicks& picks, bool deterministic);
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  // Throws Error when cuDNN has no implementation.
  std::unique_ptr<cuda::LibraryOp> plan(const ConvSpec& spec);

 private:
  std::shared_ptr<const GraphPlan> choose(const ConvSpec& spec);
  Plan best(const ConvSpec& spec, const Descriptor& graph);

  const cuda::DeviceHandles* device_ = nullptr;
  PlanDevice choice_;
  cuda::LibraryPicks& picks_;
  bool deterministic_;
  std::map<std::string, std::shared_ptr<const GraphPlan>> chosen_;  // keyed by the spec's text
};

}  // namespace kb::cudnn
