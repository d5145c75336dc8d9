extern "C" __global__ void __launch_bounds__(256) k_pointwise(const float* b0, const float* b1, float* b2, long long e0) {
  const int r0 = blockIdx.x;
  const int r1 = (int)e0;
  const int r4 = r0 * 85;
  const int r5 = r1 - r4;
  const int r6 = 85 < r5 ? 85 : r5;
  const int r8 = r6 * 12;
  const int r12 = r0 * 4080;
  {
    const int r16 = threadIdx.x;
    const int r17 = r16 * 4 + r12;
    for (int r18 = 0; r18 < 4; r18 += 1) {
      const int r19 = r18 * 256 + r16;
      const bool r20 = r19 < r8;
      const int r21 = r18 * 1024 + r17;
      const int r22 = r19 % 12;
      const int r23 = r22 * 4;
      if (r20) {
        {
          float r25[4];
          load(r25, b0 + r21);
          float r26[4];
          load(r26, b1 + r23);
          float r30[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            const float r27 = r25[l] * r26[l];
            const float r28 = r27 + 0x1p+0f;
            const bool r29 = r28 < 0x0p+0f;
            r30[l] = r29 ? 0x0p+0f : r28;
          }
          store(b2 + r21, r30);
        }
      }
    }
  }
}
