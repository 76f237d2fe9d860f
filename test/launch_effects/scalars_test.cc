#include "launch_helpers.h"

using namespace maya::test;

TEST_CASE("element counts of PyTorch's kernels", "[scalars]") {
  const TestKernel fill(
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0EEEviT0_T1_",
      {{0, 4}, {4, 4}, {8, 8}});
  REQUIRE(fill.scalars().size() == 1);
  CHECK(fill.scalars()[0].parameter == 0);
  CHECK(fill.scalars()[0].size == 4);
  // Sum: inputs and outputs of ReduceConfig, which stands at offset 8.
  const TestKernel sum(
      "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_"
      "14TensorIteratorEEUlffE_EE"
      "jfLi4ELi4EEEEEvT1_",
      {{0, 1048}});
  REQUIRE(sum.scalars().size() == 2);
  CHECK(sum.scalars()[0].offset_in_parameter == 12);
  CHECK(sum.scalars()[1].offset_in_parameter == 16);
}

TEST_CASE("scalars of other kernels: 4 and 8 bytes, at most 8, no typed pointers or floats", "[scalars]") {
  const TestKernel typed("_Z5scalePKfPffil", {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 8}});
  REQUIRE(typed.scalars().size() == 2);
  CHECK(typed.scalars()[0].parameter == 3);
  CHECK(typed.scalars()[0].absolute_offset == 20);
  CHECK(typed.scalars()[1].absolute_offset == 24);
  std::vector<maya::device::KernelParameter> many;
  for (uint32_t i = 0; i < 20; ++i) many.push_back({4 * i, 4});
  CHECK(TestKernel("triton_", many).scalars().size() == 8);
  CHECK(TestKernel("triton_", {{0, 1}, {2, 2}, {8, 16}}).scalars().empty());
  // Three pointers and two counts of a Triton kernel, whose name has no types.
  const TestKernel triton("triton_poi_fused_add_0", {{0, 8}, {8, 8}, {16, 8}, {24, 4}, {28, 4}});
  REQUIRE(triton.scalars().size() == 2);
  CHECK(triton.scalars()[0].absolute_offset == 24);
  CHECK(triton.scalars()[1].absolute_offset == 28);
}

TEST_CASE("PyTorch's row kernels: integers are sizes, factors are not", "[scalars]") {
  const TestKernel layer_norm(
      "_ZN2at6native53_GLOBAL__N__4da244e1_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_norm_"
      "kernelIN3c108BFloat16EfLb1EEEviT0_"
      "PKT_S8_S8_PS5_S9_PS6_",
      {{0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}});
  REQUIRE(layer_norm.scalars().size() == 1);
  CHECK(layer_norm.scalars()[0].absolute_offset == 0);
}

namespace {

std::vector<uint32_t> offsets(const TestKernel& kernel) {
  std::vector<uint32_t> result;
  for (const maya::device::ScalarSlot& slot : kernel.scalars()) result.push_back(slot.absolute_offset);
  return result;
}

}  // namespace

TEST_CASE("sizes inside the parameter structures of attention kernels", "[scalars]") {
  // Seen in a launch of 3 x 5 heads of 40 with 200 queries and 300 keys: head size, queries, keys, mask, batch, heads.
  const std::string forward =
      "_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N22PyTorchMemEffAttention15AttentionKernelIfN7cutlass4arch4Sm80ELb1E"
      "Li64ELi64ELi64ELb1ELb1EE6ParamsE";
  CHECK(offsets(TestKernel(forward, {{0, 280}})) == std::vector<uint32_t>{96, 104, 108, 116, 192, 204});
  CHECK(TestKernel(forward, {{0, 280}}).scalars()[3].size == 1);
  CHECK(TestKernel(forward, {{0, 288}}).scalars().empty());  // another version's layout
  const std::string backward =
      "_Z40fmha_cutlassB_f32_aligned_64x64_k64_sm80N22PyTorchMemEffAttention23AttentionBackwardKernelIN7cutlass4arch4"
      "Sm80EfLb1ELb0ELb0ELi64ELi64ELi64ELb0EE6ParamsE";
  CHECK(offsets(TestKernel(backward, {{0, 480}})) == std::vector<uint32_t>{144, 152, 156, 160, 168, 384});
  const std::string flash =
      "_ZN13pytorch_flash27flash_bwd_convert_dq_kernelI23Flash_bwd_kernel_traitsILi64ELi128ELi128ELi8ELi4ELi4ELi4ELb0"
      "ELb0EN7cutlass10bfloat16_tE19Flash_kernel_traitsILi64ELi128ELi128ELi8ES3_EEEEvNS_16Flash_bwd_paramsEi";
  CHECK(offsets(TestKernel(flash, {{0, 648}, {648, 4}})) == std::vector<uint32_t>{648, 96, 100, 176, 180, 184, 192});
}

