// Attention kernels: results are unknown to where they end and no further. Numbers as PyTorch 2.15 passes them for 3 x
// 5 heads of 40 (of values: 24), 200 queries and 300 keys.
#include "launch_helpers.h"

using namespace maya::test;

namespace {

Address known_block(Memory& memory, uint64_t bytes) {
  const Address block = allocate(memory, bytes);
  REQUIRE(memory.fill(block, 7, 1, bytes) == maya::device::MemoryStatus::kOk);
  return block;
}

}  // namespace

TEST_CASE("memory-efficient attention: result 3 x 200 x 5 x 24 floats, log-sum-exp 3 x 5 x 224", "[effects]") {
  const TestKernel kernel(
      "_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N22PyTorchMemEffAttention15AttentionKernelIfN7cutlass4arch4Sm80ELb1E"
      "Li64ELi64ELi64ELb1ELb1EE6ParamsE",
      {{0, 280}});
  auto memory = make_memory();
  constexpr uint64_t kResult = 3 * 200 * 5 * 24 * 4, kSums = 3 * 5 * 224 * 4;
  const Address result = known_block(*memory, 2 * kResult), sums = known_block(*memory, 2 * kSums);
  Parameter parameters;
  parameters.at(64, result).at(80, sums).at(96, 40).at(100, 24).at(104, 200).at(108, 300).at(192, 3).at(204, 5);
  kernel.launch(*memory, {parameters}, 4, 128);
  CHECK_FALSE(memory->known(result + kResult - 1, 1));
  CHECK(memory->known(result + kResult, kResult));
  CHECK_FALSE(memory->known(sums + kSums - 1, 1));
  CHECK(memory->known(sums + kSums, kSums));
}

TEST_CASE("flash attention: result by its strides, log-sum-exp 3 x 5 x 200", "[effects]") {
  const TestKernel kernel(
      "_ZN13pytorch_flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_traitsILi64ELi64ELi256ELi4ELb0ELb0EN7cutlass"
      "10bfloat16_tE19Flash_kernel_traitsILi64ELi64ELi256ELi4ES3_EELb0ELb0ELb0ELb0ELb0ELb0ELb1ELb0EEEvNS_16Flash_fw"
      "d_paramsE",
      {{0, 472}});
  auto memory = make_memory();
  constexpr uint64_t kResult = 3 * 200 * 5 * 40 * 2, kSums = 3 * 5 * 200 * 4;
  const Address result = known_block(*memory, 2 * kResult), sums = known_block(*memory, 2 * kSums);
  Parameter parameters;
  parameters.at(96, 5).at(112, result).at(128, int64_t{40000}).at(136, int64_t{40}).at(144, int64_t{8000});
  parameters.at(160, sums).at(176, 3).at(180, 200).at(184, 300).at(192, 40).at(204, 64).at(444, 1);
  kernel.launch(*memory, {parameters}, 4, 128);
  CHECK_FALSE(memory->known(result + kResult - 1, 1));
  CHECK(memory->known(result + kResult, kResult));
  CHECK_FALSE(memory->known(sums + kSums - 1, 1));
  CHECK(memory->known(sums + kSums, kSums));
}

TEST_CASE("packed flash attention writes its result and log-sum-exp, and reads lengths and page tables", "[effects]") {
  // FlashAttention 3 in vLLM 0.33: 3 queries of 16 heads of 64, at 2048 in parameters of 2,688 bytes.
  const TestKernel kernel(
      "_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25CollectiveMain"
      "loopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi192EEENS7_ILi128EEENS7_ILi64EEEEEEL"
      "i64ENS_10bfloat16_tEfNS_4arch4Sm90ELb1ELb0ELb0ELb1ELb1ELb0ELb0ELb0ELb1ELb1ELb1ELb0ELb0ESE_Li1EEENS1_"
      "21CollectiveEpilogueFwdINS6_IJSA_SC_SB_EEES9_SE_SG_Li384ELb1ELb1ELb0ELb0ELi1EEENS1_36VarlenDynamicPe"
      "rsistentTileSchedulerILi192ELi128ELi384ELi128ELb0ELb1ELb1ELb1ELb0ELb1EEEEEEEEEvNT_6ParamsE",
      {{0, 2688}});
  auto memory = make_memory();
  constexpr uint64_t kResult = 3 * 16 * 64 * 2, kSums = 3 * 16 * 4;
  const Address result = known_block(*memory, 2 * kResult), sums = known_block(*memory, 4096),
                lengths = known_block(*memory, 512), pages = known_block(*memory, 4096),
                cache = allocate(*memory, 1 << 20);
  const auto parameters = [&](int32_t splits) {
    Parameter made;
    // Queries 3 x 16 x 64 and keys 16 x 8 x 64 for each page, which are no result; the page table; two length arrays.
    made.at(0, cache + 4096).at(8, 3).at(12, 64).at(16, 16).at(20, 1).at(24, int64_t{2048}).at(32, int64_t{64});
    made.at(104, cache).at(112, 16).at(116, 64).at(120, 8).at(124, 100).at(128, int64_t{1024}).at(136, int64_t{128});
    made.at(408, pages).at(416, 3).at(420, 32).at(1904, lengths).at(1936, lengths + 64);
    made.at(2048, result).at(2056, 3).at(2060, 64).at(2064, 16).at(2068, 1).at(2072, splits);
    made.at(2080, int64_t{1024}).at(2088, int64_t{64}).at(2096, int64_t{0}).at(2104, int64_t{0});
    made.at(2256, sums).at(2264, 3).at(2432, lengths).at(2528, cache + 8192).at(2536, lengths);
    return made;
  };
  kernel.launch(*memory, {parameters(1)}, 132, 128);
  CHECK_FALSE(memory->known(result, 1));
  CHECK_FALSE(memory->known(result + kResult - 1, 1));
  CHECK(memory->known(result + kResult, kResult));
  CHECK_FALSE(memory->known(sums + kSums - 1, 1));
  CHECK(memory->known(sums + kSums, 4096 - kSums));
  CHECK(memory->known(lengths, 512));
  CHECK(memory->known(pages, 4096));
  // In 4 parts of 32 bits, for another kernel: parts of 3 x 16 x 64, one behind the other, and as many log-sum-exps.
  const Address parts = known_block(*memory, 1 << 20), part_sums = known_block(*memory, 4096);
  constexpr uint64_t kParts = 4 * 3 * 16 * 64 * 4, kPartSums = 4 * 3 * 16 * 4;
  Parameter made = parameters(4);
  made.at(2176, parts).at(2184, int64_t{64}).at(2192, int64_t{192}).at(2200, int64_t{0}).at(2208, int64_t{3072});
  made.at(2344, part_sums).at(2352, int64_t{3}).at(2360, int64_t{0}).at(2368, int64_t{48});
  kernel.launch(*memory, {made}, 132, 128);
  CHECK_FALSE(memory->known(parts + kParts - 1, 1));
  CHECK(memory->known(parts + kParts, (1 << 20) - kParts));
  CHECK_FALSE(memory->known(part_sums + kPartSums - 1, 1));
  CHECK(memory->known(part_sums + kPartSums, 4096 - kPartSums));
  CHECK(memory->known(lengths, 512));
  // Without a place for the parts something is not as it should be: anything may have been written.
  kernel.launch(*memory, {parameters(4)}, 132, 128);
  CHECK_FALSE(memory->known(lengths, 1));
}

