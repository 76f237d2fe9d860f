#include <utility>

#include "launch_helpers.h"

using namespace maya::test;

TEST_CASE("all pointers of an unknown kernel may be written", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 4096), b = allocate(*memory, 4096);
  put<uint8_t>(*memory, a, std::vector<uint8_t>(4096, 1));
  put<uint8_t>(*memory, b, std::vector<uint8_t>(4096, 1));
  const TestKernel kernel("triton_poi_fused_add_0", {{0, 8}, {8, 8}, {16, 4}});
  kernel.launch(*memory, {value(a), value(b + 64), value(100)});
  CHECK_FALSE(memory->known(a, 1));
  CHECK(memory->known(b, 64));
  CHECK_FALSE(memory->known(b + 64, 1));
}

TEST_CASE("pointers inside structs count, when aligned", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512);
  put<uint8_t>(*memory, a, {1, 2, 3});
  const TestKernel kernel("custom_kernel", {{0, 4}, {4, 28}});
  Parameter unaligned;
  unaligned.at(8, a);  // parameter offset 4 + 8 = 12: not a multiple of 8
  kernel.launch(*memory, {value(1), unaligned});
  CHECK(memory->known(a, 3));
  Parameter aligned;
  aligned.at(12, a);
  kernel.launch(*memory, {value(1), aligned});
  CHECK_FALSE(memory->known(a, 1));
}

TEST_CASE("const pointers in the signature are inputs", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {1});
  put<float>(*memory, out, {1});
  // void scale(const float* in, float* __restrict__ out, const float factor)
  const TestKernel kernel("_Z5scalePKfPff", {{0, 8}, {8, 8}, {16, 4}});
  kernel.launch(*memory, {value(in), value(out), value(2.0f)});
  CHECK(memory->known(in, 4));
  CHECK_FALSE(memory->known(out, 4));
}

TEST_CASE("where sequences begin is only read by Transformer Engine's context parallelism", "[effects]") {
  const std::string space = "_ZN18transformer_engine16context_parallel";
  const TestKernel half(space + "27thd_read_half_tensor_kernelEPvS1_Piiiii",
                        {{0, 8}, {8, 8}, {16, 8}, {24, 4}, {28, 4}, {32, 4}, {36, 4}});
  const TestKernel places(space + "28thd_partition_indices_kernelEPiS1_iiii",
                          {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 4}, {28, 4}});
  auto memory = make_memory();
  const Address lengths = allocate(*memory, 512), out = allocate(*memory, 512);
  put<int32_t>(*memory, lengths, {0, 64});
  for (const TestKernel* kernel : {&half, &places}) {
    put<int32_t>(*memory, out, {1});
    std::vector<Parameter> parameters = {value(out)};
    if (kernel == &half) parameters.push_back(value(uint64_t{0}));
    parameters.insert(parameters.end(), {value(lengths), value(1), value(128), value(0), value(64)});
    kernel->launch(*memory, parameters);
    CHECK(memory->known(lengths, 8));
    CHECK_FALSE(memory->known(out, 4));
  }
}

TEST_CASE("in small allocations the reach is bounded, in large ones it is not", "[effects]") {
  auto memory = make_memory();
  const Address small = allocate(*memory, 2 << 20), large = allocate(*memory, 32 << 20);
  const TestKernel kernel("custom_kernel", {{0, 8}});
  const auto fill_and_launch = [&](Address base, uint64_t bytes) {
    REQUIRE(memory->fill(base, 1, 4, bytes / 4) == maya::device::MemoryStatus::kOk);
    kernel.launch(*memory, {value(base + 1024)}, 2, 32);  // 64 threads x 64 bytes = 4,096
  };
  fill_and_launch(small, 2 << 20);
  CHECK(memory->known(small, 1024));
  CHECK_FALSE(memory->known(small + 1024, 1));
  CHECK_FALSE(memory->known(small + 1024 + 4095, 1));
  CHECK(memory->known(small + 1024 + 4096, 4096));
  fill_and_launch(large, 32 << 20);
  CHECK(memory->known(large, 1024));
  CHECK_FALSE(memory->known(large + (31 << 20), 1));
}

