extern "C" __global__ void __launch_bounds__(256) k_scatter(const int* b0, const float* b1, float* b2, long long e0, long long e1, long long e2, long long e3, long long e4) {
  const int r7 = (int)e1;
  const int r8 = (int)e2;
  const int r9 = (int)e3;
  const int r10 = (int)e4;
  const int r11 = (int)e0;
  {
    const int r12 = threadIdx.x;
    const bool r13 = r12 < 4;
    const int r14 = r12 * 8;
    for (int r15 = 0; r15 < r7; r15 += 1) {
      const int r16 = r15 * r8 + r14;
      if (r13) {
        {
          store_all<8>(b2 + r16, 0x0p+0f);
        }
      }
    }
    for (int r18 = 0; r18 < r11; r18 += 1) {
      const int r19 = b0[r18];
      const int r20 = (int)r19;
      const bool r21 = r20 < 100;
      const bool r22 = (-1) < r20;
      const bool r23 = r22 & r21;
      const int r24 = r18 * r9 + r14;
      const int r25 = r20 * r10 + r14;
      if (r23) {
        if (r13) {
          {
            float r27[8];
            load(r27, b1 + r24);
            float r28[8];
            load(r28, b2 + r25);
            float r29[8];
            #pragma unroll
            for (int l = 0; l < 8; ++l) {
              r29[l] = r28[l] + r27[l];
            }
            store(b2 + r25, r29);
          }
        }
      }
    }
  }
}
