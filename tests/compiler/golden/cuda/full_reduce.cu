extern "C" __global__ void __launch_bounds__(256) k_full_reduce(const float* b0, float* b1, float* b2, u32* b3, long long e0, long long e1, long long e2, long long e3, long long e4, long long e5) {
  const int r16 = (int)e4;
  const int r17 = (int)e5;
  const int r18 = blockIdx.x;
  const int r19 = (int)e0;
  const int r20 = r18 / r19;
  const int r21 = r18 % r19;
  alignas(16) __shared__ float l0[256];
  const int r22 = (int)e1;
  const int r23 = (int)e2;
  const int r24 = r20 * r23;
  const int r25 = r22 - r24;
  const int r26 = r23 < r25 ? r23 : r25;
  const int r27 = r26 + 7;
  const int r28 = r27 / 8;
  const int r29 = r28 + 255;
  {
    const int r30 = threadIdx.x;
    float l1[8];
    {
      #pragma unroll
      for (int l = 0; l < 8; ++l) {
        l1[l] = 0x0p+0f;
      }
    }
    const int r32 = r29 - r30;
    const int r33 = r32 / 256;
    const int r34 = r30 * 8;
    const int r35 = r30 * 8 + r24;
    #pragma unroll 4
    for (int r36 = 0; r36 < r33; r36 += 1) {
      const int r37 = r36 * r16 + r34;
      const int r38 = r26 - r37;
      const int r39 = 8 < r38 ? 8 : r38;
      const int r40 = r36 * r17 + r35;
      if (r39 > 0) {
        float r42[8];
        load(r42, b0 + r40, r39);
        #pragma unroll
        for (int l = 0; l < 8; ++l) if (l < r39) {
          const float r43 = r42[l] * r42[l];
          const float r44 = l1[l];
          const float r45 = r44 + r43;
          l1[l] = r45;
        }
      }
    }
    const float r46 = l1[0];
    const float r47 = l1[1];
    const float r48 = l1[2];
    const float r49 = l1[3];
    const float r50 = l1[4];
    const float r51 = l1[5];
    const float r52 = l1[6];
    const float r53 = l1[7];
    const float r54 = r46 + r50;
    const float r55 = r47 + r51;
    const float r56 = r48 + r52;
    const float r57 = r49 + r53;
    const float r58 = r54 + r56;
    const float r59 = r55 + r57;
    const float r60 = r58 + r59;
    l0[r30] = r60;
  }
  __syncthreads();
  {
    const int r61 = threadIdx.x;
    const bool r62 = r61 < 128;
    const int r63 = r61 + 128;
    if (r62) {
      const float r64 = l0[r63];
      const float r65 = l0[r61];
      const float r66 = r65 + r64;
      l0[r61] = r66;
    }
  }
  __syncthreads();
  {
    const int r67 = threadIdx.x;
    const bool r68 = r67 < 64;
    const int r69 = r67 + 64;
    if (r68) {
      const float r70 = l0[r69];
      const float r71 = l0[r67];
      const float r72 = r71 + r70;
      l0[r67] = r72;
    }
  }
  __syncthreads();
  {
    const int r73 = threadIdx.x;
    const bool r74 = r73 < 32;
    const int r75 = r73 + 32;
    if (r74) {
      const float r76 = l0[r75];
      const float r77 = l0[r73];
      const float r78 = r77 + r76;
      l0[r73] = r78;
    }
  }
  __syncthreads();
  {
    const int r79 = threadIdx.x;
    const bool r80 = r79 < 16;
    const int r81 = r79 + 16;
    if (r80) {
      const float r82 = l0[r81];
      const float r83 = l0[r79];
      const float r84 = r83 + r82;
      l0[r79] = r84;
    }
  }
  __syncthreads();
  {
    const int r85 = threadIdx.x;
    const bool r86 = r85 < 8;
    const int r87 = r85 + 8;
    if (r86) {
      const float r88 = l0[r87];
      const float r89 = l0[r85];
      const float r90 = r89 + r88;
      l0[r85] = r90;
    }
  }
  __syncthreads();
  {
    const int r91 = threadIdx.x;
    const bool r92 = r91 < 4;
    const int r93 = r91 + 4;
    if (r92) {
      const float r94 = l0[r93];
      const float r95 = l0[r91];
      const float r96 = r95 + r94;
      l0[r91] = r96;
    }
  }
  __syncthreads();
  {
    const int r97 = threadIdx.x;
    const bool r98 = r97 < 2;
    const int r99 = r97 + 2;
    if (r98) {
      const float r100 = l0[r99];
      const float r101 = l0[r97];
      const float r102 = r101 + r100;
      l0[r97] = r102;
    }
  }
  __syncthreads();
  {
    const int r103 = threadIdx.x;
    const bool r104 = r103 < 1;
    const int r105 = r103 + 1;
    if (r104) {
      const float r106 = l0[r105];
      const float r107 = l0[r103];
      const float r108 = r107 + r106;
      l0[r103] = r108;
    }
  }
  __syncthreads();
  {
    const int r109 = threadIdx.x;
    const bool r110 = r109 < 1;
    if (r110) {
      const float r111 = l0[0];
      b2[r20] = r111;
    }
  }
  const int r112 = (int)e3;
  const int r113 = r112 + 255;
  const int r114 = r113 / 256;
  const int r115 = r23 < r22 ? r23 : r22;
  __threadfence();
  __syncthreads();
  __shared__ bool last3;
  if (threadIdx.x == 0) last3 = atomicInc(b3 + r21, (u32)r112 - 1) == (u32)r112 - 1;
  __syncthreads();
  if (last3) {
    __threadfence();
    alignas(16) __shared__ int l2[256];
    {
      const int r116 = threadIdx.x;
      const int r117 = r116 * r114;
      const int r118 = r117 < r112 ? r117 : r112;
      const int r119 = r118 + r114;
      const int r120 = r119 < r112 ? r119 : r112;
      float l3[8];
      l3[0] = 0x0p+0f;
      #pragma unroll 4
      for (int r121 = r118; r121 < r120; r121 += 1) {
        const float r122 = b2[r121];
        const float r123 = l3[0];
        const float r124 = r123 + r122;
        l3[0] = r124;
      }
      const float r125 = l3[0];
      l0[r116] = r125;
      const int r126 = r120 - 1;
      const int r127 = r126 - r118;
      const int r128 = r127 * r115;
      l2[r116] = 0;
      const bool r129 = r118 < r120;
      const int r130 = r126 * r23;
      const int r131 = r22 - r130;
      const int r132 = r23 < r131 ? r23 : r131;
      const int r133 = r128 + r132;
      if (r129) {
        l2[r116] = r133;
      }
    }
    __syncthreads();
    {
      const int r134 = threadIdx.x;
      const bool r135 = r134 < 128;
      const int r136 = r134 + 128;
      if (r135) {
        const int r137 = l2[r134];
        const int r138 = l2[r136];
        const bool r139 = 0 < r138;
        const int r140 = r137 + r138;
        if (r139) {
          const float r141 = l0[r136];
          const float r142 = l0[r134];
          const float r143 = r142 + r141;
          l0[r134] = r143;
          l2[r134] = r140;
        }
      }
    }
    __syncthreads();
    {
      const int r144 = threadIdx.x;
      const bool r145 = r144 < 64;
      const int r146 = r144 + 64;
      if (r145) {
        const int r147 = l2[r144];
        const int r148 = l2[r146];
        const bool r149 = 0 < r148;
        const int r150 = r147 + r148;
        if (r149) {
          const float r151 = l0[r146];
          const float r152 = l0[r144];
          const float r153 = r152 + r151;
          l0[r144] = r153;
          l2[r144] = r150;
        }
      }
    }
    __syncthreads();
    {
      const int r154 = threadIdx.x;
      const bool r155 = r154 < 32;
      const int r156 = r154 + 32;
      if (r155) {
        const int r157 = l2[r154];
        const int r158 = l2[r156];
        const bool r159 = 0 < r158;
        const int r160 = r157 + r158;
        if (r159) {
          const float r161 = l0[r156];
          const float r162 = l0[r154];
          const float r163 = r162 + r161;
          l0[r154] = r163;
          l2[r154] = r160;
        }
      }
    }
    __syncthreads();
    {
      const int r164 = threadIdx.x;
      const bool r165 = r164 < 16;
      const int r166 = r164 + 16;
      if (r165) {
        const int r167 = l2[r164];
        const int r168 = l2[r166];
        const bool r169 = 0 < r168;
        const int r170 = r167 + r168;
        if (r169) {
          const float r171 = l0[r166];
          const float r172 = l0[r164];
          const float r173 = r172 + r171;
          l0[r164] = r173;
          l2[r164] = r170;
        }
      }
    }
    __syncthreads();
    {
      const int r174 = threadIdx.x;
      const bool r175 = r174 < 8;
      const int r176 = r174 + 8;
      if (r175) {
        const int r177 = l2[r174];
        const int r178 = l2[r176];
        const bool r179 = 0 < r178;
        const int r180 = r177 + r178;
        if (r179) {
          const float r181 = l0[r176];
          const float r182 = l0[r174];
          const float r183 = r182 + r181;
          l0[r174] = r183;
          l2[r174] = r180;
        }
      }
    }
    __syncthreads();
    {
      const int r184 = threadIdx.x;
      const bool r185 = r184 < 4;
      const int r186 = r184 + 4;
      if (r185) {
        const int r187 = l2[r184];
        const int r188 = l2[r186];
        const bool r189 = 0 < r188;
        const int r190 = r187 + r188;
        if (r189) {
          const float r191 = l0[r186];
          const float r192 = l0[r184];
          const float r193 = r192 + r191;
          l0[r184] = r193;
          l2[r184] = r190;
        }
      }
    }
    __syncthreads();
    {
      const int r194 = threadIdx.x;
      const bool r195 = r194 < 2;
      const int r196 = r194 + 2;
      if (r195) {
        const int r197 = l2[r194];
        const int r198 = l2[r196];
        const bool r199 = 0 < r198;
        const int r200 = r197 + r198;
        if (r199) {
          const float r201 = l0[r196];
          const float r202 = l0[r194];
          const float r203 = r202 + r201;
          l0[r194] = r203;
          l2[r194] = r200;
        }
      }
    }
    __syncthreads();
    {
      const int r204 = threadIdx.x;
      const bool r205 = r204 < 1;
      const int r206 = r204 + 1;
      if (r205) {
        const int r207 = l2[r204];
        const int r208 = l2[r206];
        const bool r209 = 0 < r208;
        const int r210 = r207 + r208;
        if (r209) {
          const float r211 = l0[r206];
          const float r212 = l0[r204];
          const float r213 = r212 + r211;
          l0[r204] = r213;
          l2[r204] = r210;
        }
      }
    }
    __syncthreads();
    {
      const int r214 = threadIdx.x;
      const bool r215 = r214 < 1;
      if (r215) {
        const float r216 = l0[r214];
        const float r217 = root(r216);
        b1[0] = r217;
      }
    }
  }
}
