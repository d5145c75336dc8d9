// These definitions give clang those of g++'s vector builtins that it has under other names, with other operands, or as
// an operation of its vector types. They are macros, because a macro is expanded only where it is used: the types that
// it names need not exist in a file that does not use it.
#pragma once
#include <string_view>

namespace kb {

inline constexpr std::string_view kClangBuiltins = R"(#ifdef __clang__
typedef u8 kb_bytes __attribute__((vector_size(16)));
typedef u8 kb_half __attribute__((vector_size(8)));
typedef u64 kb_words __attribute__((vector_size(64)));
#define __builtin_ia32_pmovzxwd512_mask(x, y, m) __builtin_convertvector((u16x16)(x), i32x16)
#define __builtin_ia32_pmovzxbd512_mask(x, y, m) __builtin_convertvector((u8x16)(x), i32x16)
#define __builtin_ia32_pmovzxwd256(x) __builtin_convertvector((u16x8)(x), i32x8)
KB_INLINE kb_half low_half(kb_bytes x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7); }
#define __builtin_ia32_pmovzxbd256(...) __builtin_convertvector(low_half((kb_bytes)(__VA_ARGS__)), i32x8)
#define __builtin_ia32_pmuludq512_mask(x, y, z, m) \
  ((v8q)(((kb_words)(x) & 0xffffffffu) * ((kb_words)(y) & 0xffffffffu)))
#define __builtin_ia32_sqrtps512_mask(x, y, m, r) __builtin_ia32_sqrtps512(x, r)
#define __builtin_ia32_sqrtpd512_mask(x, y, m, r) __builtin_ia32_sqrtpd512(x, r)
#define __builtin_ia32_maxps512_mask(x, y, z, m, r) __builtin_ia32_maxps512(x, y, r)
#define __builtin_ia32_minps512_mask(x, y, z, m, r) __builtin_ia32_minps512(x, y, r)
#define __builtin_ia32_maxpd512_mask(x, y, z, m, r) __builtin_ia32_maxpd512(x, y, r)
#define __builtin_ia32_minpd512_mask(x, y, z, m, r) __builtin_ia32_minpd512(x, y, r)
#define __builtin_ia32_ptestmd512(x, y, m) __builtin_ia32_cmpd512_mask((x) & (y), i32x16{}, 4, m)
#define __builtin_ia32_loaddquhi256_mask(p, x, m) __builtin_ia32_loaddquhi256_mask((const v16h*)(p), x, m)
#define __builtin_ia32_storedquhi256_mask(p, x, m) __builtin_ia32_storedquhi256_mask((v16h*)(p), x, m)
#define __builtin_ia32_maskloadps256(p, m) __builtin_ia32_maskloadps256((const f32x8*)(p), m)
#define __builtin_ia32_maskstoreps256(p, m, x) __builtin_ia32_maskstoreps256((f32x8*)(p), m, x)
#define __builtin_ia32_movntps512(p, x) __builtin_nontemporal_store(x, (f32x16*)(p))
#define __builtin_ia32_movntps256(p, x) __builtin_nontemporal_store(x, (f32x8*)(p))
#define __builtin_ia32_movntps(p, x) __builtin_nontemporal_store(x, (kb_v4*)(p))
#endif
)";

}  // namespace kb
