// Values of instructions, in %r9: lane 0 then stores to as many sectors of 32 bytes as that says, which the count
// shows.
#include "test/ptx/kernel.h"

using maya::test::ptx_module;
using maya::test::PtxKernel;

namespace {

uint64_t result(const std::string& instructions) {
  PtxKernel kernel(ptx_module(".param .u64 k_param_0", R"(
    .reg .pred %p<8>; .reg .b16 %h<6>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .f32 %f<4>; .reg .f64 %d<4>;
    ld.param.u64 %rd10, [k_param_0];
    mov.u32 %r0, %tid.x;
    mov.u32 %r9, 0;
    { .reg .b32 %r9b; mov.b32 %r9b, 7; }
    )" + instructions + R"(
    setp.ne.u32 %p7, %r0, 0;
    @%p7 ret;
    mov.u32 %r10, 0;
  next:
    setp.ge.u32 %p6, %r10, %r9;
    @%p6 bra end;
    st.global.b32 [%rd10], %r0;
    add.s64 %rd10, %rd10, 32;
    add.u32 %r10, %r10, 1;
    bra.uni next;
  end:
    ret;)"));
  kernel.argument(0, uint64_t{0x7000'0000'0000}).grid(1, 1, 32);
  const auto work = kernel.count();
  REQUIRE(work);
  REQUIRE(work->uncertainty == 0);
  return static_cast<uint64_t>(work->requested_bytes / 32);
}

}  // namespace

TEST_CASE("Integer instructions give what the PTX ISA says") {
  // Each by hand, from the definitions in section 9.7.1 to 9.7.8.
  CHECK(result("mov.u32 %r9, 40;") == 40);
  CHECK(result("mov.s32 %r1, -7; div.s32 %r2, %r1, 2; neg.s32 %r9, %r2;") == 3);  // rounds to zero
  CHECK(result("mov.s32 %r1, -7; rem.s32 %r2, %r1, 4; neg.s32 %r9, %r2;") == 3);  // sign of the dividend
  CHECK(result("mov.u32 %r1, 0xfffffff9; shr.u32 %r2, %r1, 28; mov.u32 %r9, %r2;") == 15);
  CHECK(result("mov.u32 %r1, 0xfffffff9; shr.s32 %r2, %r1, 1; neg.s32 %r9, %r2;") == 4);  // -7 >> 1 = -4
  CHECK(result("mov.u32 %r1, 3; shl.b32 %r9, %r1, 4;") == 48);
  CHECK(result("mov.u32 %r1, 3; shl.b32 %r9, %r1, 32;") == 0);  // shifts of the width and more give 0
  CHECK(result("mov.u32 %r1, 0x10000; mul.hi.u32 %r9, %r1, 0x30000;") == 3);
  CHECK(result("mov.s32 %r1, -3; mul.wide.s32 %rd1, %r1, -5; cvt.u32.u64 %r9, %rd1;") == 15);
  CHECK(result("mov.u32 %r1, 6; mad.lo.u32 %r9, %r1, 7, 8;") == 50);
  CHECK(result("mov.u32 %r1, 0xf0; and.b32 %r2, %r1, 0x3c; shr.u32 %r9, %r2, 4;") == 3);
  CHECK(result("mov.u32 %r1, 0xf0f0; popc.b32 %r9, %r1;") == 8);
  CHECK(result("mov.u32 %r1, 0xff; clz.b32 %r9, %r1;") == 24);
  CHECK(result("mov.u32 %r1, 0x80000000; brev.b32 %r2, %r1; mov.u32 %r9, %r2;") == 1);
  CHECK(result("mov.u32 %r1, 0x1230; bfe.u32 %r9, %r1, 4, 4;") == 3);
  CHECK(result("mov.u32 %r1, 0x5; bfi.b32 %r9, %r1, 0, 2, 3;") == 20);
  CHECK(result("mov.u32 %r1, 0x44332211; mov.u32 %r2, 0; prmt.b32 %r3, %r1, %r2, 0x4441; and.b32 %r9, %r3, 0xff;") ==
        0x22);
  // a AND b OR NOT c has the table 0xd5 in PTX's example: F0 & CC | ~AA.
  CHECK(result("lop3.b32 %r1, 12, 10, 0xffffffff, 0xd5; mov.u32 %r9, %r1;") == 8);
  CHECK(result("mov.u32 %r1, 5; min.s32 %r2, %r1, -1; neg.s32 %r9, %r2;") == 1);
  CHECK(result("mov.u32 %r1, 5; max.u32 %r9, %r1, 9;") == 9);
  CHECK(result("mov.b32 %r1, 1; mov.b32 %r2, 2; mov.b64 %rd1, {%r1, %r2}; shr.u64 %rd2, %rd1, 32; cvt.u32.u64 %r9, "
               "%rd2;") == 2);
  CHECK(result("mov.b64 %rd1, 0x500000003; mov.b64 {%r1, %r9}, %rd1;") == 5);
  CHECK(result("mov.u16 %h1, 0xffff; cvt.s32.s16 %r1, %h1; neg.s32 %r9, %r1;") == 1);
  CHECK(result("mov.u32 %r1, 0x80000001; shf.l.wrap.b32 %r9, %r1, 0, 1;") == 1);
}

TEST_CASE("Floating-point instructions give what arithmetic gives") {
  CHECK(result("mov.f32 %f1, 0f40200000; mul.f32 %f2, %f1, %f1; cvt.rzi.u32.f32 %r9, %f2;") == 6);  // 2.5 squared
  CHECK(result("mov.f64 %d1, 0d4008000000000000; fma.rn.f64 %d2, %d1, %d1, %d1; cvt.rzi.s32.f64 %r9, %d2;") == 12);
  CHECK(result("mov.f32 %f1, 0fC0400000; abs.f32 %f2, %f1; cvt.rzi.u32.f32 %r9, %f2;") == 3);
}

TEST_CASE("Comparisons, selections and predicates") {
  CHECK(result("mov.s32 %r1, -1; setp.lt.s32 %p1, %r1, 0; selp.b32 %r9, 4, 5, %p1;") == 4);
  CHECK(result("mov.s32 %r1, -1; setp.lt.u32 %p1, %r1, 0; selp.b32 %r9, 4, 5, %p1;") == 5);
  CHECK(result("mov.s32 %r1, 3; setp.eq.s32 %p1|%p2, %r1, 3; selp.b32 %r9, 4, 5, %p2;") == 5);
  CHECK(result("setp.eq.s32 %p1, 1, 2; setp.eq.and.s32 %p2, 3, 3, !%p1; selp.b32 %r9, 4, 5, %p2;") == 4);
  CHECK(result("setp.eq.s32 %p1, 1, 2; @!%p1 mov.u32 %r9, 9; @%p1 mov.u32 %r9, 3;") == 9);
}

TEST_CASE("Lanes that part at a branch meet again behind it") {
  // Odd lanes add 1, even lanes 2; all add 4: lane 0 has 6. A vote behind the branch sees all 32 lanes.
  CHECK(result(R"(
    and.b32 %r1, %r0, 1;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra odd;
    add.u32 %r9, %r9, 2;
    bra meet;
  odd:
    add.u32 %r9, %r9, 1;
  meet:
    add.u32 %r9, %r9, 4;
    setp.ge.u32 %p2, %r0, 0;
    vote.sync.ballot.b32 %r2, %p2, -1;
    popc.b32 %r3, %r2;
    add.u32 %r9, %r9, %r3;)") == 38);
}

TEST_CASE("Shuffles take values from other lanes") {
  CHECK(result("shfl.sync.bfly.b32 %r9, %r0, 16, 31, -1;") == 16);
  CHECK(result("shfl.sync.idx.b32 %r9, %r0, 5, 31, -1;") == 5);
  CHECK(result("shfl.sync.down.b32 %r9|%p1, %r0, 3, 31, -1;") == 3);
  CHECK(result("add.u32 %r1, %r0, 8; shfl.sync.up.b32 %r9, %r1, 1, 0, -1;") == 8);  // lane 0 keeps its own
  CHECK(result("{ .reg .pred q; elect.sync %r1|q, -1; selp.b32 %r9, 11, 0, q; }") == 11);
}

TEST_CASE("Text that is no kernel is refused") {
  using maya::device::ptx::read_program;
  CHECK(read_program("", "k") == nullptr);
  CHECK(read_program(".entry k(", "k") == nullptr);
  CHECK(read_program(".entry k() { bra nowhere; }", "k") == nullptr);
  CHECK(read_program(".entry k() { ret; }", "other") == nullptr);
  CHECK(read_program(".entry k() { add.s32 %r1, %r2, ", "k") == nullptr);
  CHECK(read_program(".entry k() { ret; }", "k") != nullptr);
}
