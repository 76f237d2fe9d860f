// What launches move and multiply, against counts by hand.
#include "test/ptx/kernel.h"

using maya::test::ptx_module;
using maya::test::PtxKernel;

namespace {

constexpr uint64_t kX = 0x7000'0000'0000, kY = 0x7100'0000'0000, kZ = 0x7200'0000'0000;

// y[i] = x[i] for i < n: one 4-byte element a thread.
const char kCopy[] = R"(
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u64 %rd2, [k_param_1];
  ld.param.u32 %r1, [k_param_2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $done;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.b32 %r2, [%rd4];
  add.s64 %rd5, %rd2, %rd3;
  st.global.b32 [%rd5], %r2;
$done:
  ret;
)";
const char kCopyParameters[] = ".param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2";

// Sums x[0], x[1], ... of 128 elements each, as often as a number says: a parameter, or one that is loaded from y.
std::string loop(bool loaded) {
  return std::string(R"(
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<3>;
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u64 %rd2, [k_param_1];
  )") + (loaded ? "ld.global.u32 %r1, [%rd2];" : "ld.param.u32 %r1, [k_param_2];") +
         R"(
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  mov.u32 %r3, 0;
  mov.f32 %f1, 0f00000000;
  setp.lt.s32 %p1, %r1, 1;
  @%p1 bra $end;
$next:
  ld.global.f32 %f2, [%rd4+0];
  add.f32 %f1, %f1, %f2;
  add.s64 %rd4, %rd4, 512;
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p2, %r3, %r1;
  @%p2 bra $next;
$end:
  add.s64 %rd5, %rd2, %rd3;
  st.global.f32 [%rd5+1024], %f1;
  ret;
)";
}

}  // namespace

TEST_CASE("A masked copy reads and writes its elements once, whatever the grid's last block leaves over") {
  for (const int n : {1000, 1024, 100'000'000}) {
    PtxKernel kernel(ptx_module(kCopyParameters, kCopy));
    const uint32_t blocks = static_cast<uint32_t>((n + 255) / 256);
    const auto work = kernel.argument(0, kX).argument(1, kY).argument(2, n).grid(blocks, 1, 256).count();
    REQUIRE(work);
    CAPTURE(n);
    CHECK(work->read_bytes == Approx(4.0 * n).epsilon(1e-5));
    CHECK(work->written_bytes == Approx(4.0 * n).epsilon(1e-5));
    CHECK(work->requested_bytes == Approx(8.0 * n).epsilon(1e-2));
    CHECK(work->uncertainty == 0);
    CHECK(work->flops[0] == 0);
  }
}

TEST_CASE("What all blocks read again comes from memory once, from the cache every time") {
  // Every block sums the same 10 rows of 512 bytes and writes 512 bytes to the same place.
  PtxKernel kernel(ptx_module(kCopyParameters, loop(false)));
  const auto work = kernel.argument(0, kX).argument(1, kY).argument(2, 10).grid(1000, 1, 128).count();
  REQUIRE(work);
  CHECK(work->read_bytes == 10 * 512);
  CHECK(work->written_bytes == 512);
  CHECK(work->requested_bytes == Approx(1000.0 * (10 * 512 + 512)));
  // 4 warps: 13 instructions that are no moves and no parameters outside of the loop's 10 times 6.
  CHECK(work->instructions > 1000.0 * 4 * 10 * 6);
  CHECK(work->instructions < 1000.0 * 4 * (10 * 6 + 13));
}

TEST_CASE("Blocks that do more than the first count for what they do") {
  // Block i sums 10 i rows, as causal attention does: the middle of all is half of the last.
  std::string body = loop(false);
  body.insert(body.find("mov.u32 %r2"), "mov.u32 %r4, %ctaid.x;\n  mul.lo.u32 %r1, %r4, 10;\n  ");
  for (const uint32_t blocks : {8u, 40u, 64u, 1000u}) {
    CAPTURE(blocks);
    PtxKernel kernel(ptx_module(kCopyParameters, body));
    const auto work = kernel.argument(0, kX).argument(1, kY).argument(2, 0).grid(blocks, 1, 128).count();
    REQUIRE(work);
    const double rows = 10.0 * blocks * (blocks - 1) / 2;
    CHECK(work->requested_bytes == Approx(512 * (rows + blocks)).epsilon(0.04));
    CHECK(work->read_bytes == 512 * 10.0 * (blocks - 1));
  }
}

