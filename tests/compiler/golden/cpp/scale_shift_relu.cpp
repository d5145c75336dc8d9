extern "C" void k_scale_shift_relu(void* const* b, const long* e, long, long begin, long end) {
  const u16* const b0 = (const u16*)b[0];
  const float* const b1 = (const float*)b[1];
  u16* const b2 = (u16*)b[2];
  const bool past_cache = e[1] != 0;
  for (long t = begin; t < end; ++t) {
    const long r1 = t;
    const long r2 = r1 * 1024;
    const long r3 = e[0];
    const long r4 = r2 + 1024;
    const long r5 = index_min(r4, r3);
    const float r8 = b1[0];
    const float r10 = b1[1];
    for (long r12 = r2; r12 < r5; r12 += 16) {
      const long r13 = r5 - r12;
      const long r14 = index_min(16, r13);
      if (r14 >= 16) {
        {
          const f32x16 r16 = widen_bf16(*(const u16x16m*)(b0 + r12));
          const f32x16 r17 = r16;
          const f32x16 r18 = r17 * r8;
          const f32x16 r19 = r18 + r10;
          const i32x16 r20 = r19 > 0x0p+0f;
          const f32x16 r21 = r20 ? r19 : splat_f32x16(0x0p+0f);
          stream(b2 + r12, round_bf16(r21), past_cache);
        }
      } else {
        if (r14 > 0) {
          const long n = r14;
          const f32x16 r16 = widen_bf16(load_part_x16(b0 + r12, n));
          const f32x16 r17 = r16;
          const f32x16 r18 = r17 * r8;
          const f32x16 r19 = r18 + r10;
          const i32x16 r20 = r19 > 0x0p+0f;
          const f32x16 r21 = r20 ? r19 : splat_f32x16(0x0p+0f);
          store_part(b2 + r12, round_bf16(r21), n);
        }
      }
    }
  }
  if (past_cache) KB_FENCE();
}
