// The passes `Graph -> Graph` in the order of the pipeline table (compiler/pipeline/pipeline.cpp). Each lives in a file
// of its own whose head comment says what it takes, what it leaves, why it stands there.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/arithmetic.h"
#include "compiler/passes/parameter_groups.h"
#include "compiler/target.h"

namespace kb {

// Adds to the graph the gradients of `loss` (a scalar output or inner value) with respect to `with_respect_to`, and
// returns them in that order, with the shapes of those tensors. A value on which the loss does not depend gets zeros.
// Another call on the results gives second and higher derivatives. Throws Error unless the loss is a scalar of a float
// dtype and all tensors are of one graph.
std::vector<Tensor> gradients(Tensor loss, const std::vector<Tensor>& with_respect_to,
                              Tensor::Where where = Tensor::Where::current());

// One parameter's place in the flat space.
struct Segment {
  std::string name = {};
  Type type = {};
  Role role = Role::none;
  Init init = {};
  int64_t offset = 0;  // elements; a multiple of the space's block
  int64_t length = 0;
  bool decay = true, adapt = true;
  int32_t group = 0;  // index into CompileOptions::groups
  double rate = 1;    // Variable::rate
  Ints order = {};    // axes of `type` in their order in the backend's memory; empty: row-major
};

// A range of neighbouring elements of the parameter space.
struct SpaceRange {
  int64_t offset = 0, length = 0;
};

// Flat vectors "flat.parameters", "flat.SLOT" in one order, segments padded with zeros to whole blocks. The segments of
// a group stand one after the other; its slots, "flat.GROUP.SLOT" where there are several groups, are over its range.
struct ParameterSpace {
  DType dtype = DType::f32;
  std::vector<Segment> segments;
  int64_t length = 0;  // elements, padding included
  int64_t block = 16;  // elements; 64 bytes of f32
  // Elements of the flat gradient, which has the segments of the groups that learn; frozen ones stand behind them.
  int64_t gradient_length = 0;
  int64_t blocks_of(const Segment& segment) const { return (segment.length + block - 1) / block; }
  const Segment* find(const std::string& name) const;
  std::span<const Segment> segments_of(int32_t group) const;
  SpaceRange range_of(int32_t group) const;
};

// Who shares a step: `processes` processes with `virtual_workers` workers each. Every worker computes its own samples;
// see PartRole.
struct Workers {
  int64_t processes = 1, virtual_workers = 1;
  int64_t bucket_bytes = 0;  // bytes of the gradient that are summed over processes together; 0: the whole gradient
  // The dtype in which gradients leave a worker; every sum over workers is rounded to it. f32 leaves them unrounded.
  DType reduce_precision = DType::f32;
  // True: running statistics are the mean over all workers and read the scalar "worker_share". False: they are the
  // first worker's.
  bool mean_statistics = false;
  // True: a step with several workers has the outputs kWorkersNorm and kMeanNorm (compiler/passes/gradient_norms.h).
  bool gradient_norms = false;
  // True: the workers are one replica's of several, whose numbers begin with the scalar "first_worker" and not with 0.
  bool of_replica = false;
  int64_t total() const { return processes * virtual_workers; }
};

inline const std::string kLayerOutput = "layer.";  // prefix of the outputs that log_layers adds
// The name of the output that gives the flat gradient, in the order of ParameterSpace, as the update rule reads it.
inline const std::string kGradientVector = kLayerOutput + "gradients";

struct CompileOptions {
  Target target;
  Workers workers;
  Precision precision = Precision::f32;
  std::vector<Objective> objectives = {{}};
  std::vector<ParameterGroup> groups;  // empty for an inference graph
  bool log_layers = false;  // adds the outputs "layer.weight", "layer.gradient" (norms) and what the rule reports,
                            // shape (layers, 1) each, and kGradientVector. With several groups a rule's reports are
                            // named "layer.GROUP.NAME" and cover its own layers
  const ParameterSpace* space = nullptr;  // inference: the training graph's space, which it adopts
  std::string offset = {};                // inference: name of the slot that is added to the parameters; "" = none
  bool check_passes = false;              // interprets the graph before and after every pass on random inputs (tests)
  bool recompute = true;                  // allows activations to be recomputed when the target's memory is short
  std::function<void(const std::string& pass, const std::string& before, const std::string& after)>
      dump;  // empty: graphs are not dumped
};

// Data that passes read and write besides the graph.
struct CompileState {
  const CompileOptions& options;
  ParameterSpace space;
  std::vector<std::string> recomputed;  // names activations that are computed again, a line each
};

using Pass = Graph (*)(Graph graph, CompileState& state);

Graph flash_attention(Graph graph, CompileState& state);  // puts a library op where a GPU's library has attention
Graph differentiate(Graph graph,
                    CompileState& state);  // takes objectives; adds each parameter's gradient by the losses of its
                                           // group, each after a worker_sum, as outputs "grad.NAME"
Graph add_optimizer(Graph graph,
                    CompileState& state);  // grad outputs -> flat update; parameters become views of flat.parameters
// Returns the slot at which a rule takes its gradient (UpdateContext::gradient_offset); "" = none.
std::string gradient_offset(const UpdateRule& rule);
Graph simplify(Graph graph,
               CompileState& state);  // folds constants, merges equal nodes, drops unused ones; only exact rewrites
// Turns every `count` of the graph into an `extent` in its place, which has no input: a count names the tensor whose
// extents it multiplies, but reads none of its elements, and a pass would have to know that. Counts of one tensor over
// the same axes get one number, all others numbers of their own, so that no pass merges two that happen to be equal: at
// another minibatch they differ. simplify does so first.
void counts_to_extents(Graph& graph);
Graph apply_precision(Graph graph, CompileState& state);
Graph space_to_depth(Graph graph, CompileState& state);  // changes a GPU's convolutions over images of few channels
Graph align_rows(Graph graph, CompileState& state);      // makes a GPU's large 16-bit matrices have aligned rows
Graph apply_layout(Graph graph, CompileState& state);
Graph recompute(Graph graph, CompileState& state);
Graph pack_masks(Graph graph, CompileState& state);  // makes a GPU keep masks of activations as one bit an element
Graph library_gradients(Graph graph, CompileState& state);  // rounds the gradients of filters that a library rounds
Graph narrow_gradient(Graph graph, CompileState& state);    // makes a GPU's update read 16-bit gradients of filters
// Returns whether narrow_gradient may do so: there is an update, by one worker on a GPU.
bool reads_narrow_gradients(const CompileOptions& options);
Graph place_all_reduce(
    Graph graph, CompileState& state);  // puts what leaves a worker into flat vectors, each followed by a worker_sum
Graph constants_to_tables(Graph graph, CompileState& state);  // turns constants of several numbers into data in memory
// Copies slices that a GPU's library would read at no multiple of 16 bytes.
Graph aligned_operands(Graph graph, CompileState& state);
Graph pack_products(Graph graph, CompileState& state);  // puts weights that many products read in the library's order

}  // namespace kb
