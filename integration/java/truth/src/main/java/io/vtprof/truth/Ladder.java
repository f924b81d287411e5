package io.vtprof.truth;

/**
 * Methods whose names carry their depth: {@code d7} is called by {@code d6} and by nothing else, so a chain of
 * them says itself whether it is whole.
 */
final class Ladder {
  /** The deepest step. */
  static final int DEEPEST = 149;

  private Ladder() {}

  /** What happens on the way. */
  interface Steps {
    void bottom(int depth);

    void up(int depth);
  }

  /** One way down and up. */
  record Job(int depth, Steps steps) {
    void bottom() {
      steps.bottom(depth);
    }

    void up(int at) {
      steps.up(at);
    }
  }

  static void d0(Job job) { if (job.depth > 0) { d1(job); } else { job.bottom(); } job.up(0); }
  static void d1(Job job) { if (job.depth > 1) { d2(job); } else { job.bottom(); } job.up(1); }
  static void d2(Job job) { if (job.depth > 2) { d3(job); } else { job.bottom(); } job.up(2); }
  static void d3(Job job) { if (job.depth > 3) { d4(job); } else { job.bottom(); } job.up(3); }
  static void d4(Job job) { if (job.depth > 4) { d5(job); } else { job.bottom(); } job.up(4); }
  static void d5(Job job) { if (job.depth > 5) { d6(job); } else { job.bottom(); } job.up(5); }
  static void d6(Job job) { if (job.depth > 6) { d7(job); } else { job.bottom(); } job.up(6); }
  static void d7(Job job) { if (job.depth > 7) { d8(job); } else { job.bottom(); } job.up(7); }
  static void d8(Job job) { if (job.depth > 8) { d9(job); } else { job.bottom(); } job.up(8); }
  static void d9(Job job) { if (job.depth > 9) { d10(job); } else { job.bottom(); } job.up(9); }
  static void d10(Job job) { if (job.depth > 10) { d11(job); } else { job.bottom(); } job.up(10); }
  static void d11(Job job) { if (job.depth > 11) { d12(job); } else { job.bottom(); } job.up(11); }
  static void d12(Job job) { if (job.depth > 12) { d13(job); } else { job.bottom(); } job.up(12); }
  static void d13(Job job) { if (job.depth > 13) { d14(job); } else { job.bottom(); } job.up(13); }
  static void d14(Job job) { if (job.depth > 14) { d15(job); } else { job.bottom(); } job.up(14); }
  static void d15(Job job) { if (job.depth > 15) { d16(job); } else { job.bottom(); } job.up(15); }
  static void d16(Job job) { if (job.depth > 16) { d17(job); } else { job.bottom(); } job.up(16); }
  static void d17(Job job) { if (job.depth > 17) { d18(job); } else { job.bottom(); } job.up(17); }
  static void d18(Job job) { if (job.depth > 18) { d19(job); } else { job.bottom(); } job.up(18); }
  static void d19(Job job) { if (job.depth > 19) { d20(job); } else { job.bottom(); } job.up(19); }
  static void d20(Job job) { if (job.depth > 20) { d21(job); } else { job.bottom(); } job.up(20); }
  static void d21(Job job) { if (job.depth > 21) { d22(job); } else { job.bottom(); } job.up(21); }
  static void d22(Job job) { if (job.depth > 22) { d23(job); } else { job.bottom(); } job.up(22); }
  static void d23(Job job) { if (job.depth > 23) { d24(job); } else { job.bottom(); } job.up(23); }
  static void d24(Job job) { if (job.depth > 24) { d25(job); } else { job.bottom(); } job.up(24); }
  static void d25(Job job) { if (job.depth > 25) { d26(job); } else { job.bottom(); } job.up(25); }
  static void d26(Job job) { if (job.depth > 26) { d27(job); } else { job.bottom(); } job.up(26); }
  static void d27(Job job) { if (job.depth > 27) { d28(job); } else { job.bottom(); } job.up(27); }
  static void d28(Job job) { if (job.depth > 28) { d29(job); } else { job.bottom(); } job.up(28); }
  static void d29(Job job) { if (job.depth > 29) { d30(job); } else { job.bottom(); } job.up(29); }
  static void d30(Job job) { if (job.depth > 30) { d31(job); } else { job.bottom(); } job.up(30); }
  static void d31(Job job) { if (job.depth > 31) { d32(job); } else { job.bottom(); } job.up(31); }
  static void d32(Job job) { if (job.depth > 32) { d33(job); } else { job.bottom(); } job.up(32); }
  static void d33(Job job) { if (job.depth > 33) { d34(job); } else { job.bottom(); } job.up(33); }
  static void d34(Job job) { if (job.depth > 34) { d35(job); } else { job.bottom(); } job.up(34); }
  static void d35(Job job) { if (job.depth > 35) { d36(job); } else { job.bottom(); } job.up(35); }
  static void d36(Job job) { if (job.depth > 36) { d37(job); } else { job.bottom(); } job.up(36); }
  static void d37(Job job) { if (job.depth > 37) { d38(job); } else { job.bottom(); } job.up(37); }
  static void d38(Job job) { if (job.depth > 38) { d39(job); } else { job.bottom(); } job.up(38); }
  static void d39(Job job) { if (job.depth > 39) { d40(job); } else { job.bottom(); } job.up(39); }
  static void d40(Job job) { if (job.depth > 40) { d41(job); } else { job.bottom(); } job.up(40); }
  static void d41(Job job) { if (job.depth > 41) { d42(job); } else { job.bottom(); } job.up(41); }
  static void d42(Job job) { if (job.depth > 42) { d43(job); } else { job.bottom(); } job.up(42); }
  static void d43(Job job) { if (job.depth > 43) { d44(job); } else { job.bottom(); } job.up(43); }
  static void d44(Job job) { if (job.depth > 44) { d45(job); } else { job.bottom(); } job.up(44); }
  static void d45(Job job) { if (job.depth > 45) { d46(job); } else { job.bottom(); } job.up(45); }
  static void d46(Job job) { if (job.depth > 46) { d47(job); } else { job.bottom(); } job.up(46); }
  static void d47(Job job) { if (job.depth > 47) { d48(job); } else { job.bottom(); } job.up(47); }
  static void d48(Job job) { if (job.depth > 48) { d49(job); } else { job.bottom(); } job.up(48); }
  static void d49(Job job) { if (job.depth > 49) { d50(job); } else { job.bottom(); } job.up(49); }
  static void d50(Job job) { if (job.depth > 50) { d51(job); } else { job.bottom(); } job.up(50); }
  static void d51(Job job) { if (job.depth > 51) { d52(job); } else { job.bottom(); } job.up(51); }
  static void d52(Job job) { if (job.depth > 52) { d53(job); } else { job.bottom(); } job.up(52); }
  static void d53(Job job) { if (job.depth > 53) { d54(job); } else { job.bottom(); } job.up(53); }
  static void d54(Job job) { if (job.depth > 54) { d55(job); } else { job.bottom(); } job.up(54); }
  static void d55(Job job) { if (job.depth > 55) { d56(job); } else { job.bottom(); } job.up(55); }
  static void d56(Job job) { if (job.depth > 56) { d57(job); } else { job.bottom(); } job.up(56); }
  static void d57(Job job) { if (job.depth > 57) { d58(job); } else { job.bottom(); } job.up(57); }
  static void d58(Job job) { if (job.depth > 58) { d59(job); } else { job.bottom(); } job.up(58); }
  static void d59(Job job) { if (job.depth > 59) { d60(job); } else { job.bottom(); } job.up(59); }
  static void d60(Job job) { if (job.depth > 60) { d61(job); } else { job.bottom(); } job.up(60); }
  static void d61(Job job) { if (job.depth > 61) { d62(job); } else { job.bottom(); } job.up(61); }
  static void d62(Job job) { if (job.depth > 62) { d63(job); } else { job.bottom(); } job.up(62); }
  static void d63(Job job) { if (job.depth > 63) { d64(job); } else { job.bottom(); } job.up(63); }
  static void d64(Job job) { if (job.depth > 64) { d65(job); } else { job.bottom(); } job.up(64); }
  static void d65(Job job) { if (job.depth > 65) { d66(job); } else { job.bottom(); } job.up(65); }
  static void d66(Job job) { if (job.depth > 66) { d67(job); } else { job.bottom(); } job.up(66); }
  static void d67(Job job) { if (job.depth > 67) { d68(job); } else { job.bottom(); } job.up(67); }
  static void d68(Job job) { if (job.depth > 68) { d69(job); } else { job.bottom(); } job.up(68); }
  static void d69(Job job) { if (job.depth > 69) { d70(job); } else { job.bottom(); } job.up(69); }
  static void d70(Job job) { if (job.depth > 70) { d71(job); } else { job.bottom(); } job.up(70); }
  static void d71(Job job) { if (job.depth > 71) { d72(job); } else { job.bottom(); } job.up(71); }
  static void d72(Job job) { if (job.depth > 72) { d73(job); } else { job.bottom(); } job.up(72); }
  static void d73(Job job) { if (job.depth > 73) { d74(job); } else { job.bottom(); } job.up(73); }
  static void d74(Job job) { if (job.depth > 74) { d75(job); } else { job.bottom(); } job.up(74); }
  static void d75(Job job) { if (job.depth > 75) { d76(job); } else { job.bottom(); } job.up(75); }
  static void d76(Job job) { if (job.depth > 76) { d77(job); } else { job.bottom(); } job.up(76); }
  static void d77(Job job) { if (job.depth > 77) { d78(job); } else { job.bottom(); } job.up(77); }
  static void d78(Job job) { if (job.depth > 78) { d79(job); } else { job.bottom(); } job.up(78); }
  static void d79(Job job) { if (job.depth > 79) { d80(job); } else { job.bottom(); } job.up(79); }
  static void d80(Job job) { if (job.depth > 80) { d81(job); } else { job.bottom(); } job.up(80); }
  static void d81(Job job) { if (job.depth > 81) { d82(job); } else { job.bottom(); } job.up(81); }
  static void d82(Job job) { if (job.depth > 82) { d83(job); } else { job.bottom(); } job.up(82); }
  static void d83(Job job) { if (job.depth > 83) { d84(job); } else { job.bottom(); } job.up(83); }
  static void d84(Job job) { if (job.depth > 84) { d85(job); } else { job.bottom(); } job.up(84); }
  static void d85(Job job) { if (job.depth > 85) { d86(job); } else { job.bottom(); } job.up(85); }
  static void d86(Job job) { if (job.depth > 86) { d87(job); } else { job.bottom(); } job.up(86); }
  static void d87(Job job) { if (job.depth > 87) { d88(job); } else { job.bottom(); } job.up(87); }
  static void d88(Job job) { if (job.depth > 88) { d89(job); } else { job.bottom(); } job.up(88); }
  static void d89(Job job) { if (job.depth > 89) { d90(job); } else { job.bottom(); } job.up(89); }
  static void d90(Job job) { if (job.depth > 90) { d91(job); } else { job.bottom(); } job.up(90); }
  static void d91(Job job) { if (job.depth > 91) { d92(job); } else { job.bottom(); } job.up(91); }
  static void d92(Job job) { if (job.depth > 92) { d93(job); } else { job.bottom(); } job.up(92); }
  static void d93(Job job) { if (job.depth > 93) { d94(job); } else { job.bottom(); } job.up(93); }
  static void d94(Job job) { if (job.depth > 94) { d95(job); } else { job.bottom(); } job.up(94); }
  static void d95(Job job) { if (job.depth > 95) { d96(job); } else { job.bottom(); } job.up(95); }
  static void d96(Job job) { if (job.depth > 96) { d97(job); } else { job.bottom(); } job.up(96); }
  static void d97(Job job) { if (job.depth > 97) { d98(job); } else { job.bottom(); } job.up(97); }
  static void d98(Job job) { if (job.depth > 98) { d99(job); } else { job.bottom(); } job.up(98); }
  static void d99(Job job) { if (job.depth > 99) { d100(job); } else { job.bottom(); } job.up(99); }
  static void d100(Job job) { if (job.depth > 100) { d101(job); } else { job.bottom(); } job.up(100); }
  static void d101(Job job) { if (job.depth > 101) { d102(job); } else { job.bottom(); } job.up(101); }
  static void d102(Job job) { if (job.depth > 102) { d103(job); } else { job.bottom(); } job.up(102); }
  static void d103(Job job) { if (job.depth > 103) { d104(job); } else { job.bottom(); } job.up(103); }
  static void d104(Job job) { if (job.depth > 104) { d105(job); } else { job.bottom(); } job.up(104); }
  static void d105(Job job) { if (job.depth > 105) { d106(job); } else { job.bottom(); } job.up(105); }
  static void d106(Job job) { if (job.depth > 106) { d107(job); } else { job.bottom(); } job.up(106); }
  static void d107(Job job) { if (job.depth > 107) { d108(job); } else { job.bottom(); } job.up(107); }
  static void d108(Job job) { if (job.depth > 108) { d109(job); } else { job.bottom(); } job.up(108); }
  static void d109(Job job) { if (job.depth > 109) { d110(job); } else { job.bottom(); } job.up(109); }
  static void d110(Job job) { if (job.depth > 110) { d111(job); } else { job.bottom(); } job.up(110); }
  static void d111(Job job) { if (job.depth > 111) { d112(job); } else { job.bottom(); } job.up(111); }
  static void d112(Job job) { if (job.depth > 112) { d113(job); } else { job.bottom(); } job.up(112); }
  static void d113(Job job) { if (job.depth > 113) { d114(job); } else { job.bottom(); } job.up(113); }
  static void d114(Job job) { if (job.depth > 114) { d115(job); } else { job.bottom(); } job.up(114); }
  static void d115(Job job) { if (job.depth > 115) { d116(job); } else { job.bottom(); } job.up(115); }
  static void d116(Job job) { if (job.depth > 116) { d117(job); } else { job.bottom(); } job.up(116); }
  static void d117(Job job) { if (job.depth > 117) { d118(job); } else { job.bottom(); } job.up(117); }
  static void d118(Job job) { if (job.depth > 118) { d119(job); } else { job.bottom(); } job.up(118); }
  static void d119(Job job) { if (job.depth > 119) { d120(job); } else { job.bottom(); } job.up(119); }
  static void d120(Job job) { if (job.depth > 120) { d121(job); } else { job.bottom(); } job.up(120); }
  static void d121(Job job) { if (job.depth > 121) { d122(job); } else { job.bottom(); } job.up(121); }
  static void d122(Job job) { if (job.depth > 122) { d123(job); } else { job.bottom(); } job.up(122); }
  static void d123(Job job) { if (job.depth > 123) { d124(job); } else { job.bottom(); } job.up(123); }
  static void d124(Job job) { if (job.depth > 124) { d125(job); } else { job.bottom(); } job.up(124); }
  static void d125(Job job) { if (job.depth > 125) { d126(job); } else { job.bottom(); } job.up(125); }
  static void d126(Job job) { if (job.depth > 126) { d127(job); } else { job.bottom(); } job.up(126); }
  static void d127(Job job) { if (job.depth > 127) { d128(job); } else { job.bottom(); } job.up(127); }
  static void d128(Job job) { if (job.depth > 128) { d129(job); } else { job.bottom(); } job.up(128); }
  static void d129(Job job) { if (job.depth > 129) { d130(job); } else { job.bottom(); } job.up(129); }
  static void d130(Job job) { if (job.depth > 130) { d131(job); } else { job.bottom(); } job.up(130); }
  static void d131(Job job) { if (job.depth > 131) { d132(job); } else { job.bottom(); } job.up(131); }
  static void d132(Job job) { if (job.depth > 132) { d133(job); } else { job.bottom(); } job.up(132); }
  static void d133(Job job) { if (job.depth > 133) { d134(job); } else { job.bottom(); } job.up(133); }
  static void d134(Job job) { if (job.depth > 134) { d135(job); } else { job.bottom(); } job.up(134); }
  static void d135(Job job) { if (job.depth > 135) { d136(job); } else { job.bottom(); } job.up(135); }
  static void d136(Job job) { if (job.depth > 136) { d137(job); } else { job.bottom(); } job.up(136); }
  static void d137(Job job) { if (job.depth > 137) { d138(job); } else { job.bottom(); } job.up(137); }
  static void d138(Job job) { if (job.depth > 138) { d139(job); } else { job.bottom(); } job.up(138); }
  static void d139(Job job) { if (job.depth > 139) { d140(job); } else { job.bottom(); } job.up(139); }
  static void d140(Job job) { if (job.depth > 140) { d141(job); } else { job.bottom(); } job.up(140); }
  static void d141(Job job) { if (job.depth > 141) { d142(job); } else { job.bottom(); } job.up(141); }
  static void d142(Job job) { if (job.depth > 142) { d143(job); } else { job.bottom(); } job.up(142); }
  static void d143(Job job) { if (job.depth > 143) { d144(job); } else { job.bottom(); } job.up(143); }
  static void d144(Job job) { if (job.depth > 144) { d145(job); } else { job.bottom(); } job.up(144); }
  static void d145(Job job) { if (job.depth > 145) { d146(job); } else { job.bottom(); } job.up(145); }
  static void d146(Job job) { if (job.depth > 146) { d147(job); } else { job.bottom(); } job.up(146); }
  static void d147(Job job) { if (job.depth > 147) { d148(job); } else { job.bottom(); } job.up(147); }
  static void d148(Job job) { if (job.depth > 148) { d149(job); } else { job.bottom(); } job.up(148); }
  static void d149(Job job) { if (job.depth > 149) { d150(job); } else { job.bottom(); } job.up(149); }

  static void d150(Job job) {
    throw new IllegalStateException("deeper than the ladder: " + job.depth());
  }
}
