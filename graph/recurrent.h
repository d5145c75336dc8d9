// Recurrent layers, batches first: x [N, T, I] -> the hidden states [N, T, features]. Names, shapes, order of the gates
// and initial values of the parameters are those of PyTorch's nn.LSTM and nn.GRU; layer l has weight_ih_lL [G features,
// I], weight_hh_lL [G features, features], bias_ih_lL and bias_hh_lL [G features] for G gates and L = l. The T steps
// are unrolled: the nodes grow with T, the kernels to compile do not. States begin at 0 in each sample, and none is
// carried from one minibatch to the next. A padded sample's states after its end are of no use, and those before it do
// not depend on them.
#pragma once
#include <optional>
#include <string>

#include "graph/functions.h"
#include "graph/initialiser.h"
#include "graph/tensor.h"

namespace kb {

struct RecurrentOptions {
  int64_t layers = 1;  // each reads the hidden states of the one before
  // In training, share of the hidden states that each layer but the first gets as 0 in their place (dropout of
  // graph/layers.h), as PyTorch's `dropout` does; Zaremba et al. 2014 drop out no other states.
  double dropout = 0;
  // The weights' distribution, by the fans of one gate; the biases then start at 0.
  std::optional<Initialiser> init = {};
};

// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). The gates i, f,
// g, o give c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g) and h_t = sigmoid(o) tanh(c_t). Without `init` all
// parameters start uniform in +-1/sqrt(features).
Tensor lstm(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options = {},
            Where where = Where::current());

// Gated recurrent unit (Cho et al. 2014), as PyTorch and cuDNN compute it: the reset gate multiplies the hidden part of
// n after its bias. h_t = (1 - z) n + z h_{t-1} with r, z = sigmoid(gates), n = tanh(input part + r hidden part).
// Without `init` all parameters start uniform in +-1/sqrt(features).
Tensor gru(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options = {},
           Where where = Where::current());

}  // namespace kb
