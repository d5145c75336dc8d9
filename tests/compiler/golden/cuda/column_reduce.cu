extern "C" __global__ void __launch_bounds__(256) k_column_reduce(const float* b0, float* b1, float* b2, float* b3, float* b4, u32* b5, long long e0, long long e1, long long e2) {
  const int r0 = blockIdx.x;
  alignas(16) __shared__ float l0[1024];
  alignas(16) __shared__ float l1[1024];
  const int r7 = (int)e0;
  const int r8 = (int)e1;
  const int r9 = r0 * r8;
  const int r10 = r7 - r9;
  const int r11 = r8 < r10 ? r8 : r10;
  const int r12 = r9 * 48;
  const int r15 = r11 + 15;
  const int r16 = r15 / 16;
  {
    const int r18 = threadIdx.x;
    const int r19 = r18 % 16;
    const int r20 = r19 * 4;
    const bool r21 = r20 < 48;
    const int r22 = r19 * 4 + r12;
    const int r23 = r18 / 16;
    const int r24 = r23 * 48 + r22;
    const int r25 = r18 * 4;
    if (r21) {
      {
        float r27[4];
        load(r27, b0 + r22);
        float l2[4];
        float l3[4];
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
          l2[l] = 0x0p+0f;
          l3[l] = 0x0p+0f;
        }
        for (int r28 = 0; r28 < r16; r28 += 1) {
          const int r29 = r28 * 16 + r23;
          const bool r30 = r29 < r11;
          const int r31 = r28 * 768 + r24;
          if (r30) {
            float r32[4];
            load(r32, b0 + r31);
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
              const float r33 = l2[l];
              const float r34 = l3[l];
              const float r35 = r32[l] - r27[l];
              const float r36 = r33 + r35;
              const float r37 = fused(r35, r35, r34);
              l2[l] = r36;
              l3[l] = r37;
            }
          }
        }
        float r38[4];
        float r39[4];
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
          r38[l] = l2[l];
          r39[l] = l3[l];
        }
        store(l0 + r25, r38);
        store(l1 + r25, r39);
      }
    }
  }
  __syncthreads();
  {
    const int r42 = threadIdx.x;
    const bool r43 = r42 < 128;
    const int r44 = r42 % 16;
    const int r45 = r44 * 4;
    const bool r46 = r45 < 48;
    const int r47 = r42 * 4;
    const int r48 = r47 + 512;
    if (r43) {
      if (r46) {
        {
          float r50[4];
          load(r50, l0 + r48);
          float r51[4];
          load(r51, l1 + r48);
          float r52[4];
          load(r52, l0 + r47);
          float r53[4];
          load(r53, l1 + r47);
          float r54[4];
          float r55[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            r54[l] = r52[l] + r50[l];
            r55[l] = r53[l] + r51[l];
          }
          store(l0 + r47, r54);
          store(l1 + r47, r55);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r57 = threadIdx.x;
    const bool r58 = r57 < 64;
    const int r59 = r57 % 16;
    const int r60 = r59 * 4;
    const bool r61 = r60 < 48;
    const int r62 = r57 * 4;
    const int r63 = r62 + 256;
    if (r58) {
      if (r61) {
        {
          float r65[4];
          load(r65, l0 + r63);
          float r66[4];
          load(r66, l1 + r63);
          float r67[4];
          load(r67, l0 + r62);
          float r68[4];
          load(r68, l1 + r62);
          float r69[4];
          float r70[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            r69[l] = r67[l] + r65[l];
            r70[l] = r68[l] + r66[l];
          }
          store(l0 + r62, r69);
          store(l1 + r62, r70);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r72 = threadIdx.x;
    const bool r73 = r72 < 32;
    const int r74 = r72 % 16;
    const int r75 = r74 * 4;
    const bool r76 = r75 < 48;
    const int r77 = r72 * 4;
    const int r78 = r77 + 128;
    if (r73) {
      if (r76) {
        {
          float r80[4];
          load(r80, l0 + r78);
          float r81[4];
          load(r81, l1 + r78);
          float r82[4];
          load(r82, l0 + r77);
          float r83[4];
          load(r83, l1 + r77);
          float r84[4];
          float r85[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            r84[l] = r82[l] + r80[l];
            r85[l] = r83[l] + r81[l];
          }
          store(l0 + r77, r84);
          store(l1 + r77, r85);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r86 = threadIdx.x;
    const bool r87 = r86 < 16;
    const int r88 = r86 % 16;
    const int r89 = r88 * 4;
    const bool r90 = r89 < 48;
    const int r91 = r86 * 4;
    const int r92 = r91 + 64;
    if (r87) {
      if (r90) {
        {
          float r94[4];
          load(r94, l0 + r92);
          float r95[4];
          load(r95, l1 + r92);
          float r96[4];
          load(r96, l0 + r91);
          float r97[4];
          load(r97, l1 + r91);
          float r98[4];
          float r99[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            r98[l] = r96[l] + r94[l];
            r99[l] = r97[l] + r95[l];
          }
          store(l0 + r91, r98);
          store(l1 + r91, r99);
        }
      }
    }
  }
  __syncthreads();
  const float r100 = (float)r11;
  const int r101 = r0 * 48;
  {
    const int r102 = threadIdx.x;
    const bool r103 = r102 < 16;
    const int r104 = r102 % 16;
    const int r105 = r104 * 4;
    const bool r106 = r105 < 48;
    const int r107 = r102 * 4;
    const int r108 = r104 * 4 + r12;
    const int r109 = r104 * 4 + r101;
    if (r103) {
      if (r106) {
        {
          float r111[4];
          load(r111, b0 + r108);
          float r112[4];
          load(r112, l0 + r107);
          float r113[4];
          load(r113, l1 + r107);
          float r117[4];
          float r118[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            const float r114 = r112[l] / r100;
            const float r115 = r112[l] * r114;
            const float r116 = r113[l] - r115;
            r117[l] = r111[l] + r114;
            r118[l] = maximum(r116, 0x0p+0f);
          }
          store(b3 + r109, r117);
          store(b4 + r109, r118);
        }
      }
    }
  }
  const int r120 = (int)e2;
  const int r121 = r8 < r7 ? r8 : r7;
  const float r122 = (float)r7;
  __threadfence();
  __syncthreads();
  __shared__ bool last5;
  if (threadIdx.x == 0) last5 = atomicInc(b5, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last5) {
    __threadfence();
    {
      const int r123 = threadIdx.x;
      const bool r124 = r123 < 12;
      const int r125 = r123 * 4;
      if (r124) {
        {
          float l4[4];
          float l5[4];
          float r127[4];
          load(r127, b3 + r125);
          float r128[4];
          load(r128, b4 + r125);
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            l4[l] = r127[l];
            l5[l] = r128[l];
          }
          for (int r129 = 1; r129 < r120; r129 += 1) {
            const int r130 = r129 * r121;
            const int r131 = r129 * r8;
            const int r132 = r7 - r131;
            const int r133 = r8 < r132 ? r8 : r132;
            const float r134 = (float)r133;
            const float r135 = (float)r130;
            const int r136 = r129 * 48 + r125;
            float r137[4];
            load(r137, b3 + r136);
            float r138[4];
            load(r138, b4 + r136);
            const float r141 = r135 + r134;
            const float r142 = r134 / r141;
            const float r144 = r135 * r142;
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
              const float r139 = l4[l];
              const float r140 = l5[l];
              const float r143 = r137[l] - r139;
              const float r145 = r143 * r143;
              const float r146 = r145 * r144;
              const float r147 = r143 * r142;
              const float r148 = r139 + r147;
              const float r149 = r140 + r138[l];
              const float r150 = r149 + r146;
              l4[l] = r148;
              l5[l] = r150;
            }
          }
          float r151[4];
          float r153[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            r151[l] = l4[l];
            const float r152 = l5[l];
            r153[l] = r152 / r122;
          }
          store(b1 + r125, r151);
          store(b2 + r125, r153);
        }
      }
    }
  }
}
