// Calls of a sub-network in another way: on other values in place of its parameters, or as in an evaluation. Moving
// averages of its parameters, which an earlier self of a network has (a momentum encoder, a mean teacher).
#pragma once
#include <source_location>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace kb {

// Returns the parameters that were made under a scope so far, in their order; all of the graph's if it is "". Throws
// Error where there is none.
std::vector<Tensor> parameters_under(Graph& graph, const std::string& scope,
                                     Tensor::Where where = Tensor::Where::current());

// While it lives, parameter() and layers that ask for the parameter `from[i]` get `to[i]`, as in a call through
// PyTorch's torch.func.functional_call. It stands beside the Reuse that calls the sub-network again:
// { Reuse again("net"); Replaced other(w, moved); y = net(x); }. States, such as running statistics, are read and keep
// what the call on the parameters themselves writes. Of several that live, the innermost counts. Throws Error unless
// from[i] is a parameter and to[i] has its dtype and shape, and at a new parameter that is made while it lives.
class Replaced {
 public:
  Replaced(const std::vector<Tensor>& from, const std::vector<Tensor>& to,
           Tensor::Where where = Tensor::Where::current());
  ~Replaced();
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
};
// Whether a Replaced lives.
bool replaces_parameters();
// Returns what stands in the place of a parameter: the parameter itself if no Replaced names it.
Tensor in_place_of(Tensor parameter);

// While it lives, functions over this graph act as in Mode::inference: batch_norm normalises by its running statistics
// and leaves them, dropout leaves all elements. So a frozen teacher is called, as by PyTorch's teacher.eval().
class Evaluated {
 public:
  explicit Evaluated(Graph& graph) : graph_(graph), outer_(graph.mode) { graph.mode = Mode::inference; }
  ~Evaluated() { graph_.mode = outer_; }
  Evaluated(const Evaluated&) = delete;
  Evaluated& operator=(const Evaluated&) = delete;

 private:
  Graph& graph_;
  Mode outer_;
};

// Returns an average a of each of these parameters w, which every training step moves: a <- decay a + (1 - decay) w, of
// the w before the step's update; a = w in the first step (PyTorch's swa_utils.AveragedModel, whose count of updates is
// the state NAME.n_averaged here). The averages are the states NAME.w, which checkpoints hold, and have no gradient.
// Every worker of a step has the same. In other modes than training they are what the last step had, or w before it.
std::vector<Tensor> moving_averages(const std::string& name, const std::vector<Tensor>& parameters, double decay,
                                    Tensor::Where where = Tensor::Where::current());

}  // namespace kb
