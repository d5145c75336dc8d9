extern "C" void k_transpose(void* const* b, const long* e, long, long begin, long end) {
  const double* const b0 = (const double*)b[0];
  double* const b1 = (double*)b[1];
  for (long t = begin; t < end; ++t) {
    const long r0 = t;
    const long r5 = r0 + 1;
    const long r6 = e[0];
    for (long r7 = 0; r7 < 40; r7 += 16) {
      const long r8 = 40 - r7;
      const long r9 = index_min(16, r8);
      const long r10 = r0 * 40 + r7;
      if (r9 >= 16) {
        for (long first = 0; first < 16; first += 2)
          {
            const long r11 = first;
            const long r12 = r7 + r11;
            const i32x2 r13 = first_x2(r5 - r12);
            const long r14 = r12 * r6 + r0;
            f64x2 r15 = splat_f64x2((-0x1p+0));
            for (long l = 0; l < 2; ++l) if (r13[l]) r15[l] = b0[r14 + l * r6];
            *(f64x2m*)(b1 + r10 + first) = r15;
          }
      } else {
        for (long first = 0; first < r9; first += 2)
          {
            const long n = index_min(r9 - first, 2);
            const long r11 = first;
            const long r12 = r7 + r11;
            const i32x2 r13 = first_x2(r5 - r12);
            const long r14 = r12 * r6 + r0;
            f64x2 r15 = splat_f64x2((-0x1p+0));
            for (long l = 0; l < n; ++l) if (r13[l]) r15[l] = b0[r14 + l * r6];
            store_part(b1 + r10 + first, r15, n);
          }
      }
    }
  }
}
