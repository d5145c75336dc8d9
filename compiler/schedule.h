// A Schedule, the second intermediate representation, is a list of steps over buffers whose memory is planned. The
// passes fuse, order, lower and plan_memory make it from a Graph. A runtime needs nothing else to run a program (it
// keeps the graph for names and source locations).
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

// Work that a library call does after its op, inside the call: it adds a bias (a value of shape [channels]), applies
// relu, or does both.
struct Epilogue {
  Value bias;  // invalid when there is no bias
  bool relu = false;
  Value result;  // the graph value that the call writes in the end
};

// Nodes computed by one launch. A cheap node may be in several groups, and each computes it. `fuse` makes groups,
// `lower` turns each into a kernel; a library group has one library node.
struct Group {
  FusionClass cls = FusionClass::pointwise;
  std::vector<int32_t> nodes;  // all nodes evaluated here, in topological order
  std::vector<Value> inputs;   // materialised values read, without duplicates
  std::vector<Value> outputs;  // values this group materialises
  Dims domain;                 // iteration space: the outputs' shape, or the shape of the reductions' input
  Ints axes;                   // reduced axes of the domain; empty for pointwise
  int32_t product = -1;        // a convolution that the launch itself computes as a product of matrices; -1: none
  bool by_warpgroups = false;  // warpgroups multiply the matrices of the product, else warps do
  Epilogue epilogue;           // only library groups use it
};

enum class BufferKind : uint8_t {
  arena,   // planned, at `offset`
  store,   // a variable or a prepared copy; it lives in the session's StateStore under its name
  input,   // the caller gives it at each step by its name
  output,  // an output of the program, which the caller reads by its name; it is planned in the arena and live to the
           // end
};

struct Buffer {
  BufferKind kind = BufferKind::arena;
  std::string name;  // name in the store, of the input or output; for an arena buffer the producing op, shown to people
  int64_t bytes = 0;
  int64_t offset = 0;  // arena, output
  int32_t first = 0;   // numbers of the first and last step during which it is live, both included
  int32_t last = 0;
  int32_t node = -1;  // the producing node; -1 for scratch memory

  bool is_planned() const { return kind == BufferKind::arena || kind == BufferKind::output; }
};

// A place in a buffer. A node that only views memory (a contiguous reshape, a slice of the leading axis) becomes a View
// and takes no step.
struct View {
  int32_t buffer = -1;
  int64_t offset = 0;  // bytes
};

// A launch of a generated kernel. The step has one operand for each buffer of the kernel, in the kernel's order.
struct KernelLaunch {
  int32_t kernel = -1;             // index into Schedule::kernels
  std::vector<int64_t> arguments;  // the kernel's i64 arguments
  std::vector<int64_t> tiles;      // number of tiles in each phase
};

// A call of a library (cuDNN, oneDNN, Eigen, ...). Its operands are the inputs (the bias last), then the output.
struct LibraryCall {
  Epilogue epilogue;
  View scratch;  // its buffer is -1 when the call needs no scratch memory
};

// Fills parts of the step's last operand, each with the bytes of another operand or with zeros.
struct Copies {
  struct Part {
    int64_t to = 0;  // bytes from the beginning of the last operand
    int64_t bytes = 0;
    int32_t from = -1;  // index of the operand that is read; -1 writes zeros
  };
  std::vector<Part> parts;
};

// The step starts the exchange with this number, an all-reduce over all processes of the run in place on its one
// operand, or waits for that exchange.
struct ExchangeStart {
  int32_t number = -1;
};
struct ExchangeWait {
  int32_t number = -1;
};

struct Step {
  FusionClass cls = FusionClass::pointwise;  // its traits name the kind of `work`
  std::string name;                          // "conv2d_input_grad layer1.0.conv1"
  std::variant<KernelLaunch, LibraryCall, Copies, ExchangeStart, ExchangeWait> work;
  std::vector<View> operands;
  std::vector<int64_t> extents;  // bytes of the value at each operand
  int32_t inputs = 0;            // how many of `operands` are read only
  int64_t bytes = 0, flops = 0;  // bytes moved and operations done, for reports
  std::vector<int32_t> nodes;    // the graph nodes it computes, in topological order, except that a library's op or an
                                 // exchange comes first

  // These return null for steps of another kind.
  const KernelLaunch* launch() const { return std::get_if<KernelLaunch>(&work); }
  const LibraryCall* call() const { return std::get_if<LibraryCall>(&work); }
  const Copies* copies() const { return std::get_if<Copies>(&work); }
  const ExchangeStart* start() const { return std::get_if<ExchangeStart>(&work); }
  // Returns the number of the exchange that the step starts or waits for; -1 for other steps.
  int32_t reduction() const;
};

struct Schedule {
  std::string name;  // "prepare", "micro" or "carry"; for other programs the graph's name
  PartRole role = PartRole::final;
  std::shared_ptr<const Graph> graph = std::make_shared<const Graph>();
  std::vector<ir::Kernel> kernels;  // each kernel once, whichever number of steps launch it
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::unordered_map<Value, View, ValueHash> views;  // where each materialised value lies
  int64_t arena_bytes = 0;
  int64_t liveness_bound_bytes =
      0;  // the most arena bytes, scratch included, that are live in any step; a perfect packing would need this much

  // Returns the kernel that a step launches; null for steps of other kinds.
  const ir::Kernel* kernel_of(const Step& step) const;
  // Returns the node of a step that is a library call, an exchange or a wait.
  const Node& node_of(const Step& step) const { return graph->node(step.nodes.at(0)); }
};

// Returns whether a step has an operand in the memory that an exchange works on.
bool touches(const Step& step, const Step& exchange);

std::string to_text(const Schedule& schedule);
// Checks that no two live buffers overlap, every read comes after a write and before its source is overwritten, and
// operands lie inside their buffers. Throws InternalError naming the step and buffers.
void verify(const Schedule& schedule);

// The programs of one training step; they share the state store.
using Program = StepPrograms<Schedule>;

// Returns the bytes of the arena of a lane (PartCall::lane), whose calls take them one after another; the second, those
// of all lanes.
int64_t arena_bytes(const Program& program, int32_t lane);
int64_t arena_bytes(const Program& program);
// Returns the least bytes in which the values fit that live at one time, in each lane.
int64_t liveness_bound_bytes(const Program& program);
// Returns the number of lanes that the calls of a program have: 1 or 2.
int64_t lanes(const Program& program);
// Copies of each input that a GPU keeps for each lane: of the run at work and of the one after it.
inline constexpr int64_t kInputSlots = 2;

}  // namespace kb
