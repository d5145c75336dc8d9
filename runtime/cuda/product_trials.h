// Measures who computes a convolution that is a product of matrices faster (Multiplier in compiler/target.h): kernels
// of our own or the library. All compute it with what reads its result in a training step, so that the library takes
// the launches behind its call, too. Kernels of our own whose results differ from the library's are not used.
#pragma once
#include <optional>
#include <string>

#include "runtime/cuda/executable.h"

namespace kb::cuda {

// Each product is timed once. The library owns its pick (DeviceLibrary::add_choice), beside the picks of its own calls:
// so the pick lies in the file of kept picks, in manifests and in checkpoints, ranks take it from rank 0, and this
// class keeps nothing. A pick is "warpgroups", "warps" or "library", followed by a note on each side that was not
// timed: "; warps differ" from the library's results, or "; warps fail". It is "model" where the device had no memory
// for trials, and that is kept, too: a resumed run and the other ranks compute the same bits, whatever memory they
// have.
class ProductTrials {
 public:
  // `environment` is for programs of one process; its parts must outlive this.
  explicit ProductTrials(const Environment& environment) : environment_(environment) {}

  // Answers LibraryQuery::multiplier for a convolution or one of its gradients in its physical layout. The device is
  // current on the calling thread. A side that fails is not chosen. Throws what trials throw (trials.h) when no side
  // can run, and when the device fails.
  std::optional<Multiplier> multiplier(const Graph& graph, const Node& node);

 private:
  std::string measured(const std::string& key, const Graph& graph, const Node& node) const;

  const Environment environment_;
};

}  // namespace kb::cuda
