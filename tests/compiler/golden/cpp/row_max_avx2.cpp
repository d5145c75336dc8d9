extern "C" void k_row_max(void* const* b, const long* e, long, long begin, long end) {
  const float* const b0 = (const float*)b[0];
  float* const b1 = (float*)b[1];
  for (long t = begin; t < end; ++t) {
    const long r1 = t;
    const long r2 = r1 * 8;
    const long r4 = e[0];
    const long r5 = r2 + 8;
    const long r6 = index_min(r5, r4);
    for (long r13 = r2; r13 < r6; r13 += 1) {
      float l0[32] __attribute__((aligned(64)));
      {
        *(f32x8m*)(l0) = splat_f32x8((-__builtin_inff()));
      }
      {
        *(f32x8m*)(l0 + 8) = splat_f32x8((-__builtin_inff()));
      }
      for (long r15 = 0; r15 < 40; r15 += 16) {
        const long r16 = 40 - r15;
        const long r17 = index_min(16, r16);
        const long r18 = r13 * 40 + r15;
        if (r17 >= 16) {
          {
            const f32x8 r20 = *(const f32x8m*)(b0 + r18);
            const f32x8 r21 = *(const f32x8m*)(l0);
            const f32x8 r22 = maximum(r20, r21);
            *(f32x8m*)(l0) = r22;
          }
          {
            const f32x8 r20 = *(const f32x8m*)(b0 + r18 + 8);
            const f32x8 r21 = *(const f32x8m*)(l0 + 8);
            const f32x8 r22 = maximum(r20, r21);
            *(f32x8m*)(l0 + 8) = r22;
          }
        } else {
          if (r17 > 0) {
            const long n = index_min(r17, 8);
            const f32x8 r20 = load_part_x8(b0 + r18, n);
            const f32x8 r21 = *(const f32x8m*)(l0);
            const f32x8 r22 = maximum(r20, r21);
            *(f32x8m*)(l0) = first_x8(n) ? r22 : *(const f32x8m*)(l0);
          }
          if (r17 > 8) {
            const long n = index_min(r17 - 8, 8);
            const f32x8 r20 = load_part_x8(b0 + r18 + 8, n);
            const f32x8 r21 = *(const f32x8m*)(l0 + 8);
            const f32x8 r22 = maximum(r20, r21);
            *(f32x8m*)(l0 + 8) = first_x8(n) ? r22 : *(const f32x8m*)(l0 + 8);
          }
        }
      }
      {
        const long n = index_min(8, 8);
        const f32x8 r24 = *(const f32x8m*)(l0 + 8);
        const f32x8 r25 = *(const f32x8m*)(l0);
        const f32x8 r26 = maximum(r24, r25);
        *(f32x8m*)(l0) = first_x8(n) ? r26 : *(const f32x8m*)(l0);
      }
      if (8 > 8) {
        const long n = index_min(8 - 8, 8);
        const f32x8 r24 = *(const f32x8m*)(l0 + 8 + 8);
        const f32x8 r25 = *(const f32x8m*)(l0 + 8);
        const f32x8 r26 = maximum(r24, r25);
        *(f32x8m*)(l0 + 8) = first_x8(n) ? r26 : *(const f32x8m*)(l0 + 8);
      }
      {
        const long n = index_min(4, 8);
        const f32x8 r28 = *(const f32x8m*)(l0 + 4);
        const f32x8 r29 = *(const f32x8m*)(l0);
        const f32x8 r30 = maximum(r28, r29);
        *(f32x8m*)(l0) = first_x8(n) ? r30 : *(const f32x8m*)(l0);
      }
      if (4 > 8) {
        const long n = index_min(4 - 8, 8);
        const f32x8 r28 = *(const f32x8m*)(l0 + 4 + 8);
        const f32x8 r29 = *(const f32x8m*)(l0 + 8);
        const f32x8 r30 = maximum(r28, r29);
        *(f32x8m*)(l0 + 8) = first_x8(n) ? r30 : *(const f32x8m*)(l0 + 8);
      }
      {
        const long n = index_min(2, 8);
        const f32x8 r32 = *(const f32x8m*)(l0 + 2);
        const f32x8 r33 = *(const f32x8m*)(l0);
        const f32x8 r34 = maximum(r32, r33);
        *(f32x8m*)(l0) = first_x8(n) ? r34 : *(const f32x8m*)(l0);
      }
      if (2 > 8) {
        const long n = index_min(2 - 8, 8);
        const f32x8 r32 = *(const f32x8m*)(l0 + 2 + 8);
        const f32x8 r33 = *(const f32x8m*)(l0 + 8);
        const f32x8 r34 = maximum(r32, r33);
        *(f32x8m*)(l0 + 8) = first_x8(n) ? r34 : *(const f32x8m*)(l0 + 8);
      }
      {
        const long n = index_min(1, 8);
        const f32x8 r36 = *(const f32x8m*)(l0 + 1);
        const f32x8 r37 = *(const f32x8m*)(l0);
        const f32x8 r38 = maximum(r36, r37);
        *(f32x8m*)(l0) = first_x8(n) ? r38 : *(const f32x8m*)(l0);
      }
      if (1 > 8) {
        const long n = index_min(1 - 8, 8);
        const f32x8 r36 = *(const f32x8m*)(l0 + 1 + 8);
        const f32x8 r37 = *(const f32x8m*)(l0 + 8);
        const f32x8 r38 = maximum(r36, r37);
        *(f32x8m*)(l0 + 8) = first_x8(n) ? r38 : *(const f32x8m*)(l0 + 8);
      }
      const float r39 = l0[0];
      b1[r13] = r39;
    }
  }
}
