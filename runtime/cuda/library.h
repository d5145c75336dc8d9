// Library calls on a device: convolution and its gradients, matmul, attention and its gradient, packing of weights. The
// plug-in does them by cuDNN and cuBLASLt, tests by the CPU's library.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compiler/schedule.h"
#include "compiler/target.h"
#include "runtime/cuda/driver.h"

namespace kb::cuda {

// The driver, device and stream of a library; all of them must outlive it. The context is current on every thread that
// calls the library.
struct DeviceHandles {
  const Driver& driver;
  Device device = 0;
  Stream stream = nullptr;  // stream of all computation; planning may run trials on it, and waits for them
  int capability = 0;       // compute capability; 90 is sm_90
};

// One planned call. It keeps no workspace of its own: scratch is a planned buffer.
class LibraryOp {
 public:
  virtual ~LibraryOp() = default;
  // Returns the bytes that enqueue() needs at `scratch`, at most what DeviceLibrary::scratch_bytes returned for the
  // node.
  virtual int64_t scratch_bytes() const = 0;
  // Enqueues on `stream` and nowhere else, and allocates nothing: the call may be captured, and is then replayed with
  // these addresses. `in` has the node's inputs and then the epilogue's bias; `out` has the node's outputs. Operands
  // are aligned to 64 bytes, except slices of variables and inputs, which are aligned to their elements.
  virtual void enqueue(Stream stream, std::span<const void* const> in, std::span<void* const> out,
                       void* scratch) const = 0;
  // Returns the implementation that does the work, for reports: "cudnn engine 38".
  virtual std::string implementation() const = 0;
};

using LibraryPicks = std::map<std::string, std::string>;

// The hint of an error about a pick that cannot be used.
inline constexpr const char* kPickHint =
    "\n  hint: it is kept in picks.*.txt of the kernel cache, or in the checkpoint; a call without a line in that file "
    "is "
    "measured anew";

class DeviceLibrary {
 public:
  virtual ~DeviceLibrary() = default;
  virtual std::string name() const = 0;  // a text: "cuDNN 9.13.0, cuBLASLt 13.0.2"
  // Returns the dtype in which calls on tensors of `dtype` are computed: `dtype` itself if the device and the library
  // have it, else f32.
  virtual DType compute_dtype(DType dtype) const = 0;
  // Both answer the compiler's questions (LibraryQuery in compiler/target.h), in bytes. On a device, the first question
  // about a call chooses its implementation by trials.
  virtual int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const = 0;
  virtual int64_t packed_bytes(const Graph& graph, const Node& pack) const = 0;
  // Throws Error or InternalError; the caller adds the schedule step and its place in the user's code.
  virtual std::unique_ptr<LibraryOp> plan(const Graph& graph, const Node& node, const Epilogue& epilogue) = 0;
  // The choices made so far: from what a call computes to its implementation. A run keeps them in its manifest and
  // checkpoints. If they are given back before the first question, they are used and nothing is timed.
  virtual LibraryPicks algorithm_choices() const = 0;
  virtual void use_algorithm_choices(LibraryPicks picks) = 0;
  // Adds a choice that the backend made by trials of its own (product_trials.h). The library owns it, beside its
  // own choices, and does not read it.
  virtual void add_choice(const std::string& call, const std::string& pick) = 0;
};

// Answers the compiler's questions by a library, without a device.
class LibraryAnswers : public LibraryQuery {
 public:
  explicit LibraryAnswers(std::shared_ptr<const DeviceLibrary> library) : library_(std::move(library)) {}
  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    return library_->scratch_bytes(graph, node, epilogue);
  }
  int64_t packed_bytes(const Graph& graph, const Node& pack) const override {
    return library_->packed_bytes(graph, pack);
  }

 private:
  std::shared_ptr<const DeviceLibrary> library_;
};

}  // namespace kb::cuda
