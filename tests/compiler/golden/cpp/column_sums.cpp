extern "C" void k_column_sums(void* const* b, const long* e, long phase, long begin, long end) {
  const float* const b0 = (const float*)b[0];
  float* const b1 = (float*)b[1];
  float* const b2 = (float*)b[2];
  if (phase == 0)
    for (long t = begin; t < end; ++t) {
      const long r1 = t;
      const long r2 = r1 / 2;
      const long r4 = r1 % 2;
      const long r5 = r4 * 32;
      const long r7 = r2 * 64;
      const long r8 = e[0];
      const long r9 = r7 + 64;
      const long r10 = index_min(r9, r8);
      float l0[32] __attribute__((aligned(64)));
      float l1[32] __attribute__((aligned(64)));
      float l2[32] __attribute__((aligned(64)));
      float l3[32] __attribute__((aligned(64)));
      {
        *(f32x16m*)(l0) = splat_f32x16(0x0p+0f);
        *(f32x16m*)(l1) = splat_f32x16(0x0p+0f);
      }
      const long r15 = r5 + 16;
      {
        *(f32x16m*)(l2) = splat_f32x16(0x0p+0f);
        *(f32x16m*)(l3) = splat_f32x16(0x0p+0f);
      }
      for (long r17 = r7; r17 < r10; r17 += 1) {
        const long r18 = r17 * 64 + r5;
        {
          const f32x16 r20 = *(const f32x16m*)(b0 + r18);
          const f32x16 r21 = *(const f32x16m*)(l0);
          const f32x16 r22 = r21 + r20;
          *(f32x16m*)(l0) = r22;
          const f32x16 r23 = r20 * r20;
          const f32x16 r24 = *(const f32x16m*)(l1);
          const f32x16 r25 = r24 + r23;
          *(f32x16m*)(l1) = r25;
        }
        const long r26 = r17 * 64 + r15;
        {
          const f32x16 r28 = *(const f32x16m*)(b0 + r26);
          const f32x16 r29 = *(const f32x16m*)(l2);
          const f32x16 r30 = r29 + r28;
          *(f32x16m*)(l2) = r30;
          const f32x16 r31 = r28 * r28;
          const f32x16 r32 = *(const f32x16m*)(l3);
          const f32x16 r33 = r32 + r31;
          *(f32x16m*)(l3) = r33;
        }
      }
      const long r34 = r2 + r2;
      const long r35 = r34 * 64 + r5;
      const long r36 = r5 + 64;
      const long r37 = r34 * 64 + r36;
      {
        const f32x16 r39 = *(const f32x16m*)(l0);
        *(f32x16m*)(b1 + r35) = r39;
        const f32x16 r40 = *(const f32x16m*)(l1);
        *(f32x16m*)(b1 + r37) = r40;
      }
      const long r41 = r34 * 64 + r15;
      const long r42 = r15 + 64;
      const long r43 = r34 * 64 + r42;
      {
        const f32x16 r45 = *(const f32x16m*)(l2);
        *(f32x16m*)(b1 + r41) = r45;
        const f32x16 r46 = *(const f32x16m*)(l3);
        *(f32x16m*)(b1 + r43) = r46;
      }
    }
  if (phase == 1)
    for (long t = begin; t < end; ++t) {
      const long r48 = t;
      const long r49 = r48 * 16;
      float l4[32] __attribute__((aligned(64)));
      const long r52 = 128 - r49;
      const long r53 = index_min(16, r52);
      const long r55 = e[1];
      if (r53 >= 16) {
        {
          *(f32x16m*)(l4) = splat_f32x16(0x0p+0f);
          for (long r57 = 0; r57 < r55; r57 += 1) {
            const long r58 = r57 * 128 + r49;
            const f32x16 r59 = *(const f32x16m*)(b1 + r58);
            const f32x16 r60 = *(const f32x16m*)(l4);
            const f32x16 r61 = r60 + r59;
            *(f32x16m*)(l4) = r61;
          }
          const f32x16 r62 = *(const f32x16m*)(l4);
          *(f32x16m*)(b2 + r49) = r62;
        }
      } else {
        if (r53 > 0) {
          const long n = r53;
          *(f32x16m*)(l4) = first_x16(n) ? splat_f32x16(0x0p+0f) : *(const f32x16m*)(l4);
          for (long r57 = 0; r57 < r55; r57 += 1) {
            const long r58 = r57 * 128 + r49;
            const f32x16 r59 = load_part_x16(b1 + r58, n);
            const f32x16 r60 = *(const f32x16m*)(l4);
            const f32x16 r61 = r60 + r59;
            *(f32x16m*)(l4) = first_x16(n) ? r61 : *(const f32x16m*)(l4);
          }
          const f32x16 r62 = *(const f32x16m*)(l4);
          store_part(b2 + r49, r62, n);
        }
      }
    }
}
