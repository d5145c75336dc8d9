// Describes the processor for which a program is compiled. `lower` and the heuristics read it; the other passes do not
// depend on the processor.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace kb {

struct Epilogue;

// The width of a GPU's widest access to memory, in bytes.
inline constexpr int64_t kGpuVectorBytes = 16;

// Who multiplies the matrices of a convolution with one tap: a library call, or a kernel of our own, in which warps or
// warpgroups (wgmma of sm_90a) do.
enum class Multiplier : uint8_t { library, warps, warpgroups };
// Returns the share of the matmul rate of a GPU's library that kernels of our own reach; assumed.
constexpr double own_multiply_share(bool by_warpgroups) { return by_warpgroups ? 0.75 : 0.55; }

// Answers about library ops that only a backend knows. Every call is a pure function of its arguments.
class LibraryQuery {
 public:
  virtual ~LibraryQuery() = default;
  // Returns the scratch memory, in bytes, of one library call on operands in their physical layouts.
  virtual int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const = 0;
  // Returns the bytes of pack_weights' result in the library's own format; 0 if the op wants no packed weights.
  virtual int64_t packed_bytes(const Graph& graph, const Node& pack) const = 0;
  // Returns who computes this convolution, with what reads its result, in the least time: the library and the launches
  // behind it, or a kernel of our own; nothing if that was not measured. On a device, the first question about a size
  // measures it, and the answer stays the same.
  virtual std::optional<Multiplier> multiplier(const Graph&, const Node&) const { return {}; }
};

// Convolutions of 16 bits with one tap and a stride of 1 are products of matrices. As kernels of our own they take in
// what reads their results. None of them are, all are, or those that are picked: by what the backend measured
// (LibraryQuery::multiplier), else by a model.
enum class Products : uint8_t { none, picked, all };

enum class Processor : uint8_t { cpu, gpu };

struct Target {
  Processor processor = Processor::cpu;
  std::string isa = "generic";  // instruction set of generated kernels: "avx512", "avx2", "generic", "sm_90"
  // Instruction set of the library's convolutions and matmuls, which may differ from that of the kernels: "avx2",
  // "avx512", "avx512_bf16" (with bf16 arithmetic), "amx" (with tiles), "portable", "sm_90". Layouts are chosen by it.
  std::string library_isa = "generic";
  int64_t lanes = 16;  // elements of one vector step: 16 on a CPU for every dtype; 4 or 8 on a GPU (see compiler/lower)
  int64_t tile_elements = 8192;  // about how many elements one tile handles
  int64_t max_partials = 64;     // the most chunks into which a reduction is cut; it is fixed, so that results do not
                                 // depend on the number of threads
  int64_t block_threads = 256;   // GPU: threads of a block
  int64_t shared_bytes = 48 * 1024;  // GPU: bytes of block storage
  int64_t processors = 132;          // GPU: number of multiprocessors
  // Bytes of memory that programs may fill. A step that fits keeps all its activations; one that does not recomputes
  // some of them. 0: the size is unknown, and steps always save memory.
  int64_t memory_bytes = 0;
  int64_t streaming_bytes =
      8 << 20;  // a kernel whose outputs exceed this many bytes stores them past the cache; 0: never
  int64_t prefetch_bytes =
      8192;  // bytes ahead of its loads at which a kernel prefetches memory that it walks through; 0: never
  // True: a library call on 16-bit inputs gives gradients of convolutions' weights in 16 bits, as on a GPU; false: in
  // f32. A CPU rounds them only when this is set, so that its steps can be compared with a GPU's.
  bool narrow_weight_gradients = false;
  // True: the library has the ops of graph/flash_attention.h in 16 bits, each run with the same bits.
  bool has_flash_attention = false;
  Products products = Products::none;
  int64_t product_stages = 3;  // GPU: parts of a product in block storage; two blocks of a multiprocessor have room
  bool warpgroups = false;     // GPU: warpgroups can multiply matrices; where nothing was measured, they do
  int shards = 2;              // CPU: number of shards into which library calls split the samples
  int64_t redzone_bytes = 0;   // free bytes after every planned buffer, which sanitizer builds poison
  std::shared_ptr<const LibraryQuery> library;  // null: library calls need no scratch memory and no packed weights
};

// The targets that golden tests and --target name.
Target generic_cpu_target();
Target gpu_target(const std::string& arch);  // "sm_80", "sm_90", "sm_100"
// Makes the target that of a GPU with so many multiprocessors.
void set_processors(Target& target, int64_t processors);

}  // namespace kb