TEST_CASE("without argument values nothing happens", "[effects]") {
  auto memory = make_memory();
  maya::device::KernelInfo info;
  info.name = "k";
  info.parameters = {{0, 8}};
  const auto behavior = maya::device::classify(info);
  maya::device::Launch launch;
  launch.kernel = &info;
  maya::device::apply_effects(*behavior, launch, *memory);
}

TEST_CASE("separate small values in a shared block survive a kernel of unknown reach", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20);
  put<float>(*memory, block + 512, {65536});                          // a loss scale
  put<uint8_t>(*memory, block + 1024, std::vector<uint8_t>(200, 1));  // too long to be one
  put<float>(*memory, block + 1536 + 64, {3});                        // not at the start of a granule
  put<int32_t>(*memory, block + 2048, {7});
  const TestKernel kernel("custom_kernel", {{0, 8}});
  kernel.launch(*memory, {value(block)}, 64, 256);
  CHECK(get<float>(*memory, block + 512, 1)[0] == 65536);
  CHECK(get<int32_t>(*memory, block + 2048, 1)[0] == 7);
  CHECK_FALSE(memory->known(block + 1024, 1));
  CHECK_FALSE(memory->known(block + 1600, 4));
  kernel.launch(*memory, {value(block + 512)}, 64, 256);  // its own output
  CHECK_FALSE(memory->known(block + 512, 4));
  CHECK(memory->known(block + 2048, 4));
}

TEST_CASE("a small value copied into what earlier tensors left behind survives too", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20);
  put<uint8_t>(*memory, block, std::vector<uint8_t>(8192, 1));
  put<float>(*memory, block + 1024, {65536});                         // a loss scale, copied from the host
  put<int64_t>(*memory, block + 2048, {7, 8, 9, 10});                 // a few numbers
  put<uint8_t>(*memory, block + 512, std::vector<uint8_t>(512, 2));   // a tensor before it
  put<uint8_t>(*memory, block + 1536, std::vector<uint8_t>(512, 2));  // and one behind it
  const TestKernel kernel("custom_kernel", {{0, 8}});
  kernel.launch(*memory, {value(block)}, 64, 256);
  CHECK(get<float>(*memory, block + 1024, 1)[0] == 65536);
  CHECK(get<int64_t>(*memory, block + 2048, 4) == std::vector<int64_t>{7, 8, 9, 10});
  CHECK_FALSE(memory->known(block + 1028, 1));
  CHECK_FALSE(memory->known(block + 2080, 1));
  CHECK_FALSE(memory->known(block + 1536, 1));
  CHECK_FALSE(memory->known(block, 1));
}

TEST_CASE("a single value computed inside what an earlier tensor left behind survives too", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20);
  put<uint8_t>(*memory, block, std::vector<uint8_t>(8192, 1));
  const TestKernel fill(
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0EEEviT0_T1_",
      {{0, 4}, {4, 4}, {8, 8}});
  fill.launch(*memory, {value(1), value(65536.0f), value(block + 1024)});
  const TestKernel kernel("custom_kernel", {{0, 8}});
  kernel.launch(*memory, {value(block)}, 64, 256);
  CHECK(get<float>(*memory, block + 1024, 1)[0] == 65536);
  CHECK_FALSE(memory->known(block + 1028, 1));
  CHECK_FALSE(memory->known(block, 1));
}