TEST_CASE("What a warp reads again at once comes from its first-level cache") {
  // Thread i reads the 8 halves from 8 i on, one after another, as masked loads of Triton do: 512 bytes a warp, not 8
  // times that. Then it reads them again from a page further each time, so that the last ones are not those of the
  // first.
  const auto body = [](int times) {
    std::string text = R"(
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .b16 %h<2>;
  ld.param.u64 %rd1, [k_param_0];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 16;
  add.s64 %rd3, %rd1, %rd2;
)";
    for (int time = 0; time < times; ++time)
      for (int half = 0; half < 8; ++half)
        text += "  ld.global.b16 %h1, [%rd3+" + std::to_string(time * 4096 + half * 2) + "];\n";
    return text + "  ret;\n";
  };
  for (const int times : {1, 5}) {
    PtxKernel kernel(ptx_module(kCopyParameters, body(times)));
    const auto work = kernel.argument(0, kX).argument(1, kY).argument(2, 0).grid(1, 1, 128).count();
    REQUIRE(work);
    CHECK(work->requested_bytes == times * 4 * 512);
  }
}

TEST_CASE("Blocks whose work repeats along the grid count for what they do, in each of their warps") {
  // Block i copies the first i modulo `length` + 1 of 256 elements: rows of a causal softmax, one a block. All rows of
  // all matrices together: length (length + 1) / 2 elements a matrix, cut off at 256.
  std::string body = kCopy;
  const size_t masked = body.find("setp.ge.s32");
  body.erase(masked, body.find("@%p1") - masked);
  body.insert(masked, "rem.u32 %r3, %r2, %r1;\n  setp.gt.s32 %p1, %r4, %r3;\n  ");
  for (const uint32_t length : {8u, 64u, 100u, 256u, 1024u}) {
    for (const uint32_t matrices : {128u, 1000u}) {
      CAPTURE(length, matrices);
      PtxKernel kernel(ptx_module(kCopyParameters, body));
      const auto work =
          kernel.argument(0, kX).argument(1, kY).argument(2, length).grid(length * matrices, 1, 256).count();
      REQUIRE(work);
      double elements = 0;
      for (uint32_t row = 0; row < length; ++row) elements += std::min(row + 1, 256u);
      // Whole sectors of 32 bytes: 8 elements, of which half a sector more is fetched on average. 64 blocks are a
      // sample.
      const double most = 8.0 * matrices * (elements + 7.0 * std::min(length, 256u) / 2 + 8.0 * length);
      CHECK(work->requested_bytes >= 8.0 * matrices * elements * 0.9);
      CHECK(work->requested_bytes <= most * 1.1);
    }
  }
}

TEST_CASE("A loop that a loaded number bounds runs as often as the number says when memory has it") {
  PtxKernel kernel(ptx_module(kCopyParameters, loop(true)));
  kernel.argument(0, kX).argument(1, kY).grid(8, 1, 128);
  kernel.surroundings.numbers[kY] = 7;
  const auto work = kernel.count();
  REQUIRE(work);
  CHECK(work->uncertainty == 0);
  CHECK(work->read_bytes == 7 * 512 + 4);  // and the number
}

TEST_CASE("A loop that an unknown number bounds makes the work unknown") {
  PtxKernel kernel(ptx_module(kCopyParameters, loop(true)));
  const auto work = kernel.argument(0, kX).argument(1, kY).grid(8, 1, 128).count();
  REQUIRE(work);
  CHECK(work->uncertainty == 1);
}

TEST_CASE("An unknown number that is bounded by a known one gives the middle of both ends") {
  // As attention over blocks of a mask: tiles = min(loaded, 20).
  std::string body = loop(true);
  body.insert(body.find("mov.u32 %r2"), "min.s32 %r1, %r1, 20;\n  ");
  PtxKernel kernel(ptx_module(kCopyParameters, body));
  const auto work = kernel.argument(0, kX).argument(1, kY).grid(8, 1, 128).count();
  REQUIRE(work);
  CHECK(work->uncertainty > 0.5);
  CHECK(work->uncertainty < 1);
  CHECK(work->read_bytes == 10 * 512 + 4);  // between none and 20 rows
}

