// oneDNN's engine, its primitives and their operands. Debian's oneDNN runs on libgomp. Here each call is made by one of
// our threads, and libgomp is told to use that thread alone, so that it never starts others.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/cpu/library_parts.h"

namespace kb::onednn {

// While it lives, oneDNN plans for the calling thread alone and runs in it alone.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

struct Primitive {
  dnnl::primitive primitive;
  std::string implementation;
  dnnl::memory::desc source, weights, bias, result;  // in the order of the op's operands
  dnnl::memory::desc scratchpad;
  size_t scratch = 0;  // bytes, enough for the same call with any epilogue
};

// oneDNN's names for the layouts of a convolution's tensors with c and with o channels.
struct Tags {
  dnnl::memory::format_tag source, result;
};

// How convolutions that differ in n and epilogue alone are computed.
struct Choice {
  Tags tags{};
  dnnl::memory::desc weights;  // the form that oneDNN wants
  int slowness = 0;            // 0: fast; 1: patches and a matmul; 2: plain loops
};

// A product of which a primitive computes one part: with the part's batch and without relu, the part's rows and
// columns, and whether the rows of the result are without gaps.
using ProductKey = std::tuple<MatmulSpec, int64_t, int64_t, bool>;

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<ConvSpec, std::shared_ptr<const Primitive>> convolutions;  // keyed by the spec without relu
  std::map<ProductKey, std::shared_ptr<const Primitive>> products;
  std::map<ConvSpec, Choice> choices;  // keyed by the convolution without n and epilogue
};

dnnl::memory::data_type data_type(DType dtype);
// Returns the attributes of every primitive: its scratch memory is the caller's.
dnnl::primitive_attr attributes();

// One execution of a primitive on operands whose addresses may change from run to run. A changed address costs time; an
// op in a session keeps its addresses, so that its calls neither allocate nor touch the operands' padding.
class Call {
 public:
  Call(Engine& engine, std::shared_ptr<const Primitive> primitive)
      : engine_(&engine), primitive_(std::move(primitive)) {}

  void add(int argument, const dnnl::memory::desc& desc);
  // Runs on these addresses, in the order in which the operands were added.
  void run(std::initializer_list<const void*> addresses);
  const Primitive& primitive() const { return *primitive_; }

 private:
  struct Operand {
    dnnl::memory memory;
    const void* address = nullptr;
  };

  Engine* engine_;
  std::shared_ptr<const Primitive> primitive_;
  std::vector<Operand> operands_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace kb::onednn
