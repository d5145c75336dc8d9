// Random training steps of small networks: residual, dense, grouped and branching blocks of convolutions, perceptrons
// and transformers, of few samples, with ragged images and channels. They reach what random graphs (random_graph.h)
// hardly do: products of matrices with what reads their results, masks, sums of gradients, shared weights. Equal seeds
// give equal networks.
#pragma once
#include <cstdint>

#include "graph/interpreter.h"

namespace kb::test {

// Returns a network whose output "loss" is the weighted sum of its samples' losses. Beside its images or features it
// has the input "weights" [n] and, if it classifies, "labels".
Graph random_net(uint32_t seed, Mode mode = Mode::training);

}  // namespace kb::test