TEST_CASE("sizes of FlashAttention 3, whose place depends on whether the heads of a group are packed", "[scalars]") {
  // Members by hand (public header mainloop_fwd_sm90_tma_gmma_ws.hpp): pointer 8, four sizes 16, three strides 24 of
  // the queries; the same once more as packed, 16 + 24, or 20 (24 aligned) + 32 with the heads of a group, or 16 + 32
  // where their number is a constant: so the keys begin at 88, 104 or 96. In vLLM 0.33, 2,688 bytes in all.
  const auto kernel = [](const std::string& packed, const std::string& group) {
    return TestKernel(
        "_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25CollectiveMain"
        "loopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi192EEENS7_ILi128EEENS7_ILi64EEEEEEL"
        "i64ENS_10bfloat16_tEfNS_4arch4Sm90ELb1ELb0ELb0ELb1ELb1ELb0ELb0ELb0ELb1ELb1ELb1ELb0ELb0ESE_Li" +
            group +
            "EEENS1_"
            "21CollectiveEpilogueFwdINS6_IJSA_SC_SB_EEES9_SE_SG_Li384ELb1E" +
            packed +
            "ELb0ELb0ELi1EEENS1_36VarlenDynamicPe"
            "rsistentTileSchedulerILi192ELi128ELi384ELi128ELb0ELb1ELb1ELb1ELb0ELb1EEEEEEEEEvNT_6ParamsE",
        {{0, 2688}});
  };
  CHECK(offsets(kernel("Lb0", "1")) == std::vector<uint32_t>{8, 12, 16, 20, 96, 104, 384, 388});
  CHECK(offsets(kernel("Lb1", "1")) == std::vector<uint32_t>{8, 12, 16, 20, 112, 120, 416, 420});
  CHECK(offsets(kernel("Lb1", "4")) == std::vector<uint32_t>{8, 12, 16, 20, 104, 112, 408, 412});
}

TEST_CASE("concatenation: the first input's elements and the result's sizes", "[scalars]") {
  // 64 inputs of 32-bit indices: elements behind 64 pointers, offsets and dimensions; a result of four dimensions.
  const TestKernel kernel(
      "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_10OpaqueTypeILj2EEEjLi4ELi64E"
      "Li64EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_",
      {{0, 8}, {8, 3392}, {3400, 32}, {3432, 4}, {3436, 4}});
  CHECK(offsets(kernel) == std::vector<uint32_t>{3432, 3436, 8 + 64 * 16, 3400, 3404, 3408, 3412});
}

TEST_CASE("casts: the real widths of an unrolled kernel's tensors", "[scalars]") {
  const TestKernel kernel(
      "_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELi4E23"
      "TrivialOffsetCalculatorILi2EjES7_ILi1EjENS0_6memory12LoadWithCastILi2EEENSA_13StoreWithCastILi1EEEEEviT_T0_T2_T3"
      "_T4_T5_",
      {{0, 4}, {4, 4}, {8, 24}, {32, 1}, {33, 1}, {36, 12}, {48, 8}});
  CHECK(offsets(kernel) == std::vector<uint32_t>{0, 40, 44, 52});
}

TEST_CASE("norms of Transformer Engine: sharing blocks, rows and columns of their structure", "[scalars]") {
  // As Transformer Engine 2.20 launches a layer norm: 128 bytes that begin with four integers.
  const std::string name =
      "_ZN18transformer_engine13normalization19ln_fwd_tuned_kernelINS0_13Kernel_traitsI13__nv_bfloat16S3_S3_"
      "fjLj1024ELj1ELj4E"
      "Lj1ELj16EEEEEvNS0_19ForwardKernelParamsE";
  CHECK(offsets(TestKernel(name, {{0, 128}})) == std::vector<uint32_t>{0, 8, 12});
  CHECK(offsets(TestKernel(name, {{0, 8}})).empty());
}

TEST_CASE("seeds and their offsets are no sizes", "[scalars]") {
  // Each launch has others: every one would be a configuration of its own.
  CHECK(TestKernel("_ZN18transformer_engine10fused_attn23extract_seed_and_offsetEPlbS1_mS1_mj",
                   {{0, 8}, {8, 1}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 4}})
            .scalars()
            .empty());
}

TEST_CASE("a structure of one pointer is no size", "[scalars]") {
  // CUB's tile states hold an address, which would make every launch a configuration of its own.
  const TestKernel kernel("_ZN14at_cuda_detail3cub6detail4scan20DeviceScanInitKernelINS0_13ScanTileStateIlLb1EEEEEvT_i",
                          {{0, 8}, {8, 4}});
  CHECK(offsets(kernel) == std::vector<uint32_t>{8});
}