TEST_CASE("a kernel whose image shows its instructions writes what it stores to, and reads the rest", "[effects]") {
  auto memory = make_memory();
  const auto launched = [&](const std::string& body, const std::string& declared = "") {
    const Address in = allocate(*memory, 4096), out = allocate(*memory, 4096);
    put<uint8_t>(*memory, in, std::vector<uint8_t>(4096, 1));
    put<uint8_t>(*memory, out, std::vector<uint8_t>(4096, 1));
    const TestKernel kernel("k", {{0, 8}, {8, 8}},
                            "k(.param .u64 " + declared + "k_param_0, .param .u64 " + declared +
                                "k_param_1)\n{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
                                "ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1];\n" +
                                body + "\nret;\n}\n");
    kernel.launch(*memory, {value(in), value(out)}, 1 << 14);  // too many to be carried out
    return std::pair{!memory->known(in, 1), !memory->known(out, 1)};
  };
  const auto written = [](bool in, bool out) { return std::pair{in, out}; };
  CHECK(launched("ld.global.b32 %r1, [%rd1]; st.global.b32 [%rd2], %r1;") == written(false, true));
  // Through arithmetic, a loop that moves the pointer, and a choice between both.
  CHECK(launched(
            "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; again: add.s64 %rd4, %rd2, %rd3; add.s64 %rd3, %rd4, 8; "
            "setp.eq.u32 %p1, %r1, 7; @%p1 bra again; st.global.b32 [%rd3+16], %r1;") == written(false, true));
  CHECK(launched("setp.eq.u64 %p1, %rd1, 0; selp.b64 %rd3, %rd1, %rd2, %p1; st.global.b32 [%rd3], 0;") ==
        written(true, true));
  CHECK(launched("atom.global.add.u32 %r1, [%rd1], 1;") == written(true, false));
  CHECK(launched("red.global.add.f32 [%rd1], 0f3F800000;") == written(true, false));
  CHECK(launched("cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 64;") == written(false, true));
  CHECK(launched("cp.async.cg.shared.global [%r1], [%rd1], 16;") == written(false, false));
  // What is loaded is an index where declared pointers are, as compilers of tensor programs declare them.
  CHECK(launched("ld.global.b64 %rd3, [%rd1]; add.s64 %rd4, %rd2, %rd3; st.global.b32 [%rd4], 0;",
                 ".ptr .global .align 16 ") == written(false, true));
  CHECK(launched("ld.global.b64 %rd3, [%rd1]; add.s64 %rd4, %rd2, %rd3; st.global.b32 [%rd4], 0;") ==
        written(true, true));
  // A pointer that is loaded, one that came from nowhere, code that is not shown: anything may be written.
  CHECK(launched("ld.global.u64 %rd3, [%rd1]; st.global.b32 [%rd3], 0;") == written(true, true));
  CHECK(launched("st.b32 [%rd7], 0;") == written(true, true));
  CHECK(launched("call.uni other, (%rd1);") == written(true, true));
  CHECK(launched("call.uni __assertfail, (%rd1);") == written(false, false));
  // Shared and local memory are no device memory that anyone sees.
  CHECK(launched("st.shared.b32 [%r1], 0; st.local.b32 [%rd1], 0;") == written(false, false));
}

TEST_CASE("a launch is passed over where nothing is known around its pointers", "[effects]") {
  auto memory = make_memory();
  const Address unknown = allocate(*memory, 32 << 20), known = allocate(*memory, 32 << 20);
  put<uint8_t>(*memory, known, {1});
  maya::device::KernelInfo info;
  info.name = "custom_kernel";
  info.parameters = {{0, 4}, {8, 24}};
  const maya::device::KernelBehaviorPtr behavior = maya::device::classify(info);
  REQUIRE(maya::device::watches_pointers(*behavior));
  const auto& watched = maya::device::watched_pointers(*behavior);
  REQUIRE(watched.size() == 3);  // the words of the structure
  uint32_t count = 1;
  Address pointers[3] = {unknown, unknown + 64, 3};
  void* arguments[] = {&count, pointers};
  const auto may = [&] { return maya::device::may_have_effects(watched.data(), watched.size(), arguments, *memory); };
  CHECK_FALSE(may());
  for (Address& pointer : pointers) {
    const Address before = std::exchange(pointer, known);
    CHECK(may());
    pointer = before;
  }
  // Pinned memory is known from its registration on.
  alignas(64) static char pinned[64];
  pointers[2] = reinterpret_cast<Address>(pinned);
  CHECK_FALSE(may());
  maya::device::Allocation host;
  host.base = pointers[2];
  host.bytes = sizeof pinned;
  host.kind = maya::device::AllocationKind::kHost;
  REQUIRE(memory->add_host(host) == maya::device::MemoryStatus::kOk);
  CHECK(may());
  // A kernel that needs no input is never passed over: fills.
  info.name = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";
  info.parameters = {{0, 4}, {4, 4}, {8, 8}};
  CHECK_FALSE(maya::device::watches_pointers(*maya::device::classify(info)));
}
