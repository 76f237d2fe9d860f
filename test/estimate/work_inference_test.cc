// Kernels of vLLM 0.33 as it launches them: sizes worked out by hand.
#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

using Scalars = std::vector<LaunchView::Scalar>;

Work work(std::string_view name, uint32_t blocks, const Scalars& scalars) {
  LaunchView launch;
  launch.mangled_name = name;
  launch.grid[0] = blocks;
  launch.block[0] = 512;
  launch.scalars = scalars.data();
  launch.scalar_count = static_cast<uint32_t>(scalars.size());
  return work_of(launch);
}

TEST_CASE("RMS norms: 171 rows of 1,024, with a sum in place or without") {
  const Work norm =
      work("void vllm::rms_norm_kernel<c10::BFloat16, 8, 2, true>(c10::BFloat16*, c10::BFloat16 const*)", 171,
           {{16, 8, 1024}, {24, 8, 0}, {32, 8, 0}, {40, 8, 0}, {48, 8, 0}, {64, 8, 0}, {76, 4, 171}, {80, 4, 1024}});
  CHECK(norm.family == Family::kNormalization);
  CHECK_FALSE(norm.guessed);
  CHECK(norm.shape.get(Key::kRows) == 171);
  CHECK(norm.shape.get(Key::kColumns) == 1024);
  CHECK(norm.read_bytes == (171 + 1) * 1024 * 2.0);  // and the weights
  const Work fused = work(
      "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
      "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8, true>(c10::BFloat16*, long, c10::BFloat16*)",
      171, {{8, 8, 1024}, {36, 4, 171}, {40, 4, 1024}, {48, 8, 0}});
  CHECK(fused.shape.get(Key::kOperator) == static_cast<int64_t>(Operator::kFusedAddRmsNorm));
  CHECK(fused.read_bytes == (2 * 171 + 1) * 1024 * 2.0);
  CHECK_FALSE(fused.guessed);
}

TEST_CASE("Rotary embedding, gated activation and copies into the cache: 5 tokens, 16 + 8 heads of 64") {
  const Work rotary =
      work("void vllm::rotary_embedding_kernel<c10::BFloat16, c10::BFloat16, true>(long const*, c10::BFloat16*)", 5,
           {{32, 4, 64}, {40, 8, 2048}, {48, 8, 2048}, {56, 8, 64}, {64, 4, 16}, {68, 4, 8}, {72, 4, 64}, {80, 8, 0}});
  CHECK(rotary.shape.get(Key::kOperator) == static_cast<int64_t>(Operator::kRotary));
  CHECK(rotary.shape.get(Key::kElements) == 5 * (16 + 8) * 64);
  CHECK(rotary.written_bytes == 5 * (16 + 8) * 64 * 2.0);
  CHECK_FALSE(rotary.guessed);
  const Work gated =
      work("void vllm::act_and_mul_kernel<c10::BFloat16, __nv_bfloat162>(c10::BFloat16*)", 5, {{16, 4, 2816}});
  CHECK(gated.read_bytes == 5 * 2 * 2816 * 2.0);
  CHECK(gated.written_bytes == 5 * 2816 * 2.0);
  const Work copied = work(
      "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>()", 5,
      {{40, 8, 8192}, {48, 8, 512}, {56, 8, 64}, {64, 8, 512}, {72, 8, 512}, {80, 4, 8}, {84, 4, 64}, {88, 4, 16}});
  CHECK(copied.written_bytes == 5 * 2 * 8 * 64 * 2.0);
  CHECK_FALSE(copied.guessed);
  // Without recorded integers there is no telling.
  CHECK(work("void vllm::act_and_mul_kernel<c10::BFloat16, __nv_bfloat162>(c10::BFloat16*)", 5, {}).guessed);
}

TEST_CASE("vLLM's own all-reduce is communication: 16 bytes a thread over the ranks of its name") {
  const std::string_view name =
      "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, "
      "__nv_bfloat16*, int, int)";
  const Work small = work(name, 3, {});
  CHECK(small.family == Family::kCollective);
  CHECK(small.shape.get(Key::kBytes) == 3 * 512 * 16);
  CHECK(small.shape.get(Key::kRanks) == 2);
  CHECK(small.rough);
  CHECK_FALSE(small.guessed);
  // At its most blocks a thread goes round.
  CHECK(work(name, 36, {}).guessed);
}

constexpr std::string_view kFlash3 =
    "void "
    "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, "
    "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<192>, cute::C<128>, cute::C<64> >, 64, "
    "cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, false, false, true, true, false, false, false, true, true, "
    "true, false, false, cutlass::bfloat16_t, 1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<192>, cute::C<64>, "
    "cute::C<128> >, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, cutlass::arch::Sm90, 384, "
    "true, true, false, false, 1>, S> > >(P)";

TEST_CASE("FlashAttention 3: sequences in pages") {
  // Its structure is at 112 of the arguments, as vLLM 0.33 has it.
  const auto flash = [](uint64_t queries, uint64_t sequences, uint64_t pages) {
    return work(kFlash3, 132,
                {{120, 4, queries},
                 {124, 4, 64},
                 {128, 4, 16},
                 {132, 4, 1},
                 {224, 4, 16},
                 {232, 4, 8},
                 {528, 4, sequences},
                 {532, 4, pages}});
  };
  // 3 prompts of 171 tokens together; up to 32 pages of 16 a sequence.
  const Work prompts = flash(171, 3, 32);
  CHECK(prompts.family == Family::kAttention);
  CHECK(prompts.shape.get(Key::kBatch) == 3);
  CHECK(prompts.shape.get(Key::kHeads) == 16);
  CHECK(prompts.shape.get(Key::kKvHeads) == 8);
  CHECK(prompts.shape.get(Key::kSeqQ) == 57);
  CHECK(prompts.shape.get(Key::kSeqKv) == 57);
  CHECK(prompts.shape.get(Key::kCausal) == 1);
  CHECK(prompts.rough);
  CHECK_FALSE(prompts.guessed);
  // One token each: half of 512 keys is the middle. All of them are 3 x 512 x 8 x 64 x 4 = 3.1 MB.
  const Work tokens = flash(3, 3, 32);
  CHECK(tokens.shape.get(Key::kSeqQ) == 1);
  CHECK(tokens.shape.get(Key::kSeqKv) == 256);
  CHECK_FALSE(tokens.guessed);
  // Of up to 131,072 keys nobody knows how many there are.
  CHECK(flash(3, 3, 8192).guessed);
}

TEST_CASE("FlashAttention 3: a batch of sequences of one length, and several in a row") {
  const auto flash = [](uint64_t queries, uint64_t batch, uint64_t sequences) {
    return work(kFlash3, 132,
                {{8, 4, queries},
                 {12, 4, 64},
                 {16, 4, 16},
                 {20, 4, batch},
                 {112, 4, queries},
                 {120, 4, 8},
                 {416, 4, sequences},
                 {420, 4, 0}});
  };
  const Work even = flash(2048, 4, 4);
  CHECK(even.shape.get(Key::kBatch) == 4);
  CHECK(even.shape.get(Key::kSeqQ) == 2048);
  CHECK(even.shape.get(Key::kSeqKv) == 2048);
  CHECK_FALSE(even.rough);
  CHECK_FALSE(even.guessed);
  const Work packed = flash(8192, 1, 4);
  CHECK(packed.shape.get(Key::kBatch) == 4);
  CHECK(packed.shape.get(Key::kSeqQ) == 2048);
  CHECK(packed.rough);
}

}  // namespace
}  // namespace maya
