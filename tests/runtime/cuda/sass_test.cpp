// Tests what is read from machine code as cuobjdump prints it: the main loop of a kernel, and the cycles of one round
// of it.
#include "runtime/cuda/sass.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::sass_test {
namespace {

using cuda::LoopWork;

// k_sums has two loops before its atomic operation, which load 16 bytes and 2 bytes a round. The loop after it, of the
// last block alone, loads 32 bytes a round.
constexpr const char* kReduction = R"(
	code for sm_90
		Function : k_sums
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                        /* 0x00000a00ff017b82 */
                                                                                 /* 0x000ff00000000800 */
        /*0010*/                   LDG.E R9, desc[UR4][R2.64] ;                  /* 0x0000000402097981 */
        /*0020*/                   LDG.E.128 R4, desc[UR4][R2.64] ;              /* 0x0000000402047981 */
        /*0030*/                   FSETP.GEU.AND P0, PT, R4, RZ, PT ;            /* 0x000000ff0400720b */
        /*0040*/                   FSEL R4, R4, RZ, P0 ;                         /* 0x000000ff04047208 */
        /*0050*/                   MUFU.RCP R5, R5 ;                             /* 0x0000000500057308 */
        /*0060*/                   FADD R6, R6, R4 ;                             /* 0x0000000406067221 */
        /*0070*/               @P1 BRA 0x20 ;                                    /* 0xfffffffc00a81947 */
        /*0080*/                   LDG.E.U16 R4, desc[UR4][R2.64] ;              /* 0x0000000402047981 */
        /*0090*/              @!P1 BRA 0x80 ;                                    /* 0xfffffffc00e81947 */
        /*00a0*/                   ATOMG.E.INC.STRONG.GPU PT, R3, desc[UR4][R2.64], R3 ; /* 0x0000000302037fa8 */
        /*00b0*/                   LDG.E.128 R4, desc[UR4][R2.64] ;              /* 0x0000000402047981 */
        /*00c0*/                   LDG.E.128 R8, desc[UR4][R2.64] ;              /* 0x0000000402047981 */
        /*00d0*/               @P1 BRA 0xb0 ;                                    /* 0xfffffffc00a81947 */
        /*00e0*/                   EXIT ;                                        /* 0x000000000000794d */
        /*00f0*/                   BRA 0xf0 ;                                    /* 0xfffffffc00fc7947 */
		Function : k_once
        /*0000*/                   LDG.E.64 R4, desc[UR4][R2.64] ;               /* 0x0000000402047981 */
        /*0010*/                   LOP3.LUT R4, R4, 0xffff0000, RZ, 0xc0, !PT ;  /* 0xffff000004047812 */
        /*0020*/                   STG.E.U8 desc[UR4][R2.64], R4 ;               /* 0x0000000402007986 */
        /*0030*/                   EXIT ;                                        /* 0x000000000000794d */
        /*0040*/                   BRA 0x40 ;                                    /* 0xfffffffc00fc7947 */
)";

BOOST_AUTO_TEST_SUITE(sass)

BOOST_AUTO_TEST_CASE(the_main_loop_moves_most_before_the_last_block) {
  const auto loops = cuda::main_loops(kReduction);
  BOOST_REQUIRE(loops.size() == 2u);
  const LoopWork& sums = loops.at("k_sums");
  BOOST_TEST(sums.instructions == 6);
  BOOST_TEST(sums.alu == 2);
  BOOST_TEST(sums.special == 1);
  BOOST_TEST(sums.loaded_bytes == 16);
  BOOST_TEST(sums.stored_bytes == 0);
}

BOOST_AUTO_TEST_CASE(a_kernel_without_a_loop_counts_whole) {
  const LoopWork once = cuda::main_loops(kReduction).at("k_once");
  BOOST_TEST(once.alu == 1);
  BOOST_TEST(once.loaded_bytes == 8);
  BOOST_TEST(once.stored_bytes == 1);
  BOOST_TEST(cuda::main_loops("").empty());
}

// A multiprocessor runs 128 instructions in a cycle at most, of which 64 are in the pipe "alu" and 16 are special.
BOOST_AUTO_TEST_CASE(a_round_takes_the_cycles_of_its_busiest_pipe) {
  BOOST_TEST((LoopWork{256, 64, 0, 0, 0}.cycles()) == 2.0);
  BOOST_TEST((LoopWork{256, 192, 0, 0, 0}.cycles()) == 3.0);
  BOOST_TEST((LoopWork{256, 192, 64, 0, 0}.cycles()) == 4.0);
}

BOOST_AUTO_TEST_CASE(a_disassembler_that_is_not_there_or_refuses_is_named) {
  BOOST_CHECK_EXCEPTION(cuda::disassembled("/nowhere/cuobjdump", "x"), Error, test::says("/nowhere/cuobjdump"));
  BOOST_CHECK_EXCEPTION(cuda::disassembled("/bin/false", "x"), Error, test::says("/bin/false -sass: exit code 1"));
  BOOST_TEST(cuda::disassembled("/bin/echo", "x").find("-sass /proc/") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::sass_test
