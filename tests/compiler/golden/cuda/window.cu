extern "C" __global__ void __launch_bounds__(256) k_window(const float* b0, float* b1, int* b2, long long e0, long long e1, long long e2, long long e3, long long e4, long long e5, long long e6, long long e7, long long e8, long long e9, long long e10, long long e11, long long e12, long long e13, long long e14, long long e15, long long e16, long long e17, long long e18, long long e19) {
  const int r15 = (int)e4;
  const int r16 = (int)e5;
  const int r17 = (int)e6;
  const int r18 = (int)e7;
  const int r19 = (int)e8;
  const int r20 = (int)e9;
  const int r21 = (int)e10;
  const int r22 = (int)e11;
  const int r23 = (int)e12;
  const int r24 = (int)e13;
  const int r25 = (int)e14;
  const int r26 = (int)e15;
  const int r27 = (int)e16;
  const int r28 = (int)e17;
  const int r29 = (int)e18;
  const int r30 = (int)e19;
  const int r31 = blockIdx.x;
  const int r32 = (int)e0;
  const int r33 = r31 * r32;
  const int r34 = (int)e1;
  const int r35 = r34 - r33;
  const int r36 = r32 < r35 ? r32 : r35;
  const int r37 = r36 * r15;
  const int r38 = (int)e2;
  const int r39 = (int)e3;
  const int r40 = r39 - 1;
  const int r41 = r37 + r40;
  const int r42 = r33 * r16;
  const bool r43 = (-1) < 0;
  const int r44 = r42 + 32;
  const int r45 = r42 + 192;
  const int r46 = r42 + 224;
  const int r47 = r33 * r17;
  {
    const int r48 = threadIdx.x;
    const int r49 = r48 % r38;
    const int r50 = r49 * 8;
    const int r51 = r48 / r38;
    const int r52 = r41 - r51;
    const int r53 = r52 / r39;
    const int r54 = r50 + r42;
    const int r55 = r50 + r44;
    const int r56 = r50 + r45;
    const int r57 = r50 + r46;
    const int r58 = r50 + r47;
    {
      for (int r60 = 0; r60 < r53; r60 += 1) {
        const int r61 = r60 * r39 + r51;
        const int r62 = r61 % 3;
        const int r63 = r61 / 3;
        const int r64 = r62 * r18 + r54;
        const int r65 = r63 * r19 + r64;
        float r66[8];
        load(r66, b0 + r65);
        const int r69 = r63 % 4;
        const int r70 = r62 * 2;
        const int r71 = r69 * r20 + r70;
        const int r72 = (int)r71;
        const int r75 = r62 * r21 + r55;
        const int r76 = r63 * r22 + r75;
        float r77[8];
        load(r77, b0 + r76);
        const int r81 = r70 + 1;
        const int r82 = r69 * r23 + r81;
        const int r83 = (int)r82;
        const int r86 = r62 * r24 + r56;
        const int r87 = r63 * r25 + r86;
        float r88[8];
        load(r88, b0 + r87);
        const int r92 = r70 + 6;
        const int r93 = r69 * r26 + r92;
        const int r94 = (int)r93;
        const int r97 = r62 * r27 + r57;
        const int r98 = r63 * r28 + r97;
        float r99[8];
        load(r99, b0 + r98);
        const int r103 = r70 + 7;
        const int r104 = r69 * r29 + r103;
        const int r105 = (int)r104;
        float r106[8];
        int r107[8];
        const int r108 = r61 * r30 + r58;
        #pragma unroll
        for (int l = 0; l < 8; ++l) {
          const bool r67 = r66[l] > real(0xff800000u);
          const bool r68 = r67 | r43;
          const float r73 = r68 ? r66[l] : real(0xff800000u);
          const int r74 = r68 ? r72 : (-1);
          const bool r78 = r77[l] > r73;
          const bool r79 = r74 < 0;
          const bool r80 = r78 | r79;
          const float r84 = r80 ? r77[l] : r73;
          const int r85 = r80 ? r83 : r74;
          const bool r89 = r88[l] > r84;
          const bool r90 = r85 < 0;
          const bool r91 = r89 | r90;
          const float r95 = r91 ? r88[l] : r84;
          const int r96 = r91 ? r94 : r85;
          const bool r100 = r99[l] > r95;
          const bool r101 = r96 < 0;
          const bool r102 = r100 | r101;
          r106[l] = r102 ? r99[l] : r95;
          r107[l] = r102 ? r105 : r96;
        }
        store(b1 + r108, r106);
        store(b2 + r108, r107);
      }
    }
  }
}
