// Kernels whose blocks work together: barriers of a whole grid, locks, clusters, launches that depend on each other.
#include "test/ptx/kernel.h"

using maya::test::ptx_module;
using maya::test::PtxKernel;

namespace {

constexpr uint64_t kX = 0x7000'0000'0000, kY = 0x7100'0000'0000, kBarrier = 0x7200'0000'0000;

const char* const kParameters = ".param .u64 .ptr k_param_0, .param .u64 .ptr k_param_1, .param .u64 .ptr k_param_2";

// Each thread copies a number; between its load and its store stands `between`, which thread 0 of each block runs.
std::string copies_around(const std::string& between) {
  return ptx_module(kParameters, R"(
    .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1]; ld.param.u64 %rd3, [k_param_2];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd4, %r4, 4;
    add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4;
    ld.global.b32 %r5, [%rd5];
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra together;
)" + between + R"(
  together:
    bar.sync 0;
    st.global.b32 [%rd6], %r5;
    ret;)");
}

struct Counted {
  double read_bytes, written_bytes, uncertainty;
};

Counted count(const std::string& between, const std::map<uint64_t, uint64_t>& known = {}) {
  PtxKernel kernel(copies_around(between));
  kernel.argument(0, kX).argument(1, kY).argument(2, kBarrier).grid(16, 1, 128);
  kernel.surroundings.numbers = known;
  const auto work = kernel.count();
  REQUIRE(work);
  return {work->read_bytes, work->written_bytes, work->uncertainty};
}

}  // namespace

// The barrier of a cooperative grid: all arrive by an atomic operation, and wait until the upper bit of the word turns.
TEST_CASE("A barrier of the whole grid costs one look, whatever its word holds") {
  const std::string arrive = "membar.gl; atom.add.release.gpu.global.u32 %r6, [%rd3], 1;";
  const std::string back = arrive + R"(
  again:
    ld.acquire.gpu.global.u32 %r7, [%rd3];
    xor.b32 %r8, %r7, %r6;
    setp.gt.s32 %p2, %r8, -1;
    @%p2 bra again;)";
  const std::string out = arrive + R"(
  again:
    ld.volatile.global.u32 %r7, [%rd3];
    xor.b32 %r8, %r7, %r6;
    setp.lt.s32 %p2, %r8, 0;
    @%p2 bra through;
    nanosleep.u32 20;
    bra.uni again;
  through:)";
  // 16 blocks of 128 numbers of 4 bytes, and the barrier's word with its sector.
  for (const std::string& barrier : {back, out}) {
    for (const auto& known : {std::map<uint64_t, uint64_t>{}, std::map<uint64_t, uint64_t>{{kBarrier, 0}}}) {
      const Counted work = count(barrier, known);
      CHECK(work.uncertainty == 0);
      CHECK(work.read_bytes == Approx(16 * 128 * 4 + 4));
      CHECK(work.written_bytes == Approx(16 * 128 * 4 + 4));
    }
  }
}

TEST_CASE("A lock is taken at the first try") {
  const Counted work = count(R"(
  again:
    atom.cas.acquire.gpu.global.b32 %r6, [%rd3], 0, 1;
    setp.ne.s32 %p2, %r6, 0;
    @%p2 bra again;
    st.release.gpu.global.b32 [%rd3], 0;)",
                             {{kBarrier, 1}});
  CHECK(work.uncertainty == 0);
  CHECK(work.read_bytes == Approx(16 * 128 * 4 + 4));
}

TEST_CASE("A loop that reads other places each time, or counts, is no waiting") {
  // As many rounds as the word says: unknown.
  CHECK(count(R"(
    mov.u32 %r6, 0;
  again:
    ld.global.u32 %r7, [%rd3];
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, %r7;
    @%p2 bra again;)")
            .uncertainty == 1);
  // A list: the next place is what was read.
  CHECK(count(R"(
    mov.u32 %r6, 0;
  again:
    add.u64 %rd3, %rd3, 4;
    ld.global.u32 %r7, [%rd3];
    setp.gt.u32 %p2, %r7, 5;
    @%p2 bra again;)")
            .uncertainty == 1);
}

// A cluster's blocks reach each other's shared memory: no device memory is touched.
TEST_CASE("Clusters: shared memory of other blocks, barriers, launches that follow each other") {
  PtxKernel kernel(copies_around(R"(
    mov.u32 %r6, %cluster_ctarank;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    xor.b32 %r7, %r6, 1;
    mov.u32 %r8, 64;
    mapa.shared::cluster.u32 %r9, %r8, %r7;
    ld.shared::cluster.b32 %r10, [%r9];
    st.shared::cluster.b32 [%r9], %r10;
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r9], %r10, [%r9];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9], %r10, [%r9];
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    isspacep.shared::cluster %p3, %rd3;
    getctarank.shared::cluster.u32 %r11, %r9;)"));
  kernel.argument(0, kX).argument(1, kY).argument(2, kBarrier).grid(16, 1, 128);
  kernel.launch.cluster[0] = 2;
  kernel.launch.cluster[1] = kernel.launch.cluster[2] = 1;
  const auto work = kernel.count();
  REQUIRE(work);
  CHECK(work->uncertainty == 0);
  CHECK(work->read_bytes == Approx(16 * 128 * 4));
  CHECK(work->written_bytes == Approx(16 * 128 * 4));
}

TEST_CASE("A block of a cluster knows its place in it") {
  // Only the first block of each cluster of four stores.
  PtxKernel kernel(ptx_module(kParameters, R"(
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %clusterid.x; mov.u32 %r3, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    mad.lo.u32 %r4, %r2, 128, %r3;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.b32 [%rd3], %r3;
    ret;)"));
  kernel.argument(0, kX).grid(16, 1, 128);
  kernel.launch.cluster[0] = 4;
  kernel.launch.cluster[1] = kernel.launch.cluster[2] = 1;
  const auto work = kernel.count();
  REQUIRE(work);
  CHECK(work->written_bytes == Approx(4 * 128 * 4));
}