TEST_CASE("Matrix instructions count two operations for each product of a tile") {
  // 16 x 8 x 16 a warp; 64 x 128 x 16 for the four warps of a group together; one thread asks for 128 x 256 x 16.
  struct Case {
    const char* body;
    int type;
    double flops_of_block;  // of 128 threads
  };
  const Case kCases[] = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
       "{%f1,%f2,%f3,%f4};",
       0, 4 * 2.0 * 16 * 8 * 16},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
       "{%f1,%f2,%f3,%f4};",
       1, 4 * 2.0 * 16 * 8 * 8},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
       "{%f1,%f2,%f3,%f4};",
       2, 4 * 2.0 * 16 * 8 * 32},
      {"wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f1,%f2}, %rd1, %rd2, 1, 1, "
       "1, "
       "0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
       0, 2.0 * 64 * 128 * 16},
      // Instruction descriptor: N / 8 = 32 at bit 17, M / 16 = 8 at bit 24.
      {"mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; mov.u32 %r2, 138412032; "
       "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r3 + 0], %rd1, %rd2, %r2, %p2;",
       0, 2.0 * 128 * 256 * 16},
  };
  static_assert((32u << 17 | 8u << 24) == 138412032);
  for (const Case& one : kCases) {
    CAPTURE(one.body);
    PtxKernel kernel(ptx_module(
        "",
        std::string(".reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<3>; .reg .f32 %f<5>;\n") + one.body + "\nret;"));
    const auto work = kernel.grid(10, 20, 128).count();
    REQUIRE(work);
    for (int type = 0; type < maya::device::kMatrixTypes; ++type)
      CHECK(work->flops[type] == (type == one.type ? Approx(200 * one.flops_of_block) : Approx(0)));
  }
}

TEST_CASE("Asynchronous copies read what is not masked; bulk copies what the descriptor's box holds") {
  SECTION("cp.async, half of the threads masked by a size of nothing") {
    PtxKernel kernel(ptx_module(".param .u64 k_param_0", R"(
      .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
      ld.param.u64 %rd1, [k_param_0];
      mov.u32 %r1, %tid.x;
      mul.wide.u32 %rd2, %r1, 16;
      add.s64 %rd3, %rd1, %rd2;
      setp.lt.u32 %p1, %r1, 64;
      selp.b32 %r2, 16, 0, %p1;
      cp.async.cg.shared.global [ %r3 + 0 ], [ %rd3 + 0 ], 0x10, %r2;
      cp.async.commit_group;
      cp.async.wait_group 0;
      ret;)"));
    const auto work = kernel.argument(0, kX).grid(1, 1, 128).count();
    REQUIRE(work);
    CHECK(work->read_bytes == 64 * 16);
  }
  SECTION("cp.async.bulk.tensor by one thread, a 64 x 128 box of 2-byte elements of a tensor of 1 MiB, in 200 blocks") {
    PtxKernel kernel(ptx_module(".param .align 64 .b8 k_param_0[128]", R"(
      .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
      .shared .align 128 .b8 smem[16392];
      mov.b32 %r3, k_param_0;
      cvt.u64.u32 %rd2, %r3;
      cvta.param.u64 %rd1, %rd2;
      mov.u32 %r1, %tid.x;
      mov.b32 %r2, smem;
      setp.eq.u32 %p1, %r1, 0;
      @%p1 mbarrier.init.shared::cta.b64 [%r2+16384], 1;
      @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2+16384], 16384;
      @%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r1, %r1}], [%r2+16384];
    wait:
      mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+16384], 0;
      @!%p2 bra wait;
      ret;)"));
    kernel.surroundings.map = maya::device::ptx::TensorMap{1 << 20, 16384};
    const auto work = kernel.grid(200, 1, 128).count();
    REQUIRE(work);
    CHECK(work->requested_bytes == Approx(200.0 * 16384));
    CHECK(work->read_bytes == 1 << 20);
  }
}

TEST_CASE("A kernel that never ends is given up") {
  PtxKernel kernel(ptx_module("", "again: bra again;\nret;"));
  CHECK_FALSE(kernel.grid(1, 1, 32).count());
}
