// KernelIR: one kernel as structured instructions over virtual registers. `lower` writes it for a Target; printers
// (C++, CUDA C++) turn it into text one-to-one and decide nothing; an interpreter (tests/interpreters) runs it in
// double and defines what it means.
//
// Shape of a kernel: a list of phases; a phase is a number of tiles and a body run for each (loop variable `tile`). All
// tiles of a phase are done before the next phase starts (CPU: the runtime's barrier; a GPU kernel has one phase and
// ends in `last_block`). Inside a body, loops are bound: `serial`; `thread` (GPU: the threads of a block; values cross
// threads only through block storage and a `barrier` between two thread loops, so that a thread loop can always be run
// one thread after the other); `lane` (vector lanes; extent is Target::lanes; `valid` < lanes in a tail: lanes >= valid
// load nothing and store nothing, locals included). A lane loop may hold serial loops with lane-uniform bounds, never
// another lane loop; lanes do not see each other inside it, so it can be run one lane after the other, or in groups.
// So nothing is stored once for all lanes in it, except in local arrays declared inside, and by store_bits, which a GPU
// has, whose lanes are one thread's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/ops.h"

namespace kb::ir {

using Reg = int32_t;  // virtual register; every one is set once, except `locals`
inline constexpr Reg kNone = -1;

enum class Bind : uint8_t { serial, thread, lane };

enum class Code : uint8_t {
  constant,  // dst = number (or, for i64, integer)
  argument,  // dst:i64 = args[integer]
  tile,      // dst:i64 = number of this tile within its phase
  // index arithmetic, i64: a op b. index_mul_add: a * b + c
  index_add,
  index_sub,
  index_mul,
  index_div,
  index_mod,
  index_min,
  index_max,
  index_lt,
  index_mul_add,
  // Values: dst = op(a, b, c), `op` a primitive point-wise op. The op's row in the op table gives the types of the
  // arguments; bf16 and f16 are computed in f32.
  compute,
  fma,      // dst = a * b + c, rounded once
  bitcast,  // f32 <-> u32 / i32, f64 none
  convert,  // dst = a in dst's type; float -> integer truncates, unspecified where no 32-bit integer holds it
  // Memory: `a` is an index (i64, elements). The access says which element a lane of the lane loop reaches: uniform:
  // every lane element a; contiguous: a is the same in all lanes and lane l reaches a + l; gather: each lane its own a.
  load,   // dst = buffer[a]; with b: only if b (boolean) holds, else `number`. The element `integer` further on will be
          // wanted soon (0: nothing is known); this hint does not change the result
  store,  // buffer[a] = b; with c: only where c holds
  store_bits,  // GPU, in a lane loop of 8 valid lanes: bit l of the u8 buffer[a] is b (boolean) of lane l
  local,       // declares the local array `buffer` of `integer` elements of `type`; scope: register or block; it is not
               // zeroed
  local_load,  // dst = local `buffer` [a]
  local_store,  // local `buffer` [a] = b
  loop,         // var dst runs from a to b (excluded) by `integer`; thread and lane loops from 0 by 1; body
  branch,       // body if a holds (scalar, never lane-varying)
  barrier,      // GPU: all threads of the block
  last_block,   // GPU: `b` blocks count in `buffer`[a]; the body runs in the block that counts last, which sets the
                // counter back to 0
  // Products of matrices of bf16 or f16, which all threads of a block work on together (GPU, outside thread loops).
  // Each matrix is one of those of a local array with Storage::matrices.
  tile_copy,   // element (r, k) of matrix number d of `tile.local` = buffer[a + r * b + k]; 0 where r >= c or
               // k >= valid. The copy is asynchronous: its elements are there after the tile_wait for its group
  tile_group,  // ends a group of copies
  tile_wait,   // waits until all groups but the last `integer` have arrived, for all threads: it is a barrier, too
  tile_mma,    // accumulators `buffer` += A x B, A number a of `tile.local`, B number b of `tile.other`: (m, k) of A is
               // element (m, k) of its matrix, (k, n) of B is element (n, k); transposed: (k, m) and (k, n). Sums are
               // f32, in an order of the processor's choice
  tile_store,  // local [m * pitch + n] = accumulators `buffer` (m, n) in the type of the local array `tile.local`
};

enum class Access : uint8_t { uniform, contiguous, gather };
// Storage::accumulators: sums of products, `tile.rows` x `tile.columns` f32 in registers of the whole block, which are
// 0 where they are declared. Storage::matrices: block storage for matrices of `tile.rows` x `tile.columns`, which only
// tile_copy and tile_mma reach. How the elements of a matrix lie in it is the printer's choice; panel_of() says of how
// many columns a panel of it is.
enum class Storage : uint8_t { register_, block, accumulators, matrices };

// A tile_copy moves so many elements at once: its positions, pitches and valid columns are multiples of it.
inline constexpr int64_t kCopiedElements = 8;
// A tensor core multiplies 16 x 16 by 16 x 8: extents of products are multiples of 16.
inline constexpr int64_t kTileDepth = 16;
// Four warps that follow each other, and the rows of a product that they multiply at once.
inline constexpr int64_t kWarpgroupThreads = 128, kWarpgroupRows = 64;

struct Tile {
  int32_t local = -1, other = -1;  // numbers of arrays
  int32_t rows = 0, columns = 0;   // extents of accumulators, of each matrix
  int32_t panel = 0;               // columns of a panel of a matrix
  int32_t pitch = 0;               // tile_store: elements from one row of the array to the next
  bool transposed = false, other_transposed = false;
  friend bool operator==(const Tile&, const Tile&) = default;
};

struct Instr {
  Code code = Code::constant;
  DType type = DType::f32;  // type of dst; of a store, type of the stored value
  Reg dst = kNone, a = kNone, b = kNone, c = kNone, d = kNone;
  Op op = Op::add;      // used by `compute`
  double number = 0;    // constant, load's else-value
  int64_t integer = 0;  // i64 constant; argument number; loop step; local's extent; groups under way
  int32_t buffer = -1;  // load, store, tile_copy, last_block: index into Kernel::buffers; local, local_load,
                        // local_store, tile_mma, tile_store: index of the local array
  Access access = Access::uniform;
  Storage storage = Storage::register_;
  Bind bind = Bind::serial;
  bool streaming = false;     // store: bypasses the cache when the kernel's streaming argument is not 0
  bool aligned = false;       // GPU, contiguous access: lane 0 is at a multiple of the lanes
  bool lane_varying = false;  // dst differs from lane to lane: a vector where lanes are vectors
  int32_t unroll = 1;  // serial loop on a GPU: rounds that should be under way at once; it does not change the result
  Reg valid = kNone;   // loop bound to lanes: number of valid lanes (i64); kNone = all. tile_copy: columns
  bool part = false;   // loop bound to lanes: `valid` is at least 1 and less than the lanes in every call
  Tile tile{};         // tile_copy, tile_mma, tile_store, local of accumulators and of matrices
  std::vector<Instr> body{};  // loop, branch, last_block
};

struct BufferParam {
  DType dtype = DType::f32;
  bool written = false;
  bool scratch = false;  // partials between phases, or last_block's counter (u32), which is 0 when a step starts
  bool read = true;
  bool aligned = true;  // GPU: begins at a multiple of 16 bytes
};

struct Phase {
  std::vector<Instr> body;
};

// `arguments` are i64 numbers given at each call: extents, strides, tile counts, the streaming flag. Literals in the
// body are what shapes its code: taps of a window, divisors in inner loops, sizes of local arrays.
struct Kernel {
  std::string name;  // "k_" + hash of the text
  std::string kind;  // "pointwise", "row_reduce", ... for people
  std::vector<BufferParam> buffers;
  int32_t arguments = 0;
  int32_t streaming_argument = -1;  // which argument is the streaming flag, -1: none
  std::vector<Phase> phases;
  int32_t registers = 0;
  int64_t block_threads = 0;  // GPU: threads of a block; 0 on a CPU
  // GPU: blocks of this kernel that a multiprocessor runs at a time, so that a thread may use all registers that they
  // leave it, and the CUDA compiler neither delays loads to save registers nor takes more; 0: unknown.
  int64_t resident = 0;
  bool narrow_index = false;  // GPU: every i64 of the kernel fits 32 bits
  bool warpgroups = false;    // GPU: a tile_mma is done by warpgroups (wgmma of sm_90a), else by warps
};

// The bytes of block storage that a kernel may have without asking for them at launch: 48 KB without what the printed
// text adds, a flag of 1 byte for each last_block.
inline constexpr int64_t kStaticBlockStorage = 48 * 1024 - 64;
// Returns the alignment, in bytes, of an array in block storage: that of a vector, or for matrices the bytes after
// which their layout repeats.
int64_t storage_alignment(Storage storage);
// An array's place in block storage, in bytes.
struct StorageRange {
  int64_t begin = 0, end = 0, alignment = 1;
};
// Returns the place of the array that `local` declares, behind `used` bytes of others.
StorageRange storage_range(int64_t used, const Instr& local);
// Returns the bytes of all arrays in a GPU kernel's block storage.
int64_t block_storage_bytes(const Kernel& kernel);
// Returns the bytes of block storage that a launch has to ask for: all, or 0 if it need not.
int64_t launched_storage_bytes(const Kernel& kernel);
// The warps of a block share the rows and columns of accumulators in a grid: `down` warps share the rows, `across` the
// columns. A warp has a multiple of 16 rows and of 16 columns; where warpgroups multiply, it has 16 rows.
struct WarpGrid {
  int64_t down = 1, across = 1;
};
WarpGrid warp_grid(int64_t rows, int64_t columns, int64_t threads, bool warpgroups);
// Returns the columns of a panel of a matrix of which a warpgroup multiplies `columns` columns at once: 64, 32 or 16.
int64_t panel_of(int64_t columns);

// Gives the kernel as text, for golden tests and dumps. Equal kernels have equal text, in which the name does not
// occur.
std::string to_text(const Kernel& kernel);

}  // namespace kb::ir
