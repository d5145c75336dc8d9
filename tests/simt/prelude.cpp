#include "tests/simt/prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "graph/error.h"
#include "graph/ops.h"

namespace kb::simt {
namespace {

// These structs are the same as in unit.h.
constexpr std::string_view kUnit = R"(
typedef unsigned int simt_u32;
typedef unsigned long simt_u64;
struct simt_dim { simt_u32 x, y, z; };
typedef simt_dim dim3;
struct simt_hooks {
  void (*access)(const void*, simt_u32, simt_u32);
  void (*shared)(void*, simt_u32, simt_u32, const char*);
  void* (*dynamic_shared)(simt_u32, simt_u32, const char*);
  void (*barrier)(simt_u32);
  void (*exchange)(simt_u32, simt_u32, simt_u32, const simt_u64*, simt_u64*);
  void (*sync_warp)(simt_u32, simt_u32);
  void (*fence)();
  void (*atomic)(const void*, simt_u32);
  void (*copy)(void*, const void*, simt_u32);
  void (*end_copies)();
  void (*wait_copies)(simt_u32);
  simt_u32 (*shared_address)(const void*);
  void (*show_tensor_cores)();
  void (*begin_products)(const float*, simt_u32);
  void (*multiply)(float*, simt_u32, simt_u64, simt_u64, simt_u32);
  void (*end_products)();
};
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], __bss_start[];
static struct {
  simt_dim thread, block, block_dim, grid_dim;
  const simt_hooks* hooks;
  const char *image_begin, *image_end;
} simt_unit = {{}, {}, {}, {}, nullptr, __ehdr_start, __bss_start};
struct simt_parameter { simt_u32 element, written; };
struct simt_entry {
  void* unit;
  void (*call)(void* const*);
  simt_u32 max_threads, parameters;
  const simt_parameter* parameter;
};
#define SIMT_PLAIN __attribute__((no_sanitize("thread")))
#define SIMT_INLINE static inline __attribute__((always_inline))

template <class T> struct simt_signature { static constexpr simt_parameter value = {0, 0}; };
template <class T> struct simt_signature<T*> { static constexpr simt_parameter value = {sizeof(T), 1}; };
template <class T> struct simt_signature<const T*> { static constexpr simt_parameter value = {sizeof(T), 0}; };
template <simt_u32... I> struct simt_numbers {};
template <class... A, simt_u32... I>
SIMT_PLAIN static void simt_apply(void (*kernel)(A...), void* const* p, simt_numbers<I...>) { kernel(*(A*)p[I]...); }
template <class... A>
SIMT_PLAIN static void simt_call(void (*kernel)(A...), void* const* p) {
  simt_apply(kernel, p, simt_numbers<__integer_pack(sizeof...(A))...>());
}
template <class F> struct simt_kernel;
template <class... A> struct simt_kernel<void(A...)> {
  static constexpr simt_u32 count = sizeof...(A);
  static constexpr simt_parameter parameter[count + 1] = {simt_signature<A>::value..., {0, 0}};
};
#define SIMT_ENTRY(name, threads)                                               \
  SIMT_PLAIN static void simt_call_##name(void* const* p) { simt_call(name, p); } \
  extern "C" const simt_entry simt_##name = {&simt_unit, simt_call_##name, threads, \
      simt_kernel<decltype(name)>::count, simt_kernel<decltype(name)>::parameter};

template <class T, simt_u32 N>
SIMT_INLINE void simt_shared(T (&array)[N], const char* name) { simt_unit.hooks->shared(array, sizeof(T), N, name); }
template <class T>
SIMT_INLINE void simt_shared(T& single, const char* name) { simt_unit.hooks->shared(&single, sizeof(T), 1, name); }
struct simt_dynamic_shared {
  const char* name;
  simt_u32 alignment;  // 0: that of the elements
  template <class T> operator T*() const {
    return (T*)simt_unit.hooks->dynamic_shared(sizeof(T), alignment ? alignment : alignof(T), name);
  }
};
)";

