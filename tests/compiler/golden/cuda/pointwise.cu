extern "C" __global__ void __launch_bounds__(256) k_pointwise(const float* b0, const float* b1, float* b2, long long e0, long long e1, long long e2, long long e3, long long e4) {
  const int r7 = (int)e2;
  const int r8 = (int)e3;
  const int r9 = (int)e4;
  const int r10 = blockIdx.x;
  const int r11 = (int)e0;
  const int r12 = r10 * r11;
  const int r13 = (int)e1;
  const int r14 = r13 - r12;
  const int r15 = r11 < r14 ? r11 : r14;
  const int r16 = r15 * 6;
  const int r17 = r16 + 255;
  const int r18 = r12 * r7;
  {
    const int r19 = threadIdx.x;
    const int r20 = r17 - r19;
    const int r21 = r20 / 256;
    const int r22 = r19 * 8 + r18;
    for (int r23 = 0; r23 < r21; r23 += 1) {
      const int r24 = r23 * r8 + r22;
      const int r25 = r23 * r9 + r19;
      const int r26 = r25 % 6;
      const int r27 = r26 * 8;
      {
        float r29[8];
        load(r29, b0 + r24);
        float r30[8];
        load(r30, b1 + r27);
        float r34[8];
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          const float r31 = r29[l] * r30[l];
          const float r32 = r31 + 0x1p+0f;
          const bool r33 = r32 < 0x0p+0f;
          r34[l] = r33 ? 0x0p+0f : r32;
        }
        store(b2 + r24, r34);
      }
    }
  }
}
