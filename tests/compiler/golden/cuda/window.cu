extern "C" __global__ void __launch_bounds__(256) k_window(const float* b0, float* b1, int* b2, long long e0) {
  const int r0 = blockIdx.x;
  const int r1 = (int)e0;
  const int r4 = r0 * 10;
  const int r5 = r1 - r4;
  const int r6 = 10 < r5 ? 10 : r5;
  const int r8 = r6 * 96;
  const int r19 = r0 * 15360;
  const bool r22 = (-1) < 0;
  const int r25 = r19 + 32;
  const int r27 = r19 + 192;
  const int r30 = r19 + 224;
  const int r33 = r0 * 3840;
  {
    const int r35 = threadIdx.x;
    const int r36 = r35 % 8;
    const int r37 = r35 / 8;
    const int r38 = r36 * 4 + r19;
    const int r39 = r36 * 4 + r25;
    const int r40 = r36 * 4 + r27;
    const int r41 = r36 * 4 + r30;
    const int r42 = r35 * 4 + r33;
    for (int r43 = 0; r43 < 4; r43 += 1) {
      const int r44 = r43 * 256 + r35;
      const bool r45 = r44 < r8;
      const int r46 = r43 * 32 + r37;
      const int r47 = r46 % 3;
      const int r48 = r46 / 3;
      const int r49 = r47 * 64 + r38;
      const int r50 = r48 * 384 + r49;
      const int r51 = r48 % 4;
      const int r52 = r47 * 2;
      const int r53 = r51 * 12 + r52;
      const int r54 = (int)r53;
      const int r55 = r47 * 64 + r39;
      const int r56 = r48 * 384 + r55;
      const int r57 = r52 + 1;
      const int r58 = r51 * 12 + r57;
      const int r59 = (int)r58;
      const int r60 = r47 * 64 + r40;
      const int r61 = r48 * 384 + r60;
      const int r62 = r52 + 6;
      const int r63 = r51 * 12 + r62;
      const int r64 = (int)r63;
      const int r65 = r47 * 64 + r41;
      const int r66 = r48 * 384 + r65;
      const int r67 = r52 + 7;
      const int r68 = r51 * 12 + r67;
      const int r69 = (int)r68;
      const int r70 = r43 * 1024 + r42;
      if (r45) {
        {
          float r72[4];
          load(r72, b0 + r50);
          float r77[4];
          load(r77, b0 + r56);
          float r83[4];
          load(r83, b0 + r61);
          float r89[4];
          load(r89, b0 + r66);
          float r93[4];
          int r94[4];
          #pragma unroll
          for (int l = 0; l < 4; ++l) {
            const bool r73 = r72[l] > real(0xff800000u);
            const bool r74 = r73 | r22;
            const float r75 = r74 ? r72[l] : real(0xff800000u);
            const int r76 = r74 ? r54 : (-1);
            const bool r78 = r77[l] > r75;
            const bool r79 = r76 < 0;
            const bool r80 = r78 | r79;
            const float r81 = r80 ? r77[l] : r75;
            const int r82 = r80 ? r59 : r76;
            const bool r84 = r83[l] > r81;
            const bool r85 = r82 < 0;
            const bool r86 = r84 | r85;
            const float r87 = r86 ? r83[l] : r81;
            const int r88 = r86 ? r64 : r82;
            const bool r90 = r89[l] > r87;
            const bool r91 = r88 < 0;
            const bool r92 = r90 | r91;
            r93[l] = r92 ? r89[l] : r87;
            r94[l] = r92 ? r69 : r88;
          }
          store(b1 + r70, r93);
          store(b2 + r70, r94);
        }
      }
    }
  }
}
