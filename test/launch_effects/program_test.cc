// Small kernels that are carried out from their instructions: results by hand, as the device would leave them.
#include "test/launch_effects/launch_helpers.h"

using namespace maya::test;

namespace {

std::vector<maya::device::KernelParameter> pointers(uint32_t count) {
  std::vector<maya::device::KernelParameter> list;
  for (uint32_t i = 0; i < count; ++i) list.push_back({8 * i, 8});
  return list;
}

// Parameters %rd1, %rd2, ... and the numbers of thread and block, %r1 and %r2, with 4 times the block in %rd20.
std::string entry(uint32_t count, const std::string& body) {
  std::string parameters, loads;
  for (uint32_t i = 0; i < count; ++i) {
    parameters += std::string(i == 0 ? "" : ", ") + ".param .u64 k_param_" + std::to_string(i);
    loads += "ld.param.u64 %rd" + std::to_string(i + 1) + ", [k_param_" + std::to_string(i) + "];\n";
  }
  return "k(" + parameters + ")\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<30>; .reg .b64 %rd<40>; " +
         ".reg .f32 %f<9>;\n" + loads + "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd20, %r2, 4;\n" +
         body + "\nret;\n}\n";
}

// tokens made by a serving engine's step, one block a request: a request whose prompt is not done yet makes none.
//   sampled[b] = length[b] < prompt[map[b]] ? 0 : sampled[b]; total[map[b]] += sampled[b]; last[map[b]] = token[b]
const char kCount[] = R"(
  add.s64 %rd21, %rd1, %rd20; ld.global.b32 %r3, [%rd21];
  mul.wide.s32 %rd22, %r3, 4;
  add.s64 %rd23, %rd2, %rd20; ld.global.b32 %r4, [%rd23];
  add.s64 %rd24, %rd3, %rd22; ld.global.b32 %r5, [%rd24];
  add.s64 %rd25, %rd4, %rd20; ld.global.b32 %r6, [%rd25];
  setp.lt.s32 %p1, %r4, %r5;
  selp.b32 %r7, 0, %r6, %p1;
  setp.eq.u32 %p2, %r1, 0;
  @%p2 st.global.b32 [%rd25], { %r7 };
  add.s64 %rd26, %rd5, %rd22; ld.global.b32 %r8, [%rd26];
  add.s32 %r9, %r8, %r7;
  @%p2 st.global.b32 [%rd26], %r9;
  setp.lt.s32 %p3, %r7, 1;
  @%p3 bra $end;
  add.s64 %rd27, %rd6, %rd20; ld.global.b32 %r10, [%rd27];
  add.s64 %rd28, %rd7, %rd22;
  @%p2 st.global.b32 [%rd28], %r10;
$end:
)";

struct Counting {
  std::unique_ptr<Memory> memory = make_memory();
  Address map = allocate(*memory, 512), length = allocate(*memory, 512), prompt = allocate(*memory, 512),
          sampled = allocate(*memory, 512), total = allocate(*memory, 512), token = allocate(*memory, 512),
          last = allocate(*memory, 512);

  Counting() {
    put<int32_t>(*memory, map, {2, 0, 1});
    put<int32_t>(*memory, length, {7, 4, 9});
    put<int32_t>(*memory, prompt, {5, 9, 7});
    put<int32_t>(*memory, sampled, {1, 1, 1});
    put<int32_t>(*memory, total, {5, 11, 20});
    put<int32_t>(*memory, last, {-1, -2, -3});
  }
  void launch(const std::string& body = kCount) {
    const TestKernel kernel("k", pointers(7), entry(7, body));
    kernel.launch(*memory,
                  {value(map), value(length), value(prompt), value(sampled), value(total), value(token), value(last)},
                  3);
  }
};

}  // namespace

TEST_CASE("A kernel that counts tokens goes on counting, whatever the tokens are") {
  // Request 0 is in place 2 with a prompt of 7 that is done at length 7; request 1 in place 0: 4 of 5; request 2 in
  // place 1: 9 of 9. Four warps load what the first of them stores: they add to what was there before.
  Counting step;
  step.launch();
  CHECK(get<int32_t>(*step.memory, step.sampled, 3) == std::vector<int32_t>{1, 0, 1});
  CHECK(get<int32_t>(*step.memory, step.total, 3) == std::vector<int32_t>{5, 12, 21});
  CHECK(step.memory->known(step.total, 12));
  // Tokens come from logits, so nobody knows them; the place of the request without one keeps what it had.
  CHECK(!step.memory->known(step.last + 4, 8));
  CHECK(get<int32_t>(*step.memory, step.last, 3) == std::vector<int32_t>{-1, 0, 0});
  CHECK(step.memory->known(step.last, 4));
  CHECK(step.memory->known(step.map, 12));
  // And again, with known tokens.
  put<int32_t>(*step.memory, step.length, {8, 5, 10});
  put<int32_t>(*step.memory, step.sampled, {1, 1, 1});
  put<int32_t>(*step.memory, step.token, {70, 80, 90});
  step.launch();
  CHECK(get<int32_t>(*step.memory, step.total, 3) == std::vector<int32_t>{6, 13, 22});
  CHECK(get<int32_t>(*step.memory, step.last, 3) == std::vector<int32_t>{80, 90, 70});
}

