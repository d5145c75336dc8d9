extern "C" __global__ void __launch_bounds__(256) k_row_reduce(const float* b0, float* b1, long long e0) {
  const int r32 = (int)e0;
  const int r33 = blockIdx.x;
  alignas(16) __shared__ float l0[256];
  const int r34 = r33 * r32;
  {
    const int r35 = threadIdx.x;
    float l1[8];
    {
      #pragma unroll
      for (int l = 0; l < 8; ++l) {
        l1[l] = real(0xff800000u);
      }
    }
    const bool r37 = r35 < 75;
    const int r38 = r35 * 8 + r34;
    if (r37) {
      {
        float r40[8];
        load(r40, b0 + r38);
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          const float r41 = l1[l];
          const float r42 = maximum(r41, r40[l]);
          l1[l] = r42;
        }
      }
    }
    const float r43 = l1[0];
    const float r44 = l1[1];
    const float r45 = l1[2];
    const float r46 = l1[3];
    const float r47 = l1[4];
    const float r48 = l1[5];
    const float r49 = l1[6];
    const float r50 = l1[7];
    const float r51 = maximum(r43, r47);
    const float r52 = maximum(r44, r48);
    const float r53 = maximum(r45, r49);
    const float r54 = maximum(r46, r50);
    const float r55 = maximum(r51, r53);
    const float r56 = maximum(r52, r54);
    const float r57 = maximum(r55, r56);
    l0[r35] = r57;
  }
  __syncthreads();
  {
    const int r58 = threadIdx.x;
    const bool r59 = r58 < 128;
    const int r60 = r58 + 128;
    if (r59) {
      const float r61 = l0[r60];
      const float r62 = l0[r58];
      const float r63 = maximum(r62, r61);
      l0[r58] = r63;
    }
  }
  __syncthreads();
  {
    const int r64 = threadIdx.x;
    const bool r65 = r64 < 64;
    const int r66 = r64 + 64;
    if (r65) {
      const float r67 = l0[r66];
      const float r68 = l0[r64];
      const float r69 = maximum(r68, r67);
      l0[r64] = r69;
    }
  }
  __syncthreads();
  {
    const int r70 = threadIdx.x;
    const bool r71 = r70 < 32;
    const int r72 = r70 + 32;
    if (r71) {
      const float r73 = l0[r72];
      const float r74 = l0[r70];
      const float r75 = maximum(r74, r73);
      l0[r70] = r75;
    }
  }
  __syncthreads();
  {
    const int r76 = threadIdx.x;
    const bool r77 = r76 < 16;
    const int r78 = r76 + 16;
    if (r77) {
      const float r79 = l0[r78];
      const float r80 = l0[r76];
      const float r81 = maximum(r80, r79);
      l0[r76] = r81;
    }
  }
  __syncthreads();
  {
    const int r82 = threadIdx.x;
    const bool r83 = r82 < 8;
    const int r84 = r82 + 8;
    if (r83) {
      const float r85 = l0[r84];
      const float r86 = l0[r82];
      const float r87 = maximum(r86, r85);
      l0[r82] = r87;
    }
  }
  __syncthreads();
  {
    const int r88 = threadIdx.x;
    const bool r89 = r88 < 4;
    const int r90 = r88 + 4;
    if (r89) {
      const float r91 = l0[r90];
      const float r92 = l0[r88];
      const float r93 = maximum(r92, r91);
      l0[r88] = r93;
    }
  }
  __syncthreads();
  {
    const int r94 = threadIdx.x;
    const bool r95 = r94 < 2;
    const int r96 = r94 + 2;
    if (r95) {
      const float r97 = l0[r96];
      const float r98 = l0[r94];
      const float r99 = maximum(r98, r97);
      l0[r94] = r99;
    }
  }
  __syncthreads();
  {
    const int r100 = threadIdx.x;
    const bool r101 = r100 < 1;
    const int r102 = r100 + 1;
    if (r101) {
      const float r103 = l0[r102];
      const float r104 = l0[r100];
      const float r105 = maximum(r104, r103);
      l0[r100] = r105;
    }
  }
  __syncthreads();
  alignas(16) __shared__ float l2[256];
  {
    const int r106 = threadIdx.x;
    const float r107 = l0[0];
    float l3[8];
    {
      #pragma unroll
      for (int l = 0; l < 8; ++l) {
        l3[l] = 0x0p+0f;
      }
    }
    const bool r109 = r106 < 75;
    const int r110 = r106 * 8 + r34;
    if (r109) {
      {
        float r112[8];
        load(r112, b0 + r110);
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          const float r113 = r112[l] - r107;
          const float r114 = maximum(r113, (-0x1.ap+6f));
          const float r115 = minimum(r114, 0x1.64p+6f);
          const float r116 = fused(r115, 0x1.715476p+0f, 0x1p-1f);
          const float r117 = round_down(r116);
          const float r118 = fused(r117, (-0x1.62e43p-1f), r115);
          const float r119 = fused(r117, 0x1.05c61p-29f, r118);
          const float r120 = fused(0x1.6ab8d2p-10f, r119, 0x1.123d72p-7f);
          const float r121 = fused(r120, r119, 0x1.55585ap-5f);
          const float r122 = fused(r121, r119, 0x1.55548cp-3f);
          const float r123 = fused(r122, r119, 0x1.fffffcp-2f);
          const int r124 = (int)r117;
          const float r125 = r119 * r119;
          const float r126 = fused(r123, r125, r119);
          const float r127 = r126 + 0x1p+0f;
          const int r128 = r124 >> 1;
          const int r129 = (int)((u32)r124 - (u32)r128);
          const int r130 = (int)((u32)r129 + (u32)127);
          const int r131 = (int)((u32)r130 << 23);
          const float r132 = real((u32)r131);
          const int r133 = (int)((u32)r128 + (u32)127);
          const int r134 = (int)((u32)r133 << 23);
          const float r135 = real((u32)r134);
          const float r136 = r127 * r135;
          const float r137 = r136 * r132;
          const float r138 = l3[l];
          const float r139 = r138 + r137;
          l3[l] = r139;
        }
      }
    }
    const float r140 = l3[0];
    const float r141 = l3[1];
    const float r142 = l3[2];
    const float r143 = l3[3];
    const float r144 = l3[4];
    const float r145 = l3[5];
    const float r146 = l3[6];
    const float r147 = l3[7];
    const float r148 = r140 + r144;
    const float r149 = r141 + r145;
    const float r150 = r142 + r146;
    const float r151 = r143 + r147;
    const float r152 = r148 + r150;
    const float r153 = r149 + r151;
    const float r154 = r152 + r153;
    l2[r106] = r154;
  }
  __syncthreads();
  {
    const int r155 = threadIdx.x;
    const bool r156 = r155 < 128;
    const int r157 = r155 + 128;
    if (r156) {
      const float r158 = l2[r157];
      const float r159 = l2[r155];
      const float r160 = r159 + r158;
      l2[r155] = r160;
    }
  }
  __syncthreads();
  {
    const int r161 = threadIdx.x;
    const bool r162 = r161 < 64;
    const int r163 = r161 + 64;
    if (r162) {
      const float r164 = l2[r163];
      const float r165 = l2[r161];
      const float r166 = r165 + r164;
      l2[r161] = r166;
    }
  }
  __syncthreads();
  {
    const int r167 = threadIdx.x;
    const bool r168 = r167 < 32;
    const int r169 = r167 + 32;
    if (r168) {
      const float r170 = l2[r169];
      const float r171 = l2[r167];
      const float r172 = r171 + r170;
      l2[r167] = r172;
    }
  }
  __syncthreads();
  {
    const int r173 = threadIdx.x;
    const bool r174 = r173 < 16;
    const int r175 = r173 + 16;
    if (r174) {
      const float r176 = l2[r175];
      const float r177 = l2[r173];
      const float r178 = r177 + r176;
      l2[r173] = r178;
    }
  }
  __syncthreads();
  {
    const int r179 = threadIdx.x;
    const bool r180 = r179 < 8;
    const int r181 = r179 + 8;
    if (r180) {
      const float r182 = l2[r181];
      const float r183 = l2[r179];
      const float r184 = r183 + r182;
      l2[r179] = r184;
    }
  }
  __syncthreads();
  {
    const int r185 = threadIdx.x;
    const bool r186 = r185 < 4;
    const int r187 = r185 + 4;
    if (r186) {
      const float r188 = l2[r187];
      const float r189 = l2[r185];
      const float r190 = r189 + r188;
      l2[r185] = r190;
    }
  }
  __syncthreads();
  {
    const int r191 = threadIdx.x;
    const bool r192 = r191 < 2;
    const int r193 = r191 + 2;
    if (r192) {
      const float r194 = l2[r193];
      const float r195 = l2[r191];
      const float r196 = r195 + r194;
      l2[r191] = r196;
    }
  }
  __syncthreads();
  {
    const int r197 = threadIdx.x;
    const bool r198 = r197 < 1;
    const int r199 = r197 + 1;
    if (r198) {
      const float r200 = l2[r199];
      const float r201 = l2[r197];
      const float r202 = r201 + r200;
      l2[r197] = r202;
    }
  }
  __syncthreads();
  {
    const int r203 = threadIdx.x;
    const float r204 = l0[0];
    const float r205 = l2[0];
    const bool r206 = r203 < 75;
    const int r207 = r203 * 8 + r34;
    if (r206) {
      {
        float r209[8];
        load(r209, b0 + r207);
        float r235[8];
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          const float r210 = r209[l] - r204;
          const float r211 = maximum(r210, (-0x1.ap+6f));
          const float r212 = minimum(r211, 0x1.64p+6f);
          const float r213 = fused(r212, 0x1.715476p+0f, 0x1p-1f);
          const float r214 = round_down(r213);
          const float r215 = fused(r214, (-0x1.62e43p-1f), r212);
          const float r216 = fused(r214, 0x1.05c61p-29f, r215);
          const float r217 = fused(0x1.6ab8d2p-10f, r216, 0x1.123d72p-7f);
          const float r218 = fused(r217, r216, 0x1.55585ap-5f);
          const float r219 = fused(r218, r216, 0x1.55548cp-3f);
          const float r220 = fused(r219, r216, 0x1.fffffcp-2f);
          const int r221 = (int)r214;
          const float r222 = r216 * r216;
          const float r223 = fused(r220, r222, r216);
          const float r224 = r223 + 0x1p+0f;
          const int r225 = r221 >> 1;
          const int r226 = (int)((u32)r221 - (u32)r225);
          const int r227 = (int)((u32)r226 + (u32)127);
          const int r228 = (int)((u32)r227 << 23);
          const float r229 = real((u32)r228);
          const int r230 = (int)((u32)r225 + (u32)127);
          const int r231 = (int)((u32)r230 << 23);
          const float r232 = real((u32)r231);
          const float r233 = r224 * r232;
          const float r234 = r233 * r229;
          r235[l] = r234 / r205;
        }
        store(b1 + r207, r235);
      }
    }
  }
}