constexpr std::string_view kWatch = R"(
extern "C" {
#define SIMT_WATCH __attribute__((visibility("hidden"), no_sanitize("thread"))) void
SIMT_WATCH __tsan_init() {}
#define SIMT_BYTES(n) \
  SIMT_WATCH __tsan_read##n(void* p) { simt_unit.hooks->access(p, n, 0); } \
  SIMT_WATCH __tsan_write##n(void* p) { simt_unit.hooks->access(p, n, 1); } \
  SIMT_WATCH __tsan_volatile_read##n(void* p) { simt_unit.hooks->access(p, n, 0); } \
  SIMT_WATCH __tsan_volatile_write##n(void* p) { simt_unit.hooks->access(p, n, 1); }
SIMT_BYTES(1)
SIMT_BYTES(2)
SIMT_BYTES(4)
SIMT_BYTES(8)
SIMT_BYTES(16)
#define SIMT_UNALIGNED(n) \
  SIMT_WATCH __tsan_unaligned_read##n(void* p) { simt_unit.hooks->access(p, n, 0); } \
  SIMT_WATCH __tsan_unaligned_write##n(void* p) { simt_unit.hooks->access(p, n, 1); }
SIMT_UNALIGNED(2)
SIMT_UNALIGNED(4)
SIMT_UNALIGNED(8)
SIMT_UNALIGNED(16)
SIMT_WATCH __tsan_read_range(void* p, simt_u64 n) { simt_unit.hooks->access(p, (simt_u32)n, 0); }
SIMT_WATCH __tsan_write_range(void* p, simt_u64 n) { simt_unit.hooks->access(p, (simt_u32)n, 1); }
}
)";

constexpr std::string_view kWords = R"(
#define __global__
#define __device__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline  // forced, kernels would take twice as long to compile
#define __launch_bounds__(...)
#define threadIdx simt_unit.thread
#define blockIdx simt_unit.block
#define blockDim simt_unit.block_dim
#define gridDim simt_unit.grid_dim

#define __syncthreads() simt_unit.hooks->barrier(__LINE__)
#define __syncwarp(...) simt_sync_warp(__LINE__, ##__VA_ARGS__)
#define __threadfence() simt_unit.hooks->fence()
SIMT_INLINE void simt_sync_warp(simt_u32 line, simt_u32 mask = 0xffffffffu) { simt_unit.hooks->sync_warp(mask, line); }
)";

// Plain accesses in these functions are the atomic's own, so they are not watched.
constexpr std::string_view kAtomics = R"(
SIMT_PLAIN static inline unsigned simt_exchange(unsigned* at, unsigned value) {
  const unsigned old = *at;
  *at = value;
  return old;
}
SIMT_PLAIN static inline unsigned atomicAdd(unsigned* at, unsigned value) {
  simt_unit.hooks->atomic(at, sizeof *at);
  return simt_exchange(at, *at + value);
}
SIMT_PLAIN static inline unsigned atomicInc(unsigned* at, unsigned last) {
  simt_unit.hooks->atomic(at, sizeof *at);
  return simt_exchange(at, *at >= last ? 0u : *at + 1u);
}
)";