TEST_CASE("What decides a branch or an address has to be known") {
  {
    Counting step;  // a length that a kernel may have written decides nothing: it only chooses between values
    step.memory->make_unknown(step.length, 12);
    step.launch(
        "add.s64 %rd21, %rd2, %rd20; ld.global.b32 %r3, [%rd21]; setp.lt.s32 %p1, %r3, 5; add.s64 %rd22, %rd4, "
        "%rd20; selp.b32 %r4, 3, 4, %p1; st.global.b32 [%rd22], %r4; add.s64 %rd23, %rd5, %rd20; "
        "st.global.b32 [%rd23], 6;");
    CHECK(!step.memory->known(step.sampled, 4));
    CHECK(get<int32_t>(*step.memory, step.total, 3) == std::vector<int32_t>{6, 6, 6});
  }
  {
    Counting step;  // stored or not
    step.memory->make_unknown(step.length, 12);
    step.launch(
        "add.s64 %rd21, %rd2, %rd20; ld.global.b32 %r3, [%rd21]; setp.lt.s32 %p1, %r3, 5; add.s64 %rd22, %rd4, "
        "%rd20; @%p1 st.global.b32 [%rd22], 8; add.s64 %rd23, %rd5, %rd20; st.global.b32 [%rd23], 6;");
    CHECK(!step.memory->known(step.sampled, 4));
    CHECK(get<int32_t>(*step.memory, step.total, 3) == std::vector<int32_t>{6, 6, 6});
  }
  {
    Counting step;  // it decides which way the kernel goes
    step.memory->make_unknown(step.length, 12);
    step.launch();
    CHECK(!step.memory->known(step.sampled, 4));
    CHECK(!step.memory->known(step.total, 4));
  }
  {
    Counting step;  // it is a place: anything behind that pointer may have been written, the rest is as computed
    step.memory->make_unknown(step.token, 512);
    step.launch(
        "ld.global.b32 %r3, [%rd6]; mul.wide.s32 %rd21, %r3, 4; add.s64 %rd22, %rd7, %rd21; "
        "st.global.b32 [%rd22], 1; add.s64 %rd23, %rd5, %rd20; st.global.b32 [%rd23], %r2;");
    CHECK(!step.memory->known(step.last, 4));
    CHECK(get<int32_t>(*step.memory, step.total, 3) == std::vector<int32_t>{0, 1, 2});
  }
}

TEST_CASE("A pointer to nowhere is not written through") {
  Counting step;
  put<uint64_t>(*step.memory, step.token, {0x0101010101010100});
  step.launch("ld.global.b64 %rd21, [%rd6]; st.global.b32 [%rd21], 1; st.global.b32 [%rd5], 1;");
  CHECK(!step.memory->known(step.total, 4));
}

