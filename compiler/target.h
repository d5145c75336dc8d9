// Everything that the compiler knows of the processor it compiles for. `lower` and the heuristics read it; no other
// pass asks what machine it is.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "graph/graph.h"

namespace kb {

struct Epilogue;

// Answers about library ops that only a backend knows. Every call is a pure function of its arguments.
class LibraryQuery {
 public:
  virtual ~LibraryQuery() = default;
  // Scratch of one library call on physical types, bytes.
  virtual int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const = 0;
  // Bytes of pack_weights' result in the library's own format; 0 = the op wants no packed weights.
  virtual int64_t packed_bytes(const Graph& graph, const Node& pack) const = 0;
};

enum class Processor : uint8_t { cpu, gpu };

struct Target {
  Processor processor = Processor::cpu;
  std::string isa = "generic";  // of generated kernels: "avx512", "avx2", "generic", "sm_90"
  // Instruction set of the library's convolutions and matmuls, which may be more than kernels use, or less: "avx2",
  // "avx512", "avx512_bf16" (with bf16 arithmetic), "amx" (with tiles), "portable", "sm_90". The layout table reads it.
  std::string library_isa = "generic";
  int64_t lanes = 16;  // elements of one vector step (CPU: 16 for every dtype; GPU: 4, or twice that: see lower)
  int64_t tile_elements = 8192;      // about how many elements one tile handles
  int64_t max_partials = 64;         // most chunks a reduction is cut into: fixed, so bits never depend on threads
  int64_t block_threads = 256;       // GPU
  int64_t shared_bytes = 48 * 1024;  // GPU block storage
  int64_t processors = 132;          // GPU multiprocessors
  // Memory that programs may fill. Where it is known and a step fits, no activation is computed again to save some of
  // it; 0: every byte counts.
  int64_t memory_bytes = 0;
  int64_t streaming_bytes = 8 << 20;  // outputs of a kernel above this are stored past the cache; 0: never
  int64_t prefetch_bytes = 8192;      // how far ahead of its loads a kernel asks for memory it walks through; 0: never
  // Gradients of convolutions' weights leave a library call on 16 bits in 16 bits, as a GPU's give them; else in f32. A
  // CPU that is asked to rounds them, so that a GPU's steps can be compared with its own.
  bool narrow_weight_gradients = false;
  int shards = 2;                               // library calls on a CPU: fixed sample shards
  int64_t redzone_bytes = 0;                    // free bytes behind every planned buffer: sanitizer builds poison them
  std::shared_ptr<const LibraryQuery> library;  // null: no scratch, no packing
};

// The targets that golden tests and --target name.
Target generic_cpu_target();
Target gpu_target(const std::string& arch);  // "sm_80", "sm_90", "sm_100"

}  // namespace kb