// Values of a warp exchange travel as 64 bits that hold the bytes of their type.
constexpr std::string_view kWarps = R"(
template <class T> SIMT_INLINE simt_u64 simt_pack(T value) {
  simt_u64 bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T> SIMT_INLINE T simt_unpack(simt_u64 bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
SIMT_INLINE simt_u32 simt_lane() {
  const simt_dim &t = simt_unit.thread, &n = simt_unit.block_dim;
  return (t.x + n.x * (t.y + n.y * t.z)) & 31;
}
template <class T>
SIMT_PLAIN static T simt_shuffle(simt_u32 line, simt_u32 mask, T value, simt_u32 from) {
  static_assert(sizeof(T) <= 8, "a shuffle of more than 8 bytes");
  simt_u64 values[32];
  const simt_u64 given = simt_pack(value);
  simt_unit.hooks->exchange(mask, line, 1, &given, values);
  return simt_unpack<T>(values[mask >> from & 1 ? from : simt_lane()]);
}
template <class T>
SIMT_PLAIN static T simt_shfl(simt_u32 line, simt_u32 mask, T value, int source, int width = 32) {
  const simt_u32 lane = simt_lane(), first = lane & ~(width - 1u);
  return simt_shuffle(line, mask, value, first + ((simt_u32)source & (width - 1u)));
}
template <class T>
SIMT_PLAIN static T simt_shfl_xor(simt_u32 line, simt_u32 mask, T value, int bits, int width = 32) {
  const simt_u32 lane = simt_lane(), to = lane ^ (simt_u32)bits, end = (lane & ~(width - 1u)) + width;
  return simt_shuffle(line, mask, value, to < end ? to : lane);
}
template <class T>
SIMT_PLAIN static T simt_shfl_down(simt_u32 line, simt_u32 mask, T value, simt_u32 by, int width = 32) {
  const simt_u32 lane = simt_lane(), to = lane + by, end = (lane & ~(width - 1u)) + width;
  return simt_shuffle(line, mask, value, to < end ? to : lane);
}
template <class T>
SIMT_PLAIN static T simt_shfl_up(simt_u32 line, simt_u32 mask, T value, simt_u32 by, int width = 32) {
  const simt_u32 lane = simt_lane(), first = lane & ~(width - 1u);
  return simt_shuffle(line, mask, value, lane >= first + by ? lane - by : lane);
}
SIMT_PLAIN static simt_u32 simt_ballot(simt_u32 line, simt_u32 mask, int holds) {
  const simt_u64 given = holds != 0;
  simt_u64 values[32];
  simt_unit.hooks->exchange(mask, line, 1, &given, values);
  simt_u32 bits = 0;
  for (simt_u32 i = 0; i < 32; ++i)
    if (mask >> i & 1) bits |= (simt_u32)values[i] << i;
  return bits;
}
#define __shfl_sync(...) simt_shfl(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) simt_shfl_xor(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) simt_shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) simt_shfl_up(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, holds) simt_ballot(__LINE__, mask, holds)
#define __any_sync(mask, holds) (simt_ballot(__LINE__, mask, holds) != 0)
#define __all_sync(mask, holds) (simt_ballot(__LINE__, mask, holds) == (mask))
)";

// The vectors have CUDA's alignment.
constexpr std::string_view kVectors = R"(
#define SIMT_VECTOR(T, name, align2, align4) \
  struct __attribute__((aligned(align2))) name##2 { T x, y; }; \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };
SIMT_VECTOR(unsigned char, uchar, 2, 4)
SIMT_VECTOR(unsigned short, ushort, 4, 8)
SIMT_VECTOR(int, int, 8, 16)
SIMT_VECTOR(unsigned, uint, 8, 16)
SIMT_VECTOR(float, float, 8, 16)
SIMT_VECTOR(double, double, 16, 16)
)";

// These define __ldg, the load through the cache for constants. The watched one reports a read with Use::read_constant
// (2).
constexpr std::string_view kConstantLoad = R"(
template <class T> SIMT_PLAIN static inline T __ldg(const T* p) {
  simt_unit.hooks->access(p, sizeof(T), 2);
  return *p;
}
)";
constexpr std::string_view kPlainLoad = R"(
template <class T> SIMT_INLINE T __ldg(const T* p) { return *p; }
)";

