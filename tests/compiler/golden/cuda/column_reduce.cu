extern "C" __global__ void __launch_bounds__(256) k_column_reduce(const float* b0, float* b1, float* b2, float* b3, float* b4, u32* b5, long long e0, long long e1, long long e2, long long e3, long long e4, long long e5, long long e6, long long e7, long long e8, long long e9, long long e10, long long e11) {
  const int r13 = (int)e5;
  const int r14 = (int)e6;
  const int r15 = (int)e7;
  const int r16 = (int)e8;
  const int r17 = (int)e9;
  const int r18 = (int)e10;
  const int r19 = (int)e11;
  const int r20 = blockIdx.x;
  const int r21 = (int)e0;
  const int r22 = r20 / r21;
  const int r23 = r20 % r21;
  const int r24 = (int)e1;
  const int r25 = r23 % r24;
  alignas(16) __shared__ float l0[2048];
  alignas(16) __shared__ float l1[2048];
  const int r26 = r25 * r13;
  const int r27 = (int)e2;
  const int r28 = (int)e3;
  const int r29 = r22 * r28;
  const int r30 = r27 - r29;
  const int r31 = r28 < r30 ? r28 : r30;
  const int r32 = r29 * r14 + r26;
  const int r33 = r31 + 31;
  {
    const int r34 = threadIdx.x;
    const int r35 = r34 % 8;
    const int r36 = r35 * 8 + r26;
    const bool r37 = r36 < 48;
    const int r38 = r35 * 8 + r32;
    const int r39 = r34 / 8;
    const int r40 = r33 - r39;
    const int r41 = r40 / 32;
    const int r42 = r39 * r15 + r38;
    const int r43 = r34 * 8;
    if (r37) {
      {
        float r45[8];
        load(r45, b0 + r38);
        float l2[8];
        float l3[8];
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          l2[l] = 0x0p+0f;
          l3[l] = 0x0p+0f;
        }
        #pragma unroll 4
        for (int r46 = 0; r46 < r41; r46 += 1) {
          const int r47 = r46 * r16 + r42;
          float r48[8];
          load(r48, b0 + r47);
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            const float r49 = l2[l];
            const float r50 = l3[l];
            const float r51 = r48[l] - r45[l];
            const float r52 = r49 + r51;
            const float r53 = fused(r51, r51, r50);
            l2[l] = r52;
            l3[l] = r53;
          }
        }
        float r54[8];
        float r55[8];
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          r54[l] = l2[l];
          r55[l] = l3[l];
        }
        store(l0 + r43, r54);
        store(l1 + r43, r55);
      }
    }
  }
  __syncthreads();
  {
    const int r56 = threadIdx.x;
    const bool r57 = r56 < 128;
    const int r58 = r56 % 8;
    const int r59 = r58 * 8 + r26;
    const bool r60 = r59 < 48;
    const int r61 = r56 * 8;
    const int r62 = r61 + 1024;
    if (r57) {
      if (r60) {
        {
          float r64[8];
          load(r64, l0 + r62);
          float r65[8];
          load(r65, l1 + r62);
          float r66[8];
          load(r66, l0 + r61);
          float r67[8];
          load(r67, l1 + r61);
          float r68[8];
          float r69[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r68[l] = r66[l] + r64[l];
            r69[l] = r67[l] + r65[l];
          }
          store(l0 + r61, r68);
          store(l1 + r61, r69);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r70 = threadIdx.x;
    const bool r71 = r70 < 64;
    const int r72 = r70 % 8;
    const int r73 = r72 * 8 + r26;
    const bool r74 = r73 < 48;
    const int r75 = r70 * 8;
    const int r76 = r75 + 512;
    if (r71) {
      if (r74) {
        {
          float r78[8];
          load(r78, l0 + r76);
          float r79[8];
          load(r79, l1 + r76);
          float r80[8];
          load(r80, l0 + r75);
          float r81[8];
          load(r81, l1 + r75);
          float r82[8];
          float r83[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r82[l] = r80[l] + r78[l];
            r83[l] = r81[l] + r79[l];
          }
          store(l0 + r75, r82);
          store(l1 + r75, r83);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r84 = threadIdx.x;
    const bool r85 = r84 < 32;
    const int r86 = r84 % 8;
    const int r87 = r86 * 8 + r26;
    const bool r88 = r87 < 48;
    const int r89 = r84 * 8;
    const int r90 = r89 + 256;
    if (r85) {
      if (r88) {
        {
          float r92[8];
          load(r92, l0 + r90);
          float r93[8];
          load(r93, l1 + r90);
          float r94[8];
          load(r94, l0 + r89);
          float r95[8];
          load(r95, l1 + r89);
          float r96[8];
          float r97[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r96[l] = r94[l] + r92[l];
            r97[l] = r95[l] + r93[l];
          }
          store(l0 + r89, r96);
          store(l1 + r89, r97);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r98 = threadIdx.x;
    const bool r99 = r98 < 16;
    const int r100 = r98 % 8;
    const int r101 = r100 * 8 + r26;
    const bool r102 = r101 < 48;
    const int r103 = r98 * 8;
    const int r104 = r103 + 128;
    if (r99) {
      if (r102) {
        {
          float r106[8];
          load(r106, l0 + r104);
          float r107[8];
          load(r107, l1 + r104);
          float r108[8];
          load(r108, l0 + r103);
          float r109[8];
          load(r109, l1 + r103);
          float r110[8];
          float r111[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r110[l] = r108[l] + r106[l];
            r111[l] = r109[l] + r107[l];
          }
          store(l0 + r103, r110);
          store(l1 + r103, r111);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r112 = threadIdx.x;
    const bool r113 = r112 < 8;
    const int r114 = r112 % 8;
    const int r115 = r114 * 8 + r26;
    const bool r116 = r115 < 48;
    const int r117 = r112 * 8;
    const int r118 = r117 + 64;
    if (r113) {
      if (r116) {
        {
          float r120[8];
          load(r120, l0 + r118);
          float r121[8];
          load(r121, l1 + r118);
          float r122[8];
          load(r122, l0 + r117);
          float r123[8];
          load(r123, l1 + r117);
          float r124[8];
          float r125[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r124[l] = r122[l] + r120[l];
            r125[l] = r123[l] + r121[l];
          }
          store(l0 + r117, r124);
          store(l1 + r117, r125);
        }
      }
    }
  }
  __syncthreads();
  const float r126 = (float)r31;
  const int r127 = r22 * r17;
  const int r128 = r25 * r18 + r127;
  {
    const int r129 = threadIdx.x;
    const bool r130 = r129 < 8;
    const int r131 = r129 % 8;
    const int r132 = r131 * 8 + r26;
    const bool r133 = r132 < 48;
    const int r134 = r129 * 8;
    const int r135 = r131 * 8 + r32;
    const int r136 = r131 * 8 + r128;
    if (r130) {
      if (r133) {
        {
          float r138[8];
          load(r138, b0 + r135);
          float r139[8];
          load(r139, l0 + r134);
          float r140[8];
          load(r140, l1 + r134);
          float r144[8];
          float r145[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            const float r141 = r139[l] / r126;
            const float r142 = r139[l] * r141;
            const float r143 = r140[l] - r142;
            r144[l] = r138[l] + r141;
            r145[l] = maximum(r143, 0x0p+0f);
          }
          store(b3 + r136, r144);
          store(b4 + r136, r145);
        }
      }
    }
  }
  const int r146 = (int)e4;
  const int r147 = r146 + 31;
  const int r148 = r147 / 32;
  const int r149 = r28 < r27 ? r28 : r27;
  const float r150 = (float)r27;
  __threadfence();
  __syncthreads();
  __shared__ bool last5;
  if (threadIdx.x == 0) last5 = atomicInc(b5 + r23, (u32)r146 - 1) == (u32)r146 - 1;
  __syncthreads();
  if (last5) {
    __threadfence();
    alignas(16) __shared__ int l4[256];
    {
      const int r151 = threadIdx.x;
      const int r152 = r151 / 8;
      const int r153 = r152 * r148;
      const int r154 = r153 < r146 ? r153 : r146;
      const int r155 = r154 + r148;
      const int r156 = r155 < r146 ? r155 : r146;
      const int r157 = r151 % 8;
      const int r158 = r157 * 8 + r26;
      const bool r159 = r158 < 48;
      const int r160 = r151 * 8;
      if (r159) {
        {
          float l5[8];
          float l6[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            l5[l] = 0x0p+0f;
            l6[l] = 0x0p+0f;
          }
          #pragma unroll 2
          for (int r162 = r154; r162 < r156; r162 += 1) {
            const int r163 = r162 * r19 + r158;
            float r164[8];
            load(r164, b3 + r163);
            float r165[8];
            load(r165, b4 + r163);
            const int r166 = r162 * r28;
            const int r167 = r27 - r166;
            const int r168 = r28 < r167 ? r28 : r167;
            const int r169 = r162 - r154;
            const int r170 = r169 * r149;
            const float r171 = (float)r168;
            const float r172 = (float)r170;
            const float r175 = r172 + r171;
            const float r176 = r171 / r175;
            const float r178 = r172 * r176;
            #pragma unroll
            for (int l = 0; l < 8; ++l) {
              const float r173 = l5[l];
              const float r174 = l6[l];
              const float r177 = r164[l] - r173;
              const float r179 = r177 * r177;
              const float r180 = r179 * r178;
              const float r181 = r177 * r176;
              const float r182 = r173 + r181;
              const float r183 = r174 + r165[l];
              const float r184 = r183 + r180;
              l5[l] = r182;
              l6[l] = r184;
            }
          }
          float r185[8];
          float r186[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r185[l] = l5[l];
            r186[l] = l6[l];
          }
          store(l0 + r160, r185);
          store(l1 + r160, r186);
        }
      }
      const int r187 = r156 - 1;
      const int r188 = r187 - r154;
      const int r189 = r188 * r149;
      l4[r151] = 0;
      const bool r190 = r154 < r156;
      const int r191 = r187 * r28;
      const int r192 = r27 - r191;
      const int r193 = r28 < r192 ? r28 : r192;
      const int r194 = r189 + r193;
      if (r190) {
        l4[r151] = r194;
      }
    }
    __syncthreads();
    {
      const int r195 = threadIdx.x;
      const bool r196 = r195 < 128;
      const int r197 = r195 + 128;
      const int r198 = r195 % 8;
      const int r199 = r198 * 8 + r26;
      const bool r200 = r199 < 48;
      const int r201 = r195 * 8;
      const int r202 = r201 + 1024;
      if (r196) {
        const int r203 = l4[r195];
        const int r204 = l4[r197];
        const bool r205 = 0 < r204;
        const float r206 = (float)r204;
        const float r207 = (float)r203;
        const float r208 = r207 + r206;
        const float r209 = r206 / r208;
        const float r210 = r207 * r209;
        const int r211 = r203 + r204;
        if (r205) {
          if (r200) {
            {
              float r213[8];
              load(r213, l0 + r202);
              float r214[8];
              load(r214, l1 + r202);
              float r215[8];
              load(r215, l0 + r201);
              float r216[8];
              load(r216, l1 + r201);
              float r221[8];
              float r223[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r217 = r213[l] - r215[l];
                const float r218 = r217 * r217;
                const float r219 = r218 * r210;
                const float r220 = r217 * r209;
                r221[l] = r215[l] + r220;
                const float r222 = r216[l] + r214[l];
                r223[l] = r222 + r219;
              }
              store(l0 + r201, r221);
              store(l1 + r201, r223);
            }
          }
          l4[r195] = r211;
        }
      }
    }
    __syncthreads();
    {
      const int r224 = threadIdx.x;
      const bool r225 = r224 < 64;
      const int r226 = r224 + 64;
      const int r227 = r224 % 8;
      const int r228 = r227 * 8 + r26;
      const bool r229 = r228 < 48;
      const int r230 = r224 * 8;
      const int r231 = r230 + 512;
      if (r225) {
        const int r232 = l4[r224];
        const int r233 = l4[r226];
        const bool r234 = 0 < r233;
        const float r235 = (float)r233;
        const float r236 = (float)r232;
        const float r237 = r236 + r235;
        const float r238 = r235 / r237;
        const float r239 = r236 * r238;
        const int r240 = r232 + r233;
        if (r234) {
          if (r229) {
            {
              float r242[8];
              load(r242, l0 + r231);
              float r243[8];
              load(r243, l1 + r231);
              float r244[8];
              load(r244, l0 + r230);
              float r245[8];
              load(r245, l1 + r230);
              float r250[8];
              float r252[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r246 = r242[l] - r244[l];
                const float r247 = r246 * r246;
                const float r248 = r247 * r239;
                const float r249 = r246 * r238;
                r250[l] = r244[l] + r249;
                const float r251 = r245[l] + r243[l];
                r252[l] = r251 + r248;
              }
              store(l0 + r230, r250);
              store(l1 + r230, r252);
            }
          }
          l4[r224] = r240;
        }
      }
    }
    __syncthreads();
    {
      const int r253 = threadIdx.x;
      const bool r254 = r253 < 32;
      const int r255 = r253 + 32;
      const int r256 = r253 % 8;
      const int r257 = r256 * 8 + r26;
      const bool r258 = r257 < 48;
      const int r259 = r253 * 8;
      const int r260 = r259 + 256;
      if (r254) {
        const int r261 = l4[r253];
        const int r262 = l4[r255];
        const bool r263 = 0 < r262;
        const float r264 = (float)r262;
        const float r265 = (float)r261;
        const float r266 = r265 + r264;
        const float r267 = r264 / r266;
        const float r268 = r265 * r267;
        const int r269 = r261 + r262;
        if (r263) {
          if (r258) {
            {
              float r271[8];
              load(r271, l0 + r260);
              float r272[8];
              load(r272, l1 + r260);
              float r273[8];
              load(r273, l0 + r259);
              float r274[8];
              load(r274, l1 + r259);
              float r279[8];
              float r281[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r275 = r271[l] - r273[l];
                const float r276 = r275 * r275;
                const float r277 = r276 * r268;
                const float r278 = r275 * r267;
                r279[l] = r273[l] + r278;
                const float r280 = r274[l] + r272[l];
                r281[l] = r280 + r277;
              }
              store(l0 + r259, r279);
              store(l1 + r259, r281);
            }
          }
          l4[r253] = r269;
        }
      }
    }
    __syncthreads();
    {
      const int r282 = threadIdx.x;
      const bool r283 = r282 < 16;
      const int r284 = r282 + 16;
      const int r285 = r282 % 8;
      const int r286 = r285 * 8 + r26;
      const bool r287 = r286 < 48;
      const int r288 = r282 * 8;
      const int r289 = r288 + 128;
      if (r283) {
        const int r290 = l4[r282];
        const int r291 = l4[r284];
        const bool r292 = 0 < r291;
        const float r293 = (float)r291;
        const float r294 = (float)r290;
        const float r295 = r294 + r293;
        const float r296 = r293 / r295;
        const float r297 = r294 * r296;
        const int r298 = r290 + r291;
        if (r292) {
          if (r287) {
            {
              float r300[8];
              load(r300, l0 + r289);
              float r301[8];
              load(r301, l1 + r289);
              float r302[8];
              load(r302, l0 + r288);
              float r303[8];
              load(r303, l1 + r288);
              float r308[8];
              float r310[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r304 = r300[l] - r302[l];
                const float r305 = r304 * r304;
                const float r306 = r305 * r297;
                const float r307 = r304 * r296;
                r308[l] = r302[l] + r307;
                const float r309 = r303[l] + r301[l];
                r310[l] = r309 + r306;
              }
              store(l0 + r288, r308);
              store(l1 + r288, r310);
            }
          }
          l4[r282] = r298;
        }
      }
    }
    __syncthreads();
    {
      const int r311 = threadIdx.x;
      const bool r312 = r311 < 8;
      const int r313 = r311 + 8;
      const int r314 = r311 % 8;
      const int r315 = r314 * 8 + r26;
      const bool r316 = r315 < 48;
      const int r317 = r311 * 8;
      const int r318 = r317 + 64;
      if (r312) {
        const int r319 = l4[r311];
        const int r320 = l4[r313];
        const bool r321 = 0 < r320;
        const float r322 = (float)r320;
        const float r323 = (float)r319;
        const float r324 = r323 + r322;
        const float r325 = r322 / r324;
        const float r326 = r323 * r325;
        const int r327 = r319 + r320;
        if (r321) {
          if (r316) {
            {
              float r329[8];
              load(r329, l0 + r318);
              float r330[8];
              load(r330, l1 + r318);
              float r331[8];
              load(r331, l0 + r317);
              float r332[8];
              load(r332, l1 + r317);
              float r337[8];
              float r339[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r333 = r329[l] - r331[l];
                const float r334 = r333 * r333;
                const float r335 = r334 * r326;
                const float r336 = r333 * r325;
                r337[l] = r331[l] + r336;
                const float r338 = r332[l] + r330[l];
                r339[l] = r338 + r335;
              }
              store(l0 + r317, r337);
              store(l1 + r317, r339);
            }
          }
          l4[r311] = r327;
        }
      }
    }
    __syncthreads();
    {
      const int r340 = threadIdx.x;
      const bool r341 = r340 < 8;
      const int r342 = r340 % 8;
      const int r343 = r342 * 8 + r26;
      const bool r344 = r343 < 48;
      const int r345 = r340 * 8;
      if (r341) {
        if (r344) {
          {
            float r347[8];
            load(r347, l0 + r345);
            float r348[8];
            load(r348, l1 + r345);
            float r349[8];
            #pragma unroll
            for (int l = 0; l < 8; ++l) {
              r349[l] = r348[l] / r150;
            }
            store(b1 + r343, r347);
            store(b2 + r343, r349);
          }
        }
      }
    }
  }
}