TEST_CASE("packed flash attention puts its parts together: result, log-sum-exp and a counter", "[effects]") {
  const TestKernel kernel(
      "_ZN7cutlass13device_kernelIN5flash19FlashAttnFwdCombineIN4cute5tupleIJNS3_1CILi16EEENS5_"
      "ILi64EEEEEELi5ELi256ELi1E"
      "Lb0ELb1ENS_10bfloat16_tEfNS_4arch4Sm90EEEEEvNT_6ParamsE",
      {{0, 288}});
  auto memory = make_memory();
  constexpr uint64_t kResult = 3 * 16 * 64 * 2, kSums = 3 * 16 * 4;
  const Address parts = known_block(*memory, 1 << 20), part_sums = known_block(*memory, 4096),
                result = known_block(*memory, 2 * kResult), sums = known_block(*memory, 4096),
                lengths = known_block(*memory, 512);
  Parameter made;
  made.at(0, 3).at(8, parts).at(16, 3).at(20, 64).at(24, 4).at(28, 16).at(32, 1);
  made.at(72, part_sums).at(80, 3).at(84, 4).at(88, 16).at(92, 1);
  made.at(120, result).at(128, int64_t{1024}).at(136, int64_t{64}).at(144, int64_t{0});
  made.at(152, sums).at(160, int64_t{3}).at(168, int64_t{0});
  made.at(200, lengths).at(216, lengths + 64).at(232, lengths + 128);
  kernel.launch(*memory, {made}, 8, 256);
  CHECK_FALSE(memory->known(result + kResult - 1, 1));
  CHECK(memory->known(result + kResult, kResult));
  CHECK_FALSE(memory->known(sums + kSums - 1, 1));
  CHECK(memory->known(sums + kSums, 4096 - kSums));
  CHECK(memory->known(parts, 1 << 20));
  CHECK(memory->known(part_sums, 4096));
  CHECK(memory->known(lengths, 128));
  CHECK_FALSE(memory->known(lengths + 128, 1));
  CHECK(memory->known(lengths + 132, 380));
}

TEST_CASE("random bools end with their result", "[effects]") {
  // The lambda: result, stride in bytes, probability.
  const TestKernel kernel(
      "_ZN2at6native57_GLOBAL__N__4097cdb0_24_DistributionBernoulli_cu_7537a20d43distribution_elementwise_grid_stri"
      "de_kernelIfLi4EZNS0_9templates4cuda21uniform_and_transformIbfPNS_17CUDAGeneratorImplEZZZNS4_16bernoulli_kern"
      "elIS7_EEvRNS_18TensorIteratorBaseEdT_ENKUlvE_clEvENKUlvE8_clEvEUlfE_EEvSA_T1_T2_EUlP24curandStatePhilox4_32_"
      "10E_ZNS1_27distribution_nullary_kernelIbf6float4S7_SJ_SE_EEvSA_SG_RKT3_T4_EUlifE_EEvlNS_15PhiloxCudaStateESF"
      "_SG_",
      {{0, 8}, {8, 32}, {40, 1}, {48, 24}});
  auto memory = make_memory();
  const Address result = known_block(*memory, 512);
  Parameter lambda;
  lambda.at(0, result).at(8, 1);
  kernel.launch(*memory, {value(int64_t{20}), Parameter(), Parameter(), lambda}, 1, 256);
  CHECK_FALSE(memory->known(result + 19, 1));
  CHECK(memory->known(result + 20, 492));
}