constexpr std::string_view kArithmetic = R"(
#define SIMT_CAST(name, From, To) SIMT_INLINE To name(From x) { return simt_unpack<To>(simt_pack(x)); }
SIMT_CAST(__float_as_uint, float, unsigned)
SIMT_CAST(__uint_as_float, unsigned, float)
SIMT_INLINE float fabsf(float x) { return __builtin_fabsf(x); }
SIMT_INLINE float floorf(float x) { return __builtin_floorf(x); }
SIMT_INLINE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
SIMT_INLINE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
SIMT_INLINE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
SIMT_INLINE double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
SIMT_INLINE unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
SIMT_INLINE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
#define SIMT_UNARY(name) SIMT_INLINE double name(double x) { return __builtin_##name(x); }
SIMT_UNARY(fabs)
SIMT_UNARY(floor)
// CUDA's functions of doubles differ from the host's in their last bits, and so do these, but where the result is an
// integer, an infinity or NaN, and but for erf, which cancels in gelu.
SIMT_UNARY(erf)
SIMT_INLINE double simt_other(double y) {
  return __builtin_floor(y) != y && y == y ? simt_unpack<double>(simt_pack(y) ^ 1) : y;
}
#define SIMT_OTHER(name) SIMT_INLINE double name(double x) { return simt_other(__builtin_##name(x)); }
#define SIMT_OTHER_OF_TWO(name) \
  SIMT_INLINE double name(double x, double y) { return simt_other(__builtin_##name(x, y)); }
)";

// Returns the functions of the C library that the table of ops has, except erf.
std::string other_functions() {
  std::string text;
  for (const OpInfo& row : all_ops())
    if (row.cost == OpCost::function && row.op != Op::erf)
      text += fmt::format("{}({})\n", row.arity == 1 ? "SIMT_OTHER" : "SIMT_OTHER_OF_TWO", row.name);
  return text;
}

constexpr std::string_view kShared = "__shared__", kExtern = "extern", kGlobal = "__global__", kAlign = "__align__",
                           kBounds = "__launch_bounds__";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the identifier that ends before `end`, without white space after it.
std::string word_before(std::string_view text, size_t end) {
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
  size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return std::string(text.substr(begin, end - begin));
}

// Returns the position after the parenthesis that closes the one at `open`.
size_t behind_parentheses(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  throw InternalError("CUDA text: a parenthesis is not closed");
}

// Returns "16" of a declaration with __align__(16); "0" if it has none.
std::string alignment_in(std::string_view declaration) {
  const size_t at = declaration.find(kAlign);
  if (at == std::string_view::npos) return "0";
  const size_t open = at + kAlign.size();
  return std::string(declaration.substr(open, behind_parentheses(declaration, open) - open));
}

}  // namespace

std::string emulation_prelude(bool watched) {
  std::string text(kUnit);
  if (watched) text += kWatch;
  for (const std::string_view part : {kWords, kAtomics, kWarps, kVectors}) text += part;
  text += watched ? kConstantLoad : kPlainLoad;
  text += kArithmetic;
  text += other_functions();
  return text;
}

KernelHead kernel_head(std::string_view text) {
  const size_t at = text.find(kGlobal);
  size_t open = text.find('(', at);
  if (at == std::string_view::npos || open == std::string_view::npos ||
      text.find(kGlobal, open) != std::string_view::npos)
    throw InternalError("CUDA text: not one __global__ function");
  KernelHead head{"", "0"};
  if (word_before(text, open) == kBounds) {
    const size_t behind = behind_parentheses(text, open);
    const std::string_view bounds = text.substr(open + 1, behind - open - 2);
    head.max_threads = bounds.substr(0, bounds.find(','));
    open = text.find('(', behind);
  }
  head.name = word_before(text, open);
  return head;
}

std::string emulated_text(std::string_view text, const KernelHead& head) {
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(kShared); at != std::string::npos; at = text.find(kShared, from)) {
    const size_t end = text.find(';', at);
    if (end == std::string::npos) throw InternalError("CUDA text: __shared__ without a declaration");
    const size_t behind_name = std::min(end, text.find('[', at));
    const std::string name = word_before(text, behind_name);
    // "extern __shared__ __align__(16) T name[];" becomes a pointer of the same name.
    if (word_before(text, at) == kExtern) {
      const std::string alignment = alignment_in(text.substr(at, end - at));
      out += text.substr(from, text.rfind(kExtern, at) - from);
      at += kShared.size();
      out += text.substr(at, text.rfind(name, behind_name) - at);
      out += fmt::format("* const {0} = simt_dynamic_shared{{\"{0}\", {1}}};", name, alignment);
    } else {
      out += text.substr(from, end + 1 - from);
      out += fmt::format(" simt_shared({0}, \"{0}\");", name);
    }
    from = end + 1;
  }
  out += text.substr(from);
  return out + fmt::format("\nSIMT_ENTRY({}, {})", head.name, head.max_threads);
}

}  // namespace kb::simt
