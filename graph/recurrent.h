// Recurrent layers, batches first: x [N, T, I] -> the hidden states [N, T, features]. Names, shapes, order of the gates
// and initial values of the parameters are those of PyTorch's nn.LSTM and nn.GRU; layer l has weight_ih_lL [G features,
// I], weight_hh_lL [G features, features], bias_ih_lL and bias_hh_lL [G features] for G gates and L = l. The T steps
// are unrolled: the nodes grow with T, the kernels to compile do not. States begin at 0 in each sample unless they are
// given, and none is carried from one minibatch to the next.
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
  // Whether each layer has a second direction, which goes from the last step to the first. Its parameters are named
  // weight_ih_lL_reverse and so on, and its hidden states stand behind the first direction's: [N, T, 2 features].
  bool bidirectional = false;
  // i32 [N]: sample n has its first lengths[n] steps alone, as in PyTorch's packed sequences. Its hidden states after
  // them are 0, its last states are those of its own last step, and a second direction begins there. It has all steps
  // if the number is T or more, and none if it is 0 or less. Without lengths each sample has all T steps: then the
  // first direction's states before a padded sample's end do not depend on the padding, but the second's do.
  Tensor lengths = {};
  // The states before the first step, [layers, N, features], or [2 layers, N, features] of two directions, each layer's
  // one after the other: PyTorch's h_0, and of an LSTM c_0 with it.
  Tensor hidden = {}, cell = {};
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

// The hidden states of all steps, and the states after a sample's last step in the order of RecurrentOptions::hidden,
// PyTorch's h_n and c_n. A GRU has no cell.
struct RecurrentResult {
  Tensor output;  // [N, T, features], or [N, T, 2 features] of two directions
  Tensor hidden, cell;
};
RecurrentResult lstm_with_states(const std::string& name, Tensor x, int64_t features,
                                 const RecurrentOptions& options = {}, Where where = Where::current());
RecurrentResult gru_with_states(const std::string& name, Tensor x, int64_t features,
                                const RecurrentOptions& options = {}, Where where = Where::current());

}  // namespace kb
