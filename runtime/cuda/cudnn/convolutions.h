// The convolutions of a device library, over cuDNN: an implementation is chosen once for equal specs, by its pick if
// one is given, else by trials; without a device, as its properties and the heuristics have it.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "runtime/cuda/cudnn/plans.h"
#include "runtime/cuda/library.h"
#include "runtime/library_spec.h"

namespace kb::cudnn {

std::string version();  // "cuDNN 9.19.0"

// A plan with the graph that it is of.
struct ConvPlan {
  Descriptor graph;
  Plan plan;
};

class Convolutions {
 public:
  // On the handles' device, whose context is current. `picks` is read, and added to.
  Convolutions(const cuda::DeviceHandles& device, cuda::LibraryPicks& picks, bool deterministic);
  // Without a device: plans can be made, and asked for their scratch, but not run.
  Convolutions(const std::string& architecture, cuda::LibraryPicks& picks, bool deterministic);
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  // Throws Error where cuDNN has no implementation.
  std::unique_ptr<cuda::LibraryOp> plan(const ConvSpec& spec);

 private:
  std::shared_ptr<const ConvPlan> choose(const ConvSpec& spec);
  Plan best(const ConvSpec& spec, const Descriptor& graph);

  const cuda::DeviceHandles* device_ = nullptr;
  DeviceChoice choice_;
  cuda::LibraryPicks& picks_;
  bool deterministic_;
  std::map<std::string, std::shared_ptr<const ConvPlan>> chosen_;  // by the spec's text
};

}  // namespace kb::cudnn
