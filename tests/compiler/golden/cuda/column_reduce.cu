extern "C" __global__ void __launch_bounds__(256) k_column_reduce(const float* b0, float* b1, float* b2, float* b3, float* b4, u32* b5, long long e0, long long e1, long long e2, long long e3, long long e4, long long e5, long long e6, long long e7, long long e8, long long e9, long long e10, long long e11, long long e12, long long e13) {
  const int r13 = (int)e5;
  const int r14 = (int)e6;
  const int r15 = (int)e7;
  const int r16 = (int)e8;
  const int r17 = (int)e9;
  const int r18 = (int)e10;
  const int r19 = (int)e11;
  const int r20 = (int)e12;
  const int r21 = (int)e13;
  const int r22 = blockIdx.x;
  const int r23 = (int)e0;
  const int r24 = r22 / r23;
  const int r25 = r22 % r23;
  const int r26 = (int)e1;
  const int r27 = r25 % r26;
  alignas(16) __shared__ float l0[2048];
  alignas(16) __shared__ float l1[2048];
  const int r28 = r27 * r13;
  const int r29 = (int)e2;
  const int r30 = (int)e3;
  const int r31 = r24 * r30;
  const int r32 = r29 - r31;
  const int r33 = r30 < r32 ? r30 : r32;
  const int r34 = r31 * r14 + r28;
  const int r35 = r33 + 31;
  {
    const int r36 = threadIdx.x;
    const int r37 = r36 % 8;
    const int r38 = r37 * 8 + r28;
    const bool r39 = r38 < 48;
    const int r40 = r37 * 8 + r34;
    const int r41 = r36 / 8;
    const int r42 = r35 - r41;
    const int r43 = r42 / r15;
    const int r44 = r41 * r16 + r40;
    const int r45 = r36 * 8;
    if (r39) {
      {
        float r47[8];
        load(r47, b0 + r40);
        float l2[8];
        float l3[8];
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          l2[l] = 0x0p+0f;
          l3[l] = 0x0p+0f;
        }
        #pragma unroll 4
        for (int r48 = 0; r48 < r43; r48 += 1) {
          const int r49 = r48 * r17 + r44;
          float r50[8];
          load(r50, b0 + r49);
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            const float r51 = l2[l];
            const float r52 = l3[l];
            const float r53 = r50[l] - r47[l];
            const float r54 = r51 + r53;
            const float r55 = fused(r53, r53, r52);
            l2[l] = r54;
            l3[l] = r55;
          }
        }
        float r56[8];
        float r57[8];
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          r56[l] = l2[l];
          r57[l] = l3[l];
        }
        store(l0 + r45, r56);
        store(l1 + r45, r57);
      }
    }
  }
  __syncthreads();
  {
    const int r58 = threadIdx.x;
    const bool r59 = r58 < 128;
    const int r60 = r58 % 8;
    const int r61 = r60 * 8 + r28;
    const bool r62 = r61 < 48;
    const int r63 = r58 * 8;
    const int r64 = r63 + 1024;
    if (r59) {
      if (r62) {
        {
          float r66[8];
          load(r66, l0 + r64);
          float r67[8];
          load(r67, l1 + r64);
          float r68[8];
          load(r68, l0 + r63);
          float r69[8];
          load(r69, l1 + r63);
          float r70[8];
          float r71[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r70[l] = r68[l] + r66[l];
            r71[l] = r69[l] + r67[l];
          }
          store(l0 + r63, r70);
          store(l1 + r63, r71);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r72 = threadIdx.x;
    const bool r73 = r72 < 64;
    const int r74 = r72 % 8;
    const int r75 = r74 * 8 + r28;
    const bool r76 = r75 < 48;
    const int r77 = r72 * 8;
    const int r78 = r77 + 512;
    if (r73) {
      if (r76) {
        {
          float r80[8];
          load(r80, l0 + r78);
          float r81[8];
          load(r81, l1 + r78);
          float r82[8];
          load(r82, l0 + r77);
          float r83[8];
          load(r83, l1 + r77);
          float r84[8];
          float r85[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
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
    const bool r87 = r86 < 32;
    const int r88 = r86 % 8;
    const int r89 = r88 * 8 + r28;
    const bool r90 = r89 < 48;
    const int r91 = r86 * 8;
    const int r92 = r91 + 256;
    if (r87) {
      if (r90) {
        {
          float r94[8];
          load(r94, l0 + r92);
          float r95[8];
          load(r95, l1 + r92);
          float r96[8];
          load(r96, l0 + r91);
          float r97[8];
          load(r97, l1 + r91);
          float r98[8];
          float r99[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
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
  {
    const int r100 = threadIdx.x;
    const bool r101 = r100 < 16;
    const int r102 = r100 % 8;
    const int r103 = r102 * 8 + r28;
    const bool r104 = r103 < 48;
    const int r105 = r100 * 8;
    const int r106 = r105 + 128;
    if (r101) {
      if (r104) {
        {
          float r108[8];
          load(r108, l0 + r106);
          float r109[8];
          load(r109, l1 + r106);
          float r110[8];
          load(r110, l0 + r105);
          float r111[8];
          load(r111, l1 + r105);
          float r112[8];
          float r113[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r112[l] = r110[l] + r108[l];
            r113[l] = r111[l] + r109[l];
          }
          store(l0 + r105, r112);
          store(l1 + r105, r113);
        }
      }
    }
  }
  __syncthreads();
  {
    const int r114 = threadIdx.x;
    const bool r115 = r114 < 8;
    const int r116 = r114 % 8;
    const int r117 = r116 * 8 + r28;
    const bool r118 = r117 < 48;
    const int r119 = r114 * 8;
    const int r120 = r119 + 64;
    if (r115) {
      if (r118) {
        {
          float r122[8];
          load(r122, l0 + r120);
          float r123[8];
          load(r123, l1 + r120);
          float r124[8];
          load(r124, l0 + r119);
          float r125[8];
          load(r125, l1 + r119);
          float r126[8];
          float r127[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r126[l] = r124[l] + r122[l];
            r127[l] = r125[l] + r123[l];
          }
          store(l0 + r119, r126);
          store(l1 + r119, r127);
        }
      }
    }
  }
  __syncthreads();
  const float r128 = (float)r33;
  const int r129 = r24 * r18;
  const int r130 = r27 * r19 + r129;
  {
    const int r131 = threadIdx.x;
    const bool r132 = r131 < 8;
    const int r133 = r131 % 8;
    const int r134 = r133 * 8 + r28;
    const bool r135 = r134 < 48;
    const int r136 = r131 * 8;
    const int r137 = r133 * 8 + r34;
    const int r138 = r133 * 8 + r130;
    if (r132) {
      if (r135) {
        {
          float r140[8];
          load(r140, b0 + r137);
          float r141[8];
          load(r141, l0 + r136);
          float r142[8];
          load(r142, l1 + r136);
          float r146[8];
          float r147[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            const float r143 = r141[l] / r128;
            const float r144 = r141[l] * r143;
            const float r145 = r142[l] - r144;
            r146[l] = r140[l] + r143;
            r147[l] = maximum(r145, 0x0p+0f);
          }
          store(b3 + r138, r146);
          store(b4 + r138, r147);
        }
      }
    }
  }
  const int r148 = (int)e4;
  const int r149 = r148 + 31;
  const int r150 = r149 / r20;
  const int r151 = r30 < r29 ? r30 : r29;
  const float r152 = (float)r29;
  __threadfence();
  __syncthreads();
  __shared__ bool last5;
  if (threadIdx.x == 0) last5 = atomicInc(b5 + r25, (u32)r148 - 1) == (u32)r148 - 1;
  __syncthreads();
  if (last5) {
    __threadfence();
    alignas(16) __shared__ int l4[256];
    {
      const int r153 = threadIdx.x;
      const int r154 = r153 / 8;
      const int r155 = r154 * r150;
      const int r156 = r155 < r148 ? r155 : r148;
      const int r157 = r156 + r150;
      const int r158 = r157 < r148 ? r157 : r148;
      const int r159 = r153 % 8;
      const int r160 = r159 * 8 + r28;
      const bool r161 = r160 < 48;
      const int r162 = r153 * 8;
      if (r161) {
        {
          float l5[8];
          float l6[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            l5[l] = 0x0p+0f;
            l6[l] = 0x0p+0f;
          }
          #pragma unroll 4
          for (int r164 = r156; r164 < r158; r164 += 1) {
            const int r165 = r164 * r21 + r160;
            float r166[8];
            load(r166, b3 + r165);
            float r167[8];
            load(r167, b4 + r165);
            const int r168 = r164 * r30;
            const int r169 = r29 - r168;
            const int r170 = r30 < r169 ? r30 : r169;
            const int r171 = r164 - r156;
            const int r172 = r171 * r151;
            const float r173 = (float)r170;
            const float r174 = (float)r172;
            const float r177 = r174 + r173;
            const float r178 = r173 / r177;
            const float r180 = r174 * r178;
            #pragma unroll
            for (int l = 0; l < 8; ++l) {
              const float r175 = l5[l];
              const float r176 = l6[l];
              const float r179 = r166[l] - r175;
              const float r181 = r179 * r179;
              const float r182 = r181 * r180;
              const float r183 = r179 * r178;
              const float r184 = r175 + r183;
              const float r185 = r176 + r167[l];
              const float r186 = r185 + r182;
              l5[l] = r184;
              l6[l] = r186;
            }
          }
          float r187[8];
          float r188[8];
          #pragma unroll
          for (int l = 0; l < 8; ++l) {
            r187[l] = l5[l];
            r188[l] = l6[l];
          }
          store(l0 + r162, r187);
          store(l1 + r162, r188);
        }
      }
      const int r189 = r158 - 1;
      const int r190 = r189 - r156;
      const int r191 = r190 * r151;
      l4[r153] = 0;
      const bool r192 = r156 < r158;
      const int r193 = r189 * r30;
      const int r194 = r29 - r193;
      const int r195 = r30 < r194 ? r30 : r194;
      const int r196 = r191 + r195;
      if (r192) {
        l4[r153] = r196;
      }
    }
    __syncthreads();
    {
      const int r197 = threadIdx.x;
      const bool r198 = r197 < 128;
      const int r199 = r197 + 128;
      const int r200 = r197 % 8;
      const int r201 = r200 * 8 + r28;
      const bool r202 = r201 < 48;
      const int r203 = r197 * 8;
      const int r204 = r203 + 1024;
      if (r198) {
        const int r205 = l4[r197];
        const int r206 = l4[r199];
        const bool r207 = 0 < r206;
        const float r208 = (float)r206;
        const float r209 = (float)r205;
        const float r210 = r209 + r208;
        const float r211 = r208 / r210;
        const float r212 = r209 * r211;
        const int r213 = r205 + r206;
        if (r207) {
          if (r202) {
            {
              float r215[8];
              load(r215, l0 + r204);
              float r216[8];
              load(r216, l1 + r204);
              float r217[8];
              load(r217, l0 + r203);
              float r218[8];
              load(r218, l1 + r203);
              float r223[8];
              float r225[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r219 = r215[l] - r217[l];
                const float r220 = r219 * r219;
                const float r221 = r220 * r212;
                const float r222 = r219 * r211;
                r223[l] = r217[l] + r222;
                const float r224 = r218[l] + r216[l];
                r225[l] = r224 + r221;
              }
              store(l0 + r203, r223);
              store(l1 + r203, r225);
            }
          }
          l4[r197] = r213;
        }
      }
    }
    __syncthreads();
    {
      const int r226 = threadIdx.x;
      const bool r227 = r226 < 64;
      const int r228 = r226 + 64;
      const int r229 = r226 % 8;
      const int r230 = r229 * 8 + r28;
      const bool r231 = r230 < 48;
      const int r232 = r226 * 8;
      const int r233 = r232 + 512;
      if (r227) {
        const int r234 = l4[r226];
        const int r235 = l4[r228];
        const bool r236 = 0 < r235;
        const float r237 = (float)r235;
        const float r238 = (float)r234;
        const float r239 = r238 + r237;
        const float r240 = r237 / r239;
        const float r241 = r238 * r240;
        const int r242 = r234 + r235;
        if (r236) {
          if (r231) {
            {
              float r244[8];
              load(r244, l0 + r233);
              float r245[8];
              load(r245, l1 + r233);
              float r246[8];
              load(r246, l0 + r232);
              float r247[8];
              load(r247, l1 + r232);
              float r252[8];
              float r254[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r248 = r244[l] - r246[l];
                const float r249 = r248 * r248;
                const float r250 = r249 * r241;
                const float r251 = r248 * r240;
                r252[l] = r246[l] + r251;
                const float r253 = r247[l] + r245[l];
                r254[l] = r253 + r250;
              }
              store(l0 + r232, r252);
              store(l1 + r232, r254);
            }
          }
          l4[r226] = r242;
        }
      }
    }
    __syncthreads();
    {
      const int r255 = threadIdx.x;
      const bool r256 = r255 < 32;
      const int r257 = r255 + 32;
      const int r258 = r255 % 8;
      const int r259 = r258 * 8 + r28;
      const bool r260 = r259 < 48;
      const int r261 = r255 * 8;
      const int r262 = r261 + 256;
      if (r256) {
        const int r263 = l4[r255];
        const int r264 = l4[r257];
        const bool r265 = 0 < r264;
        const float r266 = (float)r264;
        const float r267 = (float)r263;
        const float r268 = r267 + r266;
        const float r269 = r266 / r268;
        const float r270 = r267 * r269;
        const int r271 = r263 + r264;
        if (r265) {
          if (r260) {
            {
              float r273[8];
              load(r273, l0 + r262);
              float r274[8];
              load(r274, l1 + r262);
              float r275[8];
              load(r275, l0 + r261);
              float r276[8];
              load(r276, l1 + r261);
              float r281[8];
              float r283[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r277 = r273[l] - r275[l];
                const float r278 = r277 * r277;
                const float r279 = r278 * r270;
                const float r280 = r277 * r269;
                r281[l] = r275[l] + r280;
                const float r282 = r276[l] + r274[l];
                r283[l] = r282 + r279;
              }
              store(l0 + r261, r281);
              store(l1 + r261, r283);
            }
          }
          l4[r255] = r271;
        }
      }
    }
    __syncthreads();
    {
      const int r284 = threadIdx.x;
      const bool r285 = r284 < 16;
      const int r286 = r284 + 16;
      const int r287 = r284 % 8;
      const int r288 = r287 * 8 + r28;
      const bool r289 = r288 < 48;
      const int r290 = r284 * 8;
      const int r291 = r290 + 128;
      if (r285) {
        const int r292 = l4[r284];
        const int r293 = l4[r286];
        const bool r294 = 0 < r293;
        const float r295 = (float)r293;
        const float r296 = (float)r292;
        const float r297 = r296 + r295;
        const float r298 = r295 / r297;
        const float r299 = r296 * r298;
        const int r300 = r292 + r293;
        if (r294) {
          if (r289) {
            {
              float r302[8];
              load(r302, l0 + r291);
              float r303[8];
              load(r303, l1 + r291);
              float r304[8];
              load(r304, l0 + r290);
              float r305[8];
              load(r305, l1 + r290);
              float r310[8];
              float r312[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r306 = r302[l] - r304[l];
                const float r307 = r306 * r306;
                const float r308 = r307 * r299;
                const float r309 = r306 * r298;
                r310[l] = r304[l] + r309;
                const float r311 = r305[l] + r303[l];
                r312[l] = r311 + r308;
              }
              store(l0 + r290, r310);
              store(l1 + r290, r312);
            }
          }
          l4[r284] = r300;
        }
      }
    }
    __syncthreads();
    {
      const int r313 = threadIdx.x;
      const bool r314 = r313 < 8;
      const int r315 = r313 + 8;
      const int r316 = r313 % 8;
      const int r317 = r316 * 8 + r28;
      const bool r318 = r317 < 48;
      const int r319 = r313 * 8;
      const int r320 = r319 + 64;
      if (r314) {
        const int r321 = l4[r313];
        const int r322 = l4[r315];
        const bool r323 = 0 < r322;
        const float r324 = (float)r322;
        const float r325 = (float)r321;
        const float r326 = r325 + r324;
        const float r327 = r324 / r326;
        const float r328 = r325 * r327;
        const int r329 = r321 + r322;
        if (r323) {
          if (r318) {
            {
              float r331[8];
              load(r331, l0 + r320);
              float r332[8];
              load(r332, l1 + r320);
              float r333[8];
              load(r333, l0 + r319);
              float r334[8];
              load(r334, l1 + r319);
              float r339[8];
              float r341[8];
              #pragma unroll
              for (int l = 0; l < 8; ++l) {
                const float r335 = r331[l] - r333[l];
                const float r336 = r335 * r335;
                const float r337 = r336 * r328;
                const float r338 = r335 * r327;
                r339[l] = r333[l] + r338;
                const float r340 = r334[l] + r332[l];
                r341[l] = r340 + r337;
              }
              store(l0 + r319, r339);
              store(l1 + r319, r341);
            }
          }
          l4[r313] = r329;
        }
      }
    }
    __syncthreads();
    {
      const int r342 = threadIdx.x;
      const bool r343 = r342 < 8;
      const int r344 = r342 % 8;
      const int r345 = r344 * 8 + r28;
      const bool r346 = r345 < 48;
      const int r347 = r342 * 8;
      if (r343) {
        if (r346) {
          {
            float r349[8];
            load(r349, l0 + r347);
            float r350[8];
            load(r350, l1 + r347);
            float r351[8];
            #pragma unroll
            for (int l = 0; l < 8; ++l) {
              r351[l] = r350[l] / r152;
            }
            store(b1 + r345, r349);
            store(b2 + r345, r351);
          }
        }
      }
    }
  }
}
