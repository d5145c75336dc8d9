extern "C" __global__ void __launch_bounds__(256) k_scatter(const int* b0, const float* b1, float* b2, long long e0) {
  const int r7 = (int)e0;
  {
    const int r9 = threadIdx.x;
    const bool r10 = r9 < 8;
    const int r11 = r9 * 4;
    for (int r12 = 0; r12 < 100; r12 += 1) {
      const int r13 = r12 * 32 + r11;
      if (r10) {
        {
          store_all<4>(b2 + r13, 0x0p+0f);
        }
      }
    }
    for (int r15 = 0; r15 < r7; r15 += 1) {
      const int r16 = b0[r15];
      const int r17 = (int)r16;
      const bool r18 = r17 < 100;
      const bool r19 = (-1) < r17;
      const bool r20 = r19 & r18;
      const int r21 = r15 * 32 + r11;
      const int r22 = r17 * 32 + r11;
      if (r20) {
        if (r10) {
          {
            float r24[4];
            load(r24, b1 + r21);
            float r25[4];
            load(r25, b2 + r22);
            float r26[4];
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
              r26[l] = r25[l] + r24[l];
            }
            store(b2 + r22, r26);
          }
        }
      }
    }
  }
}
