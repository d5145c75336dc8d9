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
      const long r13 = 40 - r5;
      const long r15 = index_min(16, r13);
      if (r15 >= 16) {
        {
          *(f32x8m*)(l0) = splat_f32x8(0x0p+0f);
          *(f32x8m*)(l1) = splat_f32x8(0x0p+0f);
        }
        {
          *(f32x8m*)(l0 + 8) = splat_f32x8(0x0p+0f);
          *(f32x8m*)(l1 + 8) = splat_f32x8(0x0p+0f);
        }
      } else {
        if (r15 > 0) {
          const long n = index_min(r15, 8);
          *(f32x8m*)(l0) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l0);
          *(f32x8m*)(l1) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l1);
        }
        if (r15 > 8) {
          const long n = index_min(r15 - 8, 8);
          *(f32x8m*)(l0 + 8) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l0 + 8);
          *(f32x8m*)(l1 + 8) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l1 + 8);
        }
      }
      const long r18 = r5 + 16;
      const long r19 = 40 - r18;
      const long r20 = index_min(16, r19);
      if (r20 >= 16) {
        {
          *(f32x8m*)(l2) = splat_f32x8(0x0p+0f);
          *(f32x8m*)(l3) = splat_f32x8(0x0p+0f);
        }
        {
          *(f32x8m*)(l2 + 8) = splat_f32x8(0x0p+0f);
          *(f32x8m*)(l3 + 8) = splat_f32x8(0x0p+0f);
        }
      } else {
        if (r20 > 0) {
          const long n = index_min(r20, 8);
          *(f32x8m*)(l2) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l2);
          *(f32x8m*)(l3) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l3);
        }
        if (r20 > 8) {
          const long n = index_min(r20 - 8, 8);
          *(f32x8m*)(l2 + 8) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l2 + 8);
          *(f32x8m*)(l3 + 8) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l3 + 8);
        }
      }
      for (long r22 = r7; r22 < r10; r22 += 1) {
        const long r23 = r22 * 40 + r5;
        if (r15 >= 16) {
          {
            const f32x8 r25 = *(const f32x8m*)(b0 + r23);
            const f32x8 r26 = *(const f32x8m*)(l0);
            const f32x8 r27 = r26 + r25;
            *(f32x8m*)(l0) = r27;
            const f32x8 r28 = r25 * r25;
            const f32x8 r29 = *(const f32x8m*)(l1);
            const f32x8 r30 = r29 + r28;
            *(f32x8m*)(l1) = r30;
          }
          {
            const f32x8 r25 = *(const f32x8m*)(b0 + r23 + 8);
            const f32x8 r26 = *(const f32x8m*)(l0 + 8);
            const f32x8 r27 = r26 + r25;
            *(f32x8m*)(l0 + 8) = r27;
            const f32x8 r28 = r25 * r25;
            const f32x8 r29 = *(const f32x8m*)(l1 + 8);
            const f32x8 r30 = r29 + r28;
            *(f32x8m*)(l1 + 8) = r30;
          }
        } else {
          if (r15 > 0) {
            const long n = index_min(r15, 8);
            const f32x8 r25 = load_part_x8(b0 + r23, n);
            const f32x8 r26 = *(const f32x8m*)(l0);
            const f32x8 r27 = r26 + r25;
            *(f32x8m*)(l0) = first_x8(n) ? r27 : *(const f32x8m*)(l0);
            const f32x8 r28 = r25 * r25;
            const f32x8 r29 = *(const f32x8m*)(l1);
            const f32x8 r30 = r29 + r28;
            *(f32x8m*)(l1) = first_x8(n) ? r30 : *(const f32x8m*)(l1);
          }
          if (r15 > 8) {
            const long n = index_min(r15 - 8, 8);
            const f32x8 r25 = load_part_x8(b0 + r23 + 8, n);
            const f32x8 r26 = *(const f32x8m*)(l0 + 8);
            const f32x8 r27 = r26 + r25;
            *(f32x8m*)(l0 + 8) = first_x8(n) ? r27 : *(const f32x8m*)(l0 + 8);
            const f32x8 r28 = r25 * r25;
            const f32x8 r29 = *(const f32x8m*)(l1 + 8);
            const f32x8 r30 = r29 + r28;
            *(f32x8m*)(l1 + 8) = first_x8(n) ? r30 : *(const f32x8m*)(l1 + 8);
          }
        }
        const long r31 = r22 * 40 + r18;
        if (r20 >= 16) {
          {
            const f32x8 r33 = *(const f32x8m*)(b0 + r31);
            const f32x8 r34 = *(const f32x8m*)(l2);
            const f32x8 r35 = r34 + r33;
            *(f32x8m*)(l2) = r35;
            const f32x8 r36 = r33 * r33;
            const f32x8 r37 = *(const f32x8m*)(l3);
            const f32x8 r38 = r37 + r36;
            *(f32x8m*)(l3) = r38;
          }
          {
            const f32x8 r33 = *(const f32x8m*)(b0 + r31 + 8);
            const f32x8 r34 = *(const f32x8m*)(l2 + 8);
            const f32x8 r35 = r34 + r33;
            *(f32x8m*)(l2 + 8) = r35;
            const f32x8 r36 = r33 * r33;
            const f32x8 r37 = *(const f32x8m*)(l3 + 8);
            const f32x8 r38 = r37 + r36;
            *(f32x8m*)(l3 + 8) = r38;
          }
        } else {
          if (r20 > 0) {
            const long n = index_min(r20, 8);
            const f32x8 r33 = load_part_x8(b0 + r31, n);
            const f32x8 r34 = *(const f32x8m*)(l2);
            const f32x8 r35 = r34 + r33;
            *(f32x8m*)(l2) = first_x8(n) ? r35 : *(const f32x8m*)(l2);
            const f32x8 r36 = r33 * r33;
            const f32x8 r37 = *(const f32x8m*)(l3);
            const f32x8 r38 = r37 + r36;
            *(f32x8m*)(l3) = first_x8(n) ? r38 : *(const f32x8m*)(l3);
          }
          if (r20 > 8) {
            const long n = index_min(r20 - 8, 8);
            const f32x8 r33 = load_part_x8(b0 + r31 + 8, n);
            const f32x8 r34 = *(const f32x8m*)(l2 + 8);
            const f32x8 r35 = r34 + r33;
            *(f32x8m*)(l2 + 8) = first_x8(n) ? r35 : *(const f32x8m*)(l2 + 8);
            const f32x8 r36 = r33 * r33;
            const f32x8 r37 = *(const f32x8m*)(l3 + 8);
            const f32x8 r38 = r37 + r36;
            *(f32x8m*)(l3 + 8) = first_x8(n) ? r38 : *(const f32x8m*)(l3 + 8);
          }
        }
      }
      const long r39 = r2 + r2;
      const long r40 = r39 * 40 + r5;
      const long r41 = r5 + 40;
      const long r42 = r39 * 40 + r41;
      if (r15 >= 16) {
        {
          const f32x8 r44 = *(const f32x8m*)(l0);
          *(f32x8m*)(b1 + r40) = r44;
          const f32x8 r45 = *(const f32x8m*)(l1);
          *(f32x8m*)(b1 + r42) = r45;
        }
        {
          const f32x8 r44 = *(const f32x8m*)(l0 + 8);
          *(f32x8m*)(b1 + r40 + 8) = r44;
          const f32x8 r45 = *(const f32x8m*)(l1 + 8);
          *(f32x8m*)(b1 + r42 + 8) = r45;
        }
      } else {
        if (r15 > 0) {
          const long n = index_min(r15, 8);
          const f32x8 r44 = *(const f32x8m*)(l0);
          store_part(b1 + r40, r44, n);
          const f32x8 r45 = *(const f32x8m*)(l1);
          store_part(b1 + r42, r45, n);
        }
        if (r15 > 8) {
          const long n = index_min(r15 - 8, 8);
          const f32x8 r44 = *(const f32x8m*)(l0 + 8);
          store_part(b1 + r40 + 8, r44, n);
          const f32x8 r45 = *(const f32x8m*)(l1 + 8);
          store_part(b1 + r42 + 8, r45, n);
        }
      }
      const long r46 = r39 * 40 + r18;
      const long r47 = r18 + 40;
      const long r48 = r39 * 40 + r47;
      if (r20 >= 16) {
        {
          const f32x8 r50 = *(const f32x8m*)(l2);
          *(f32x8m*)(b1 + r46) = r50;
          const f32x8 r51 = *(const f32x8m*)(l3);
          *(f32x8m*)(b1 + r48) = r51;
        }
        {
          const f32x8 r50 = *(const f32x8m*)(l2 + 8);
          *(f32x8m*)(b1 + r46 + 8) = r50;
          const f32x8 r51 = *(const f32x8m*)(l3 + 8);
          *(f32x8m*)(b1 + r48 + 8) = r51;
        }
      } else {
        if (r20 > 0) {
          const long n = index_min(r20, 8);
          const f32x8 r50 = *(const f32x8m*)(l2);
          store_part(b1 + r46, r50, n);
          const f32x8 r51 = *(const f32x8m*)(l3);
          store_part(b1 + r48, r51, n);
        }
        if (r20 > 8) {
          const long n = index_min(r20 - 8, 8);
          const f32x8 r50 = *(const f32x8m*)(l2 + 8);
          store_part(b1 + r46 + 8, r50, n);
          const f32x8 r51 = *(const f32x8m*)(l3 + 8);
          store_part(b1 + r48 + 8, r51, n);
        }
      }
    }
  if (phase == 1)
    for (long t = begin; t < end; ++t) {
      const long r53 = t;
      const long r54 = r53 * 16;
      float l4[32] __attribute__((aligned(64)));
      const long r57 = 80 - r54;
      const long r58 = index_min(16, r57);
      const long r60 = e[1];
      if (r58 >= 16) {
        {
          *(f32x8m*)(l4) = splat_f32x8(0x0p+0f);
          for (long r62 = 0; r62 < r60; r62 += 1) {
            const long r63 = r62 * 80 + r54;
            const f32x8 r64 = *(const f32x8m*)(b1 + r63);
            const f32x8 r65 = *(const f32x8m*)(l4);
            const f32x8 r66 = r65 + r64;
            *(f32x8m*)(l4) = r66;
          }
          const f32x8 r67 = *(const f32x8m*)(l4);
          *(f32x8m*)(b2 + r54) = r67;
        }
        {
          *(f32x8m*)(l4 + 8) = splat_f32x8(0x0p+0f);
          for (long r62 = 0; r62 < r60; r62 += 1) {
            const long r63 = r62 * 80 + r54;
            const f32x8 r64 = *(const f32x8m*)(b1 + r63 + 8);
            const f32x8 r65 = *(const f32x8m*)(l4 + 8);
            const f32x8 r66 = r65 + r64;
            *(f32x8m*)(l4 + 8) = r66;
          }
          const f32x8 r67 = *(const f32x8m*)(l4 + 8);
          *(f32x8m*)(b2 + r54 + 8) = r67;
        }
      } else {
        if (r58 > 0) {
          const long n = index_min(r58, 8);
          *(f32x8m*)(l4) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l4);
          for (long r62 = 0; r62 < r60; r62 += 1) {
            const long r63 = r62 * 80 + r54;
            const f32x8 r64 = load_part_x8(b1 + r63, n);
            const f32x8 r65 = *(const f32x8m*)(l4);
            const f32x8 r66 = r65 + r64;
            *(f32x8m*)(l4) = first_x8(n) ? r66 : *(const f32x8m*)(l4);
          }
          const f32x8 r67 = *(const f32x8m*)(l4);
          store_part(b2 + r54, r67, n);
        }
        if (r58 > 8) {
          const long n = index_min(r58 - 8, 8);
          *(f32x8m*)(l4 + 8) = first_x8(n) ? splat_f32x8(0x0p+0f) : *(const f32x8m*)(l4 + 8);
          for (long r62 = 0; r62 < r60; r62 += 1) {
            const long r63 = r62 * 80 + r54;
            const f32x8 r64 = load_part_x8(b1 + r63 + 8, n);
            const f32x8 r65 = *(const f32x8m*)(l4 + 8);
            const f32x8 r66 = r65 + r64;
            *(f32x8m*)(l4 + 8) = first_x8(n) ? r66 : *(const f32x8m*)(l4 + 8);
          }
          const f32x8 r67 = *(const f32x8m*)(l4 + 8);
          store_part(b2 + r54 + 8, r67, n);
        }
      }
    }
}
