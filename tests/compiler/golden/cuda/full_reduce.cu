extern "C" __global__ void __launch_bounds__(256) k_full_reduce(const float* b0, float* b1, float* b2, u32* b3, long long e0, long long e1, long long e2) {
  const int r0 = blockIdx.x;
  alignas(16) __shared__ float l0[256];
  const int r3 = (int)e0;
  const int r4 = (int)e1;
  const int r6 = r0 * r4;
  const int r7 = r3 - r6;
  const int r8 = r4 < r7 ? r4 : r7;
  const int r12 = r8 + 3;
  const int r13 = r12 / 4;
  const int r15 = r13 + 255;
  const int r16 = r15 / 256;
  {
    const int r19 = threadIdx.x;
    float l1[4];
    {
      #pragma unroll
      for (int l = 0; l < 4; ++l) {
        l1[l] = 0x0p+0f;
      }
    }
    const int r21 = r19 * 4;
    const int r22 = r19 * 4 + r6;
    for (int r23 = 0; r23 < r16; r23 += 1) {
      const int r24 = r23 * 256 + r19;
      const bool r25 = r24 < r13;
      const int r26 = r23 * 1024 + r21;
      const int r27 = r8 - r26;
      const int r28 = 4 < r27 ? 4 : r27;
      const int r29 = r23 * 1024 + r22;
      if (r25) {
        if (r28 > 0) {
          #pragma unroll
          for (int l = 0; l < 4; ++l) if (l < r28) {
            const float r31 = b0[r29 + l];
            const float r32 = r31 * r31;
            const float r33 = l1[l];
            const float r34 = r33 + r32;
            l1[l] = r34;
          }
        }
      }
    }
    const float r35 = l1[0];
    const float r36 = l1[1];
    const float r37 = l1[2];
    const float r38 = l1[3];
    const float r39 = r35 + r37;
    const float r40 = r36 + r38;
    const float r41 = r39 + r40;
    l0[r19] = r41;
  }
  __syncthreads();
  {
    const int r43 = threadIdx.x;
    const bool r44 = r43 < 128;
    const int r45 = r43 + 128;
    if (r44) {
      const float r46 = l0[r45];
      const float r47 = l0[r43];
      const float r48 = r47 + r46;
      l0[r43] = r48;
    }
  }
  __syncthreads();
  {
    const int r50 = threadIdx.x;
    const bool r51 = r50 < 64;
    const int r52 = r50 + 64;
    if (r51) {
      const float r53 = l0[r52];
      const float r54 = l0[r50];
      const float r55 = r54 + r53;
      l0[r50] = r55;
    }
  }
  __syncthreads();
  {
    const int r57 = threadIdx.x;
    const bool r58 = r57 < 32;
    const int r59 = r57 + 32;
    if (r58) {
      const float r60 = l0[r59];
      const float r61 = l0[r57];
      const float r62 = r61 + r60;
      l0[r57] = r62;
    }
  }
  __syncthreads();
  {
    const int r64 = threadIdx.x;
    const bool r65 = r64 < 16;
    const int r66 = r64 + 16;
    if (r65) {
      const float r67 = l0[r66];
      const float r68 = l0[r64];
      const float r69 = r68 + r67;
      l0[r64] = r69;
    }
  }
  __syncthreads();
  {
    const int r71 = threadIdx.x;
    const bool r72 = r71 < 8;
    const int r73 = r71 + 8;
    if (r72) {
      const float r74 = l0[r73];
      const float r75 = l0[r71];
      const float r76 = r75 + r74;
      l0[r71] = r76;
    }
  }
  __syncthreads();
  {
    const int r77 = threadIdx.x;
    const bool r78 = r77 < 4;
    const int r79 = r77 + 4;
    if (r78) {
      const float r80 = l0[r79];
      const float r81 = l0[r77];
      const float r82 = r81 + r80;
      l0[r77] = r82;
    }
  }
  __syncthreads();
  {
    const int r83 = threadIdx.x;
    const bool r84 = r83 < 2;
    const int r85 = r83 + 2;
    if (r84) {
      const float r86 = l0[r85];
      const float r87 = l0[r83];
      const float r88 = r87 + r86;
      l0[r83] = r88;
    }
  }
  __syncthreads();
  {
    const int r89 = threadIdx.x;
    const bool r90 = r89 < 1;
    const int r91 = r89 + 1;
    if (r90) {
      const float r92 = l0[r91];
      const float r93 = l0[r89];
      const float r94 = r93 + r92;
      l0[r89] = r94;
    }
  }
  __syncthreads();
  {
    const int r95 = threadIdx.x;
    const bool r96 = r95 < 1;
    if (r96) {
      const float r97 = l0[0];
      b2[r0] = r97;
    }
  }
  const int r98 = (int)e2;
  __threadfence();
  __syncthreads();
  __shared__ bool last3;
  if (threadIdx.x == 0) last3 = atomicInc(b3, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last3) {
    __threadfence();
    {
      const int r99 = threadIdx.x;
      const bool r100 = r99 < 1;
      if (r100) {
        float l2[4];
        const float r101 = b2[0];
        l2[0] = r101;
        for (int r102 = 1; r102 < r98; r102 += 1) {
          const float r103 = b2[r102];
          const float r104 = l2[0];
          const float r105 = r104 + r103;
          l2[0] = r105;
        }
        const float r106 = l2[0];
        const float r107 = root(r106);
        b1[0] = r107;
      }
    }
  }
}
