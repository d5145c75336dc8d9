extern "C" __global__ void __launch_bounds__(256) k_row_reduce(const float* b0, float* b1) {
  const int r0 = blockIdx.x;
  alignas(16) __shared__ float l0[256];
  const int r9 = r0 * 600;
  {
    const int r11 = threadIdx.x;
    float l1[4];
    {
      #pragma unroll
      for (int l = 0; l < 4; ++l) {
        l1[l] = real(0xff800000u);
      }
    }
    const bool r13 = r11 < 150;
    const int r14 = r11 * 4 + r9;
    if (r13) {
      {
        float r16[4];
        load(r16, b0 + r14);
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
          const float r17 = l1[l];
          const float r18 = maximum(r17, r16[l]);
          l1[l] = r18;
        }
      }
    }
    const float r19 = l1[0];
    const float r20 = l1[1];
    const float r21 = l1[2];
    const float r22 = l1[3];
    const float r23 = maximum(r19, r21);
    const float r24 = maximum(r20, r22);
    const float r25 = maximum(r23, r24);
    l0[r11] = r25;
  }
  __syncthreads();
  {
    const int r27 = threadIdx.x;
    const bool r28 = r27 < 128;
    const int r29 = r27 + 128;
    if (r28) {
      const float r30 = l0[r29];
      const float r31 = l0[r27];
      const float r32 = maximum(r31, r30);
      l0[r27] = r32;
    }
  }
  __syncthreads();
  {
    const int r34 = threadIdx.x;
    const bool r35 = r34 < 64;
    const int r36 = r34 + 64;
    if (r35) {
      const float r37 = l0[r36];
      const float r38 = l0[r34];
      const float r39 = maximum(r38, r37);
      l0[r34] = r39;
    }
  }
  __syncthreads();
  {
    const int r41 = threadIdx.x;
    const bool r42 = r41 < 32;
    const int r43 = r41 + 32;
    if (r42) {
      const float r44 = l0[r43];
      const float r45 = l0[r41];
      const float r46 = maximum(r45, r44);
      l0[r41] = r46;
    }
  }
  __syncthreads();
  {
    const int r48 = threadIdx.x;
    const bool r49 = r48 < 16;
    const int r50 = r48 + 16;
    if (r49) {
      const float r51 = l0[r50];
      const float r52 = l0[r48];
      const float r53 = maximum(r52, r51);
      l0[r48] = r53;
    }
  }
  __syncthreads();
  {
    const int r55 = threadIdx.x;
    const bool r56 = r55 < 8;
    const int r57 = r55 + 8;
    if (r56) {
      const float r58 = l0[r57];
      const float r59 = l0[r55];
      const float r60 = maximum(r59, r58);
      l0[r55] = r60;
    }
  }
  __syncthreads();
  {
    const int r61 = threadIdx.x;
    const bool r62 = r61 < 4;
    const int r63 = r61 + 4;
    if (r62) {
      const float r64 = l0[r63];
      const float r65 = l0[r61];
      const float r66 = maximum(r65, r64);
      l0[r61] = r66;
    }
  }
  __syncthreads();
  {
    const int r67 = threadIdx.x;
    const bool r68 = r67 < 2;
    const int r69 = r67 + 2;
    if (r68) {
      const float r70 = l0[r69];
      const float r71 = l0[r67];
      const float r72 = maximum(r71, r70);
      l0[r67] = r72;
    }
  }
  __syncthreads();
  {
    const int r73 = threadIdx.x;
    const bool r74 = r73 < 1;
    const int r75 = r73 + 1;
    if (r74) {
      const float r76 = l0[r75];
      const float r77 = l0[r73];
      const float r78 = maximum(r77, r76);
      l0[r73] = r78;
    }
  }
  __syncthreads();
  alignas(16) __shared__ float l2[256];
  {
    const int r95 = threadIdx.x;
    const float r96 = l0[0];
    float l3[4];
    {
      #pragma unroll
      for (int l = 0; l < 4; ++l) {
        l3[l] = 0x0p+0f;
      }
    }
    const bool r98 = r95 < 150;
    const int r99 = r95 * 4 + r9;
    if (r98) {
      {
        float r101[4];
        load(r101, b0 + r99);
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
          const float r102 = r101[l] - r96;
          const float r103 = maximum(r102, (-0x1.ap+6f));
          const float r104 = minimum(r103, 0x1.64p+6f);
          const float r105 = fused(r104, 0x1.715476p+0f, 0x1p-1f);
          const float r106 = round_down(r105);
          const float r107 = fused(r106, (-0x1.62e43p-1f), r104);
          const float r108 = fused(r106, 0x1.05c61p-29f, r107);
          const float r109 = fused(0x1.6ab8d2p-10f, r108, 0x1.123d72p-7f);
          const float r110 = fused(r109, r108, 0x1.55585ap-5f);
          const float r111 = fused(r110, r108, 0x1.55548cp-3f);
          const float r112 = fused(r111, r108, 0x1.fffffcp-2f);
          const int r113 = (int)r106;
          const float r114 = r108 * r108;
          const float r115 = fused(r112, r114, r108);
          const float r116 = r115 + 0x1p+0f;
          const int r117 = r113 >> 1;
          const int r118 = (int)((u32)r113 - (u32)r117);
          const int r119 = (int)((u32)r118 + (u32)127);
          const int r120 = (int)((u32)r119 << 23);
          const float r121 = real((u32)r120);
          const int r122 = (int)((u32)r117 + (u32)127);
          const int r123 = (int)((u32)r122 << 23);
          const float r124 = real((u32)r123);
          const float r125 = r116 * r124;
          const float r126 = r125 * r121;
          const float r127 = l3[l];
          const float r128 = r127 + r126;
          l3[l] = r128;
        }
      }
    }
    const float r129 = l3[0];
    const float r130 = l3[1];
    const float r131 = l3[2];
    const float r132 = l3[3];
    const float r133 = r129 + r131;
    const float r134 = r130 + r132;
    const float r135 = r133 + r134;
    l2[r95] = r135;
  }
  __syncthreads();
  {
    const int r136 = threadIdx.x;
    const bool r137 = r136 < 128;
    const int r138 = r136 + 128;
    if (r137) {
      const float r139 = l2[r138];
      const float r140 = l2[r136];
      const float r141 = r140 + r139;
      l2[r136] = r141;
    }
  }
  __syncthreads();
  {
    const int r142 = threadIdx.x;
    const bool r143 = r142 < 64;
    const int r144 = r142 + 64;
    if (r143) {
      const float r145 = l2[r144];
      const float r146 = l2[r142];
      const float r147 = r146 + r145;
      l2[r142] = r147;
    }
  }
  __syncthreads();
  {
    const int r148 = threadIdx.x;
    const bool r149 = r148 < 32;
    const int r150 = r148 + 32;
    if (r149) {
      const float r151 = l2[r150];
      const float r152 = l2[r148];
      const float r153 = r152 + r151;
      l2[r148] = r153;
    }
  }
  __syncthreads();
  {
    const int r154 = threadIdx.x;
    const bool r155 = r154 < 16;
    const int r156 = r154 + 16;
    if (r155) {
      const float r157 = l2[r156];
      const float r158 = l2[r154];
      const float r159 = r158 + r157;
      l2[r154] = r159;
    }
  }
  __syncthreads();
  {
    const int r160 = threadIdx.x;
    const bool r161 = r160 < 8;
    const int r162 = r160 + 8;
    if (r161) {
      const float r163 = l2[r162];
      const float r164 = l2[r160];
      const float r165 = r164 + r163;
      l2[r160] = r165;
    }
  }
  __syncthreads();
  {
    const int r166 = threadIdx.x;
    const bool r167 = r166 < 4;
    const int r168 = r166 + 4;
    if (r167) {
      const float r169 = l2[r168];
      const float r170 = l2[r166];
      const float r171 = r170 + r169;
      l2[r166] = r171;
    }
  }
  __syncthreads();
  {
    const int r172 = threadIdx.x;
    const bool r173 = r172 < 2;
    const int r174 = r172 + 2;
    if (r173) {
      const float r175 = l2[r174];
      const float r176 = l2[r172];
      const float r177 = r176 + r175;
      l2[r172] = r177;
    }
  }
  __syncthreads();
  {
    const int r178 = threadIdx.x;
    const bool r179 = r178 < 1;
    const int r180 = r178 + 1;
    if (r179) {
      const float r181 = l2[r180];
      const float r182 = l2[r178];
      const float r183 = r182 + r181;
      l2[r178] = r183;
    }
  }
  __syncthreads();
  {
    const int r184 = threadIdx.x;
    const float r185 = l0[0];
    const float r186 = l2[0];
    const bool r187 = r184 < 150;
    const int r188 = r184 * 4 + r9;
    if (r187) {
      {
        float r190[4];
        load(r190, b0 + r188);
        float r216[4];
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
          const float r191 = r190[l] - r185;
          const float r192 = maximum(r191, (-0x1.ap+6f));
          const float r193 = minimum(r192, 0x1.64p+6f);
          const float r194 = fused(r193, 0x1.715476p+0f, 0x1p-1f);
          const float r195 = round_down(r194);
          const float r196 = fused(r195, (-0x1.62e43p-1f), r193);
          const float r197 = fused(r195, 0x1.05c61p-29f, r196);
          const float r198 = fused(0x1.6ab8d2p-10f, r197, 0x1.123d72p-7f);
          const float r199 = fused(r198, r197, 0x1.55585ap-5f);
          const float r200 = fused(r199, r197, 0x1.55548cp-3f);
          const float r201 = fused(r200, r197, 0x1.fffffcp-2f);
          const int r202 = (int)r195;
          const float r203 = r197 * r197;
          const float r204 = fused(r201, r203, r197);
          const float r205 = r204 + 0x1p+0f;
          const int r206 = r202 >> 1;
          const int r207 = (int)((u32)r202 - (u32)r206);
          const int r208 = (int)((u32)r207 + (u32)127);
          const int r209 = (int)((u32)r208 << 23);
          const float r210 = real((u32)r209);
          const int r211 = (int)((u32)r206 + (u32)127);
          const int r212 = (int)((u32)r211 << 23);
          const float r213 = real((u32)r212);
          const float r214 = r205 * r213;
          const float r215 = r214 * r210;
          r216[l] = r215 / r186;
        }
        store(b1 + r188, r216);
      }
    }
  }
}