TEST_CASE("Loops, vectors and widths") {
  auto memory = make_memory();
  const Address bounds = allocate(*memory, 512), out = allocate(*memory, 4096), wide = allocate(*memory, 512);
  put<int32_t>(*memory, bounds, {3, 300});
  // out[i] = 10 + i for i from bounds[0] to bounds[1], 128 at a time.
  const TestKernel fill("k", pointers(2), entry(2, R"(
    ld.global.v2.b32 {%r3, %r4}, [%rd1];
    add.s32 %r5, %r3, %r1;
  $next:
    setp.ge.s32 %p1, %r3, %r4;
    @%p1 bra $end;
    setp.lt.s32 %p2, %r5, %r4;
    mul.wide.s32 %rd21, %r5, 4; add.s64 %rd22, %rd2, %rd21; add.s32 %r6, %r5, 10;
    @%p2 st.global.b32 [%rd22], %r6;
    add.s32 %r5, %r5, 128; add.s32 %r3, %r3, 128;
    bra.uni $next;
  $end:)"));
  fill.launch(*memory, {value(bounds), value(out)});
  const auto filled = get<int32_t>(*memory, out, 301);
  for (int32_t i = 3; i < 300; ++i) REQUIRE(filled[static_cast<size_t>(i)] == 10 + i);
  CHECK(!memory->known(out, 12));
  CHECK(!memory->known(out + 1200, 4));
  // Eight bytes of which one half is known are not; bytes are extended by their sign.
  put<int8_t>(*memory, wide, {-3, 4});
  const TestKernel widths("k", pointers(2), entry(2, R"(
    ld.global.s8 %h1, [%rd1]; cvt.s64.s16 %rd21, %h1; st.global.b64 [%rd2], %rd21;
    ld.global.u8 %h2, [%rd1]; cvt.u64.u16 %rd22, %h2; st.global.v2.b64 [%rd2+16], {%rd22, %rd21};
    ld.global.b32 %r3, [%rd1]; st.global.b32 [%rd2+8], %r3;)"));
  widths.launch(*memory, {value(wide), value(out)}, 1, 32);
  CHECK(get<int64_t>(*memory, out, 1)[0] == -3);
  CHECK(get<int64_t>(*memory, out + 16, 2) == std::vector<int64_t>{253, -3});
  CHECK(!memory->known(out + 8, 4));
}

TEST_CASE("Warps: what others store, and barriers") {
  auto memory = make_memory();
  const Address x = allocate(*memory, 512), out = allocate(*memory, 512);
  const auto run = [&](const std::string& body) {
    put<int32_t>(*memory, x, {5});
    put<int32_t>(*memory, out, {0, 0});
    TestKernel("k", pointers(2), entry(2, body)).launch(*memory, {value(x), value(out)}, 1, 64);
  };
  const std::string index = "shr.u32 %r4, %r1, 5; mul.wide.u32 %rd21, %r4, 4; add.s64 %rd22, %rd2, %rd21;";
  // Each warp writes what it reads, plus one, where it read it; and then what it reads there.
  run(index +
      "ld.global.b32 %r3, [%rd1]; add.s32 %r5, %r3, 1; st.global.b32 [%rd1], %r5; ld.global.b32 %r6, [%rd1]; "
      "st.global.b32 [%rd22], %r6;");
  CHECK(get<int32_t>(*memory, x, 1)[0] == 6);
  CHECK(get<int32_t>(*memory, out, 1)[0] == 6);
  // Warps that store different things in one place.
  run(index + "st.global.b32 [%rd1], %r4; st.global.b32 [%rd22], 1;");
  CHECK(!memory->known(x, 4));
  CHECK(get<int32_t>(*memory, out, 2) == std::vector<int32_t>{1, 1});
  // Behind a barrier the other's store is seen: it is not taken for what was there before.
  run(index +
      "setp.eq.u32 %p1, %r4, 0; @%p1 st.global.b32 [%rd1], 9; bar.sync 0; ld.global.b32 %r6, [%rd1]; "
      "st.global.b32 [%rd22], %r6;");
  CHECK(get<int32_t>(*memory, x, 1)[0] == 9);
  CHECK(get<int32_t>(*memory, out, 1)[0] == 9);
  CHECK(!memory->known(out + 4, 4));
  // What comes through shared memory and what atomic operations leave are not computed.
  run("st.shared.b32 [0], 4; ld.shared.b32 %r3, [0]; st.global.b32 [%rd2], %r3; st.global.b32 [%rd1], 1;");
  CHECK(!memory->known(out, 4));
  run("red.global.add.u32 [%rd1], 1; st.global.b32 [%rd2], 1;");
  CHECK(!memory->known(x, 4));
}

TEST_CASE("Constants and places are stored where nothing was known") {
  auto memory = make_memory();
  const Address out = allocate(*memory, 512), other = allocate(*memory, 512);
  // out[b] = 7, other[b] = 10 b + 3, of block b
  const TestKernel kernel("k", pointers(2), entry(2, R"(
    add.s64 %rd21, %rd1, %rd20; mov.b32 %r3, 7; st.global.b32 [%rd21], %r3;
    add.s64 %rd22, %rd2, %rd20; mad.lo.s32 %r4, %r2, 10, 3; st.global.b32 [%rd22], %r4;
  )"));
  kernel.launch(*memory, {value(out), value(other)}, 3);
  REQUIRE(memory->known(out, 12));
  CHECK(get<int32_t>(*memory, out, 3) == std::vector<int32_t>{7, 7, 7});
  CHECK(get<int32_t>(*memory, other, 3) == std::vector<int32_t>{3, 13, 23});

  // What comes out of unknown memory stays unknown.
  const Address unknown = allocate(*memory, 512), copy = allocate(*memory, 512);
  const TestKernel copies("k", pointers(2), entry(2, R"(
    add.s64 %rd21, %rd1, %rd20; ld.global.b32 %r3, [%rd21]; add.s32 %r3, %r3, 1;
    add.s64 %rd22, %rd2, %rd20; st.global.b32 [%rd22], %r3;
  )"));
  copies.launch(*memory, {value(unknown), value(copy)}, 3);
  CHECK_FALSE(memory->known(copy, 4));

  // Nothing is gained by carrying out a kernel that only stores what nobody knows.
  const Address apart = allocate(*memory, 32 << 20);
  const uint64_t before = maya::device::large_computations();
  const TestKernel clocks("k", pointers(2), entry(2, R"(
    add.s64 %rd22, %rd2, %rd20; mov.u32 %r3, %clock; add.s32 %r3, %r3, 1; st.global.b32 [%rd22], %r3;
  )"));
  for (int i = 0; i < 3; ++i) clocks.launch(*memory, {value(apart), value(apart + 4096)}, 3);
  CHECK_FALSE(memory->known(apart + 4096, 4));
  CHECK(maya::device::large_computations() == before);
}

TEST_CASE("Pinned memory is read and written in place") {
  auto memory = make_memory();
  alignas(64) static int32_t pinned[32];
  maya::device::Allocation host;
  host.base = reinterpret_cast<Address>(pinned);
  host.bytes = sizeof pinned;
  host.kind = maya::device::AllocationKind::kHost;
  REQUIRE(memory->add_host(host) == maya::device::MemoryStatus::kOk);
  const Address out = allocate(*memory, 512);
  pinned[0] = 41;
  pinned[2] = 7;
  const TestKernel kernel("k", pointers(2), entry(2, R"(
    ld.global.b32 %r3, [%rd1]; add.s32 %r4, %r3, 1; st.global.b32 [%rd2], %r4; st.global.b32 [%rd1+4], %r4;
    ld.global.b32 %r5, [%rd2+256]; st.global.b32 [%rd1+8], %r5;)"));
  kernel.launch(*memory, {value(host.base), value(out)}, 1, 32);
  CHECK(get<int32_t>(*memory, out, 1)[0] == 42);
  CHECK(pinned[1] == 42);
  CHECK(pinned[2] == 7);  // what is stored there is not known
}

TEST_CASE("What is not carried out becomes unknown where it is stored, and no further") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20), other = allocate(*memory, 4096);
  put<uint8_t>(*memory, block, std::vector<uint8_t>(2 << 20, 1));
  put<uint8_t>(*memory, other, std::vector<uint8_t>(4096, 1));
  // 600 blocks of 128 threads, each a float: 307,200 bytes from the 4,096th on.
  const TestKernel kernel("k", pointers(2), entry(2, R"(
    ld.global.b32 %r3, [%rd1]; mov.b32 %f1, %r3; mul.f32 %f2, %f1, %f1; mov.b32 %r4, %f2;
    mad.lo.s32 %r5, %r2, 128, %r1; mul.wide.s32 %rd21, %r5, 4; add.s64 %rd22, %rd2, %rd21;
    st.global.b32 [%rd22], %r4;)"));
  kernel.launch(*memory, {value(other), value(block + 4096)}, 600);
  CHECK(memory->known(block, 4096));
  CHECK_FALSE(memory->known(block + 4096, 1));
  CHECK_FALSE(memory->known(block + 4096 + 307199, 1));
  CHECK(memory->known(block + 4096 + 307200, (2 << 20) - 4096 - 307200));
  CHECK(memory->known(other, 4096));
  // Elsewhere, by the same launch.
  kernel.launch(*memory, {value(other), value(block + (1 << 20))}, 600);
  CHECK(memory->known(block + 4096 + 307200, (1 << 20) - 4096 - 307200));
  CHECK_FALSE(memory->known(block + (1 << 20), 1));
  CHECK(memory->known(block + (1 << 20) + 307200, 4096));
}

TEST_CASE("Where a kernel stores is found past long loops and branches of unknown bytes that have no part in it") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20), x = allocate(*memory, 4 << 20);
  // Thread t of block b reduces a million numbers into out[128 b + t]; then, by what it found or not, into the next
  // row.
  const auto kernel = [](const std::string& at_the_end) {
    return TestKernel("k", pointers(2), entry(2, R"(
      mov.u32 %r3, 0; mov.b32 %f1, 0f00000000; mov.b64 %rd30, %rd1;
      $next: ld.global.b32 %f2, [%rd30]; mul.f32 %f2, %f2, %f2; add.f32 %f1, %f1, %f2;
      add.s64 %rd30, %rd30, 4; add.s32 %r3, %r3, 1; setp.lt.s32 %p1, %r3, 1000000; @%p1 bra $next;
      mad.lo.s32 %r5, %r2, 128, %r1; mul.wide.s32 %rd21, %r5, 4; add.s64 %rd22, %rd2, %rd21;
      mov.b32 %r4, %f1;)" + at_the_end));
  };
  const auto known_from = [&](const TestKernel& each) {
    put<uint8_t>(*memory, block, std::vector<uint8_t>(2 << 20, 1));
    each.launch(*memory, {value(x), value(block)}, 4);
    uint64_t at = 0;
    while (at < 1 << 20 && !memory->known(block + at, 1)) at += 4;
    CHECK(memory->known(block + at, 64) == (at < 1 << 20));
    return at;
  };
  put<uint8_t>(*memory, block, {1});
  // 4 blocks of 128 threads of 4 bytes.
  CHECK(known_from(kernel("st.global.b32 [%rd22], %r4;")) == 2048);
  // Both sides of a branch that the sum decides: the second is 2,048 bytes on.
  CHECK(known_from(kernel(R"(
      st.global.b32 [%rd22], %r4; setp.gt.f32 %p2, %f1, 0f00000000; @%p2 bra $skip;
      st.global.b32 [%rd22+2048], %r4;
      $skip:)")) == 4096);
  // The place is counted in the loop: it is not passed over, and the reach of the pointer is unknown.
  CHECK(known_from(kernel("mul.wide.s32 %rd23, %r3, 4; add.s64 %rd24, %rd2, %rd23; st.global.b32 [%rd24], %r4;")) >
        4096);
}

TEST_CASE("A kernel that stores where pointers in memory lead tells where, even if it does not know what") {
  // A table of pointers to rows, copied one row a block: to[b][0] = from[b], as a serving engine gathers the pages of a
  // batch. Of the rows that it copies the first is not known, or none is.
  auto memory = make_memory();
  const Address block = allocate(*memory, 1 << 20);
  const Address from = block, table = block + 512, row = block + 1024;
  const TestKernel kernel("k", pointers(2), entry(2, R"(
    mul.wide.u32 %rd21, %r2, 8; add.s64 %rd22, %rd2, %rd21; ld.global.b64 %rd23, [%rd22];
    add.s64 %rd24, %rd1, %rd20; ld.global.b32 %r3, [%rd24]; setp.eq.u32 %p1, %r1, 0;
    @%p1 st.global.b32 [%rd23], %r3;)"));
  for (const bool second_known : {true, false}) {
    REQUIRE(memory->fill(block, 7, 1, 1 << 20) == maya::device::MemoryStatus::kOk);
    put<uint64_t>(*memory, table, {row, row + 256});
    memory->make_unknown(from, second_known ? 4 : 8);
    kernel.launch(*memory, {value(from), value(table)}, 2);
    CHECK_FALSE(memory->known(row, 1));
    CHECK(memory->known(row + 256, 4) == second_known);
    CHECK(memory->known(row + 4, 252));
    CHECK(memory->known(row + 260, 4096));
    CHECK(get<uint64_t>(*memory, table, 2) == std::vector<uint64_t>{row, row + 256});
  }
}

TEST_CASE("Kernels that compute with real numbers only, and large ones, are left") {
  auto memory = make_memory();
  const Address x = allocate(*memory, 4096), out = allocate(*memory, 4096);
  put<float>(*memory, x, std::vector<float>(1024, 2));
  put<float>(*memory, out, std::vector<float>(1024, 0));
  TestKernel("k", pointers(2),
             entry(2,
                   "ld.global.b32 %r3, [%rd1]; mov.b32 %f1, %r3; mul.f32 %f2, %f1, %f1; mov.b32 %r4, %f2; "
                   "st.global.b32 [%rd2], %r4;"))
      .launch(*memory, {value(x), value(out)});
  CHECK(!memory->known(out, 4));
  put<float>(*memory, out, std::vector<float>(1024, 0));
  TestKernel("k", pointers(2), entry(2, "ld.global.b32 %r3, [%rd1]; st.global.b32 [%rd2], %r3;"))
      .launch(*memory, {value(x), value(out)}, 1 << 20);
  CHECK(!memory->known(out, 4));
  // A loop that never ends is left before long.
  put<float>(*memory, out, std::vector<float>(1024, 0));
  TestKernel("k", pointers(2), entry(2, "$again: st.global.b32 [%rd2], 1; bra.uni $again;"))
      .launch(*memory, {value(x), value(out)});
  CHECK(!memory->known(out, 4));
}
