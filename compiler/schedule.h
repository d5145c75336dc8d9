// The second IR: a list of steps over planned buffers, made from a Graph by fuse, order, lower and plan_memory. A
// runtime needs nothing else to run a program (the graph is kept for names and places).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compiler/fusion_class.h"
#include "compiler/kernel_ir.h"
#include "compiler/step_programs.h"
#include "graph/graph.h"

namespace kb {

// Work that a library call does after its op, inside the call: + bias (a value of shape [channels]) and/or relu.
struct Epilogue {
  Value bias;  // invalid: none
  bool relu = false;
  Value result;  // the graph value that the call writes in the end
};

// Nodes computed by one launch. A cheap node may be in several groups (it is computed again in each). `fuse` makes
// these; `lower` turns one into a kernel; library groups have one library node.
struct Group {
  FusionClass cls = FusionClass::pointwise;
  std::vector<int32_t> nodes;  // all nodes evaluated here, in topological order
  std::vector<Value> inputs;   // materialised values read, without duplicates
  std::vector<Value> outputs;  // values this group materialises
  Dims domain;                 // iteration space: shape of the outputs, or of the reductions' input
  Ints axes;                   // reduced axes of the domain; empty for pointwise
  Epilogue epilogue;           // library only
};

enum class BufferKind : uint8_t {
  arena,   // planned, at `offset`
  store,   // a variable or a prepared copy: lives in the session's StateStore, by name
  input,   // given by the caller at each step, by name
  output,  // an output of the program that the caller reads, by name; planned in the arena and live to the end
};

struct Buffer {
  BufferKind kind = BufferKind::arena;
  std::string name;  // store, input, output; else the producing op, for people
  int64_t bytes = 0;
  int64_t offset = 0;  // arena, output
  int32_t first = 0;   // steps between which it is live, both included
  int32_t last = 0;
  int32_t node = -1;  // producing node, -1: scratch
};

// A place in a buffer. Movement that is only a view (contiguous reshape, slice of the leading axis) is a View, never a
// step.
struct View {
  int32_t buffer = -1;
  int64_t offset = 0;  // bytes
};

// A generated kernel; operands: one a kernel buffer, in its order.
struct KernelLaunch {
  int32_t kernel = -1;             // index into Schedule::kernels
  std::vector<int64_t> arguments;  // the kernel's i64 arguments
  std::vector<int64_t> tiles;      // of each phase
};

// Operands: inputs (bias last), then the output.
struct LibraryCall {
  Epilogue epilogue;
  View scratch;  // buffer -1: none
};

// Parts of the last operand, each with the bytes of another operand, or zeros.
struct Copies {
  struct Part {
    int64_t to = 0;  // bytes behind the last operand's begin
    int64_t bytes = 0;
    int32_t from = -1;  // operand; -1: zeros
  };
  std::vector<Part> parts;
};

// How the processes of a run exchange a vector.
struct ExchangeSpec {
  enum class Kind : uint8_t { all_reduce };  // every process gets the sum over all of them
  Kind kind = Kind::all_reduce;
  int32_t group = 0;  // of processes; 0: all of the run
  int32_t peer = -1;  // the process at the other end, where there is one alone; -1: the whole group

  // Throws InternalError unless it is the only one that backends know: an all-reduce over all processes.
  void check_known() const { ensure(kind == Kind::all_reduce && group == 0 && peer < 0, "an unknown exchange"); }
};

// The exchange with this number is started, in place on the one operand; or it is waited for.
struct ExchangeStart {
  int32_t number = -1;
  ExchangeSpec spec = {};
};
struct ExchangeWait {
  int32_t number = -1;
};

struct Step {
  FusionClass cls = FusionClass::pointwise;  // its traits name the kind of `work`
  std::string name;                          // "conv2d_input_grad layer1.0.conv1"
  std::variant<KernelLaunch, LibraryCall, Copies, ExchangeStart, ExchangeWait> work;
  std::vector<View> operands;
  std::vector<int64_t> extents;  // of each operand: bytes of the value behind it
  int32_t inputs = 0;            // how many of `operands` are read only
  int64_t bytes = 0, flops = 0;  // moved, done: for reports
  std::vector<int32_t> nodes;    // graph nodes it computes, in topological order; a library's op and an exchange first

  // Null for steps of another kind.
  const KernelLaunch* launch() const { return std::get_if<KernelLaunch>(&work); }
  const LibraryCall* call() const { return std::get_if<LibraryCall>(&work); }
  const Copies* copies() const { return std::get_if<Copies>(&work); }
  const ExchangeStart* start() const { return std::get_if<ExchangeStart>(&work); }
  // The number of the exchange that is started or waited for; -1 for others.
  int32_t reduction() const;
};

struct Schedule {
  std::string name;  // "prepare", "micro", "carry"; the graph's own name
  PartRole role = PartRole::final;
  std::shared_ptr<const Graph> graph = std::make_shared<const Graph>();
  std::vector<ir::Kernel> kernels;  // distinct ones
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::unordered_map<Value, View, ValueHash> views;  // where each materialised value lies
  int64_t arena_bytes = 0;
  int64_t liveness_bound_bytes = 0;  // maximum over steps of live arena bytes, scratch included, no packing loss

  // The kernel that a step launches; null for other kinds.
  const ir::Kernel* kernel_of(const Step& step) const;
  // The node of a library call, an exchange or a wait.
  const Node& node_of(const Step& step) const { return graph->nodes[static_cast<size_t>(step.nodes.at(0))]; }
};

std::string to_text(const Schedule& schedule);
// No two live buffers overlap, every read has an earlier write, no read after the overwrite of its source, operands
// inside their buffers. Throws InternalError naming the step and buffers.
void verify(const Schedule& schedule);

// The programs of a step; they share the store.
using Program = StepPrograms<Schedule>;

}  // namespace kb
