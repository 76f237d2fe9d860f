// Kernels that write rows: what is behind their results stays known. Names as found in the images of vLLM 0.33 and
// PyTorch 2.15, sizes worked out by hand from the tensors that its public headers describe.
#include "launch_helpers.h"

using namespace maya::test;

namespace {

constexpr uint64_t kBlock_bytes = 1 << 20;

Address known_block(Memory& memory) {
  const Address block = allocate(memory, kBlock_bytes);
  REQUIRE(memory.fill(block, 7, 1, kBlock_bytes) == maya::device::MemoryStatus::kOk);
  return block;
}

// Nothing from `begin` to `end` is known, and everything around.
void check_unknown(Memory& memory, Address block, uint64_t begin, uint64_t end) {
  CHECK((begin == 0 || memory.known(block, begin)));
  CHECK_FALSE(memory.known(block + begin, 1));
  CHECK_FALSE(memory.known(block + end - 1, 1));
  CHECK(memory.known(block + end, kBlock_bytes - end));
}

}  // namespace

TEST_CASE("RMS norm: 3 rows of 1,000 numbers of 16 bits", "[effects]") {
  const TestKernel kernel(
      "_ZN4vllm15rms_norm_kernelIN3c108BFloat16ELi8ELi2ELb1EEEvPT_PKS3_lllllS6_lfii",
      {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}, {64, 8}, {72, 4}, {76, 4}, {80, 4}});
  auto memory = make_memory();
  const Address result = known_block(*memory), input = known_block(*memory), weight = known_block(*memory);
  const auto launch = [&](int row) {
    kernel.launch(
        *memory,
        {value(result + 64), value(input), value(int64_t{1000}), value(int64_t{0}), value(int64_t{0}),
         value(int64_t{0}), value(int64_t{0}), value(weight), value(int64_t{0}), value(1e-5f), value(3), value(row)},
        3, 1024);
  };
  launch(1000);
  check_unknown(*memory, result, 64, 64 + 3 * 1000 * 2);
  CHECK(memory->known(input, kBlock_bytes));
  CHECK(memory->known(weight, kBlock_bytes));
  // A row that is none: anything in reach of 3 x 1,024 threads.
  launch(-1);
  CHECK_FALSE(memory->known(result + 64 + 3 * 1024 * 64 - 1, 1));
}

TEST_CASE("RMS norm with a sum: 3 rows of 1,000, 4,096 apart, over the input; and the residual, dense", "[effects]") {
  const TestKernel kernel(
      "_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16ELi8ELb1EEENSt9enable_ifIXaagtT0_Li0Esr4vllm12_typeConvertIT_"
      "EE6existsEvE4typeEPS4_lS7_PKS4_fiil",
      {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 4}, {36, 4}, {40, 4}, {48, 8}});
  auto memory = make_memory();
  const Address input = known_block(*memory), residual = known_block(*memory), weight = known_block(*memory);
  kernel.launch(*memory,
                {value(input), value(int64_t{4096}), value(residual), value(weight), value(1e-5f), value(3),
                 value(1000), value(int64_t{0})},
                3, 1024);
  check_unknown(*memory, input, 0, (2 * 4096 + 1000) * 2);
  check_unknown(*memory, residual, 0, 3 * 1000 * 2);
  CHECK(memory->known(weight, kBlock_bytes));
}

TEST_CASE("rotary embedding: 5 tokens of 16 + 8 heads of 64 and as many values, in rows of 2,048", "[effects]") {
  const TestKernel kernel("_ZN4vllm23rotary_embedding_kernelIN3c108BFloat16ES2_Lb1EEEvPKlPT_S6_PKT0_illliiilb",
                          {{0, 8},
                           {8, 8},
                           {16, 8},
                           {24, 8},
                           {32, 4},
                           {40, 8},
                           {48, 8},
                           {56, 8},
                           {64, 4},
                           {68, 4},
                           {72, 4},
                           {80, 8},
                           {88, 1}});
  auto memory = make_memory();
  const Address positions = known_block(*memory), queries = known_block(*memory), keys = known_block(*memory),
                table = known_block(*memory);
  const auto launch = [&](Address key) {
    kernel.launch(
        *memory,
        {value(positions), value(queries), value(key), value(table), value(64), value(int64_t{2048}),
         value(int64_t{2048}), value(int64_t{64}), value(16), value(8), value(64), value(int64_t{0}), value(false)},
        5, 512);
  };
  launch(0);
  check_unknown(*memory, queries, 0, (4 * 2048 + 16 * 64) * 2);
  CHECK(memory->known(keys, kBlock_bytes));
  launch(keys);
  check_unknown(*memory, keys, 0, (4 * 2048 + 8 * 64) * 2);
  CHECK(memory->known(positions, kBlock_bytes));
  CHECK(memory->known(table, kBlock_bytes));
}

TEST_CASE("gated activation: 4 rows of 2,816", "[effects]") {
  const TestKernel kernel(
      "_ZN4vllm18act_and_mul_kernelIN3c108BFloat16E14__nv_bfloat162XadL_ZNS_11silu_kernelIS2_EET_RKS5_fEEXadL_ZNS_18pac"
      "ked_silu_kernelIS3_EES5_S7_fEELb1ELb1ELb0ELb0EEEvPS5_PS6_ifff",
      {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 4}, {28, 4}});
  auto memory = make_memory();
  const Address result = known_block(*memory), input = known_block(*memory);
  kernel.launch(*memory, {value(result), value(input), value(2816), value(0.0f), value(1.0f), value(0.0f)}, 4, 352);
  check_unknown(*memory, result, 0, 4 * 2816 * 2);
  CHECK(memory->known(input, kBlock_bytes));
}

TEST_CASE("what FlashAttention prepares for 3 sequences: a counter and lists of 3 numbers", "[effects]") {
  std::vector<maya::device::KernelParameter> layout;
  const uint32_t sizes[] = {4, 4, 4, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 12, 12, 8, 8, 8, 8, 8, 1, 1, 1, 4};
  uint32_t offset = 0;
  for (const uint32_t size : sizes) {
    const uint32_t alignment = size == 12 ? 4 : size;
    offset = (offset + alignment - 1) / alignment * alignment;
    layout.push_back({offset, size});
    offset += size;
  }
  const TestKernel kernel(
      "_ZN5flash32prepare_varlen_num_blocks_kernelILi1ELb0EEEviiiPKiS2_S2_S2_S2_S2_iiiiiN7cutlass10FastDivmodES4_PiS5_"
      "S5_S5_S5_bbbi",
      layout);
  auto memory = make_memory();
  const Address lists = known_block(*memory), lengths = known_block(*memory);
  const Address none = 0;
  kernel.launch(*memory, {value(7),           value(512),   value(0),           value(lengths), value(none),
                          value(none),        value(none),  value(lengths),     value(none),    value(3),
                          value(8),           value(2),     value(132),         value(1),       Parameter(),
                          Parameter(),        value(lists), value(lists + 128), value(none),    value(lists + 256),
                          value(lists + 384), value(false), value(true),        value(true),    value(64)},
                1, 32);
  CHECK_FALSE(memory->known(lists, 1));
  CHECK(memory->known(lists + 4, 124));
  for (const uint64_t list : {128, 256, 384}) {
    CHECK_FALSE(memory->known(lists + list, 1));
    CHECK_FALSE(memory->known(lists + list + 11, 1));
    CHECK(memory->known(lists + list + 12, 116));
  }
  CHECK(memory->known(lengths, kBlock_bytes));
}

TEST_CASE("what Transformer Engine makes of where sequences begin: 3 lengths, 4 offsets of 64 bits", "[effects]") {
  const std::string space = "_ZN18transformer_engine10fused_attn";
  const TestKernel lengths(space + "28cu_seqlens_to_actual_seqlensEllPKiS2_PiS3_",
                           {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}});
  const TestKernel offsets(
      space + "28cu_seqlens_padded_to_offsetsE21NVTE_QKV_Layout_GroupllllllPKiS3_NS_5DTypeEPvS5_S5_S5_S5_", {{0, 4},
                                                                                                             {8, 8},
                                                                                                             {16, 8},
                                                                                                             {24, 8},
                                                                                                             {32, 8},
                                                                                                             {40, 8},
                                                                                                             {48, 8},
                                                                                                             {56, 8},
                                                                                                             {64, 8},
                                                                                                             {72, 4},
                                                                                                             {80, 8},
                                                                                                             {88, 8},
                                                                                                             {96, 8},
                                                                                                             {104, 8},
                                                                                                             {112, 8}});
  auto memory = make_memory();
  const Address begins = known_block(*memory), queries = known_block(*memory), keys = known_block(*memory);
  const int64_t actual = 1, most = 3, heads = 4, size = 64;
  lengths.launch(*memory, {value(actual), value(most), value(begins), value(begins), value(queries + 64), value(keys)},
                 1, 128);
  check_unknown(*memory, queries, 64, 64 + 3 * 4);
  check_unknown(*memory, keys, 0, 3 * 4);
  const Address first = known_block(*memory), last = known_block(*memory);
  offsets.launch(*memory,
                 {value(3), value(actual), value(most), value(heads), value(heads), value(size), value(size),
                  value(begins), value(begins), value(2), value(first), value(uint64_t{0}), value(uint64_t{0}),
                  value(uint64_t{0}), value(last + 64)},
                 1, 128);
  check_unknown(*memory, first, 0, 4 * 8);
  check_unknown(*memory, last, 64, 64 + 4 * 8);
  CHECK(memory->known(begins, kBlock_bytes));
}

TEST_CASE("a kernel of that name with other parameters is like any other", "[effects]") {
  // void vllm::act_and_mul_kernel(float*, float const*, int): reach by its threads.
  const TestKernel kernel("_ZN4vllm18act_and_mul_kernelEPfPKfi", {{0, 8}, {8, 8}, {16, 4}});
  auto memory = make_memory();
  const Address result = known_block(*memory);
  kernel.launch(*memory, {value(result), value(result), value(8)}, 2, 32);
  check_unknown(*memory, result, 0, 2 * 32 * 64);
}

TEST_CASE("PyTorch's softmax of short rows: 6 rows of 4, of floats", "[effects]") {
  const TestKernel forward(
      "_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6320softmax_warp_forwardIfffLi2ELb0ELb0ELi32EEEvPT0_PKT_iiiPKbib",
      {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 4}, {32, 8}, {40, 4}, {44, 1}});
  const TestKernel backward(
      "_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6321softmax_warp_backwardIfffLi2ELb0ELb0ELi32EEEvPT0_PKT_S5_"
      "iiiPKb",
      {{0, 8}, {8, 8}, {16, 8}, {24, 4}, {28, 4}, {32, 4}, {40, 8}});
  auto memory = make_memory();
  const Address result = known_block(*memory), input = known_block(*memory), gradient = known_block(*memory);
  forward.launch(*memory, {value(result + 64), value(input), value(6), value(4), value(4), value(uint64_t{0}), value(0),
                           value(uint8_t{0})});
  check_unknown(*memory, result, 64, 64 + 6 * 4 * 4);
  backward.launch(*memory,
                  {value(gradient), value(input), value(input), value(6), value(4), value(4), value(uint64_t{0})});
  check_unknown(*memory, gradient, 0, 6 * 4 * 4);
  CHECK(memory->known(input, kBlock_bytes));
}

TEST_CASE("PyTorch's layer norm: 3 rows of 1,000 numbers of 16 bits, their statistics, their gradients", "[effects]") {
  const std::string types = "IN3c108BFloat16EfLb0EEEv",
                    space = "_ZN2at6native53_GLOBAL__N__4da244e1_20_layer_norm_kernel_cu_9c5ada8a";
  const TestKernel forward(space + "28vectorized_layer_norm_kernel" + types + "iT0_PKT_S8_S8_PS5_S9_PS6_",
                           {{0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}});
  const TestKernel input_gradient(
      space + "39layer_norm_grad_input_kernel_vectorized" + types + "PKT_S7_PKT0_SA_S7_PS5_i",
      {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 4}});
  const TestKernel weight_gradient(
      space +
          "35GammaBetaBackwardCUDAKernelTemplateIN3c108BFloat16EfLj32ELj16ELj128ELb0ELb1ELb0EE"
          "EvllPKT_S7_PKT0_SA_PS5_SB_",
      {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}});
  auto memory = make_memory();
  const Address input = known_block(*memory), result = known_block(*memory), means = known_block(*memory),
                deviations = known_block(*memory);
  forward.launch(*memory,
                 {value(1000), value(1e-5f), value(input), value(input), value(input), value(means), value(deviations),
                  value(result)},
                 3);
  check_unknown(*memory, means, 0, 3 * 4);
  check_unknown(*memory, deviations, 0, 3 * 4);
  check_unknown(*memory, result, 0, 3 * 1000 * 2);
  const Address gradient = known_block(*memory);
  input_gradient.launch(
      *memory, {value(input), value(input), value(input), value(input), value(input), value(gradient), value(1000)}, 3);
  check_unknown(*memory, gradient, 0, 3 * 1000 * 2);
  // Two blocks along y leave two rows of sums; there may be no bias.
  const Address weight = known_block(*memory);
  weight_gradient.launch(*memory,
                         {value(int64_t{3}), value(int64_t{1000}), value(input), value(input), value(input),
                          value(input), value(weight), value(uint64_t{0})},
                         32, 512, 2);
  check_unknown(*memory, weight, 0, 2 * 1000 * 2);
  CHECK(memory->known(input, kBlock_bytes));
}

TEST_CASE("places for a stable sort: 5,000 of 64 bits, by 5 x 1,024 threads", "[effects]") {
  const TestKernel kernel(
      "_ZN2at6native46_GLOBAL__N__c76d7d8e_13_SortStable_cu_f7bb90a127fill_reverse_indices_kernelEPliNS_"
      "4cuda6detail10Int"
      "DividerIjEE",
      {{0, 8}, {8, 4}, {12, 12}});
  auto memory = make_memory();
  const Address places = known_block(*memory);
  kernel.launch(*memory, {value(places + 512), value(5000), Parameter()}, 5, 1024);
  check_unknown(*memory, places, 512, 512 + 5000 * 8);
  // Of slices of 2,000 each.
  Parameter divider;
  kernel.launch(*memory, {value(places + 512), value(5000), divider.at(0, 2000u)}, 5, 1024);
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 5000; ++i) expected.push_back(i % 2000);
  CHECK(get<int64_t>(*memory, places + 512, 5000) == expected);
}

namespace {

// Kernel_traits<weights, input, result of 16 bits, sums of 32, ...> of Transformer Engine 2.14, rows of 1,024.
const std::string kEngineSpace = "_ZN18transformer_engine13normalization";
const std::string kEngineTraits =
    "INS0_13Kernel_traitsI13__nv_bfloat16S3_S3_fjLj1024ELj1ELj4ELj1ELj16ENS0_18Kernel_traits_baseILj1024ES3_S3_S3_"
    "fjLj12"
    "8EEEEE";

// Blocks that share the rows, blocks of a row, 577 rows, 1,024 columns.
Parameter engine_norm(int32_t blocks, int32_t blocks_of_row) {
  return Parameter().add(blocks).add(blocks_of_row).add(int32_t{577}).add(int32_t{1024});
}

}  // namespace

TEST_CASE("Transformer Engine's layer norm: statistics of 577 rows among other small tensors", "[effects]") {
  for (const uint32_t size : {136u, 128u}) {  // with the bytes of its scale, and of releases before
    const TestKernel forward(kEngineSpace + "19ln_fwd_tuned_kernel" + kEngineTraits + "EEvNS0_19ForwardKernelParamsE",
                             {{0, size}});
    auto memory = make_memory();
    const Address input = known_block(*memory), weight = known_block(*memory), small = known_block(*memory),
                  barriers = known_block(*memory);
    const Address result = allocate(*memory, 4 << 20);
    REQUIRE(memory->fill(result, 7, 1, 4 << 20) == maya::device::MemoryStatus::kOk);
    const auto launch = [&](int32_t blocks_of_row) {
      Parameter parameter = engine_norm(145, blocks_of_row);
      parameter.add(input).add(small + 4096).add(small + 8192).add(weight);
      parameter.add(barriers).add(barriers + 4096).add(uint64_t{0}).add(result).add(weight);
      forward.launch(*memory, {parameter.at(size - 16, small + 16384)}, 145 * blocks_of_row);
    };
    launch(1);
    // Three results lie in one block, with known bytes between them: 577 x 4 bytes twice, and the largest value.
    for (const auto& [begin, end] : {std::pair<uint64_t, uint64_t>{4096, 6404}, {8192, 10500}, {16384, 16388}}) {
      CHECK(memory->known(small + begin - 64, 64));
      CHECK_FALSE(memory->known(small + begin, 1));
      CHECK_FALSE(memory->known(small + end - 1, 1));
      CHECK(memory->known(small + end, 64));
    }
    CHECK_FALSE(memory->known(result, 1));
    CHECK_FALSE(memory->known(result + 577 * 1024 * 2 - 1, 1));
    CHECK(memory->known(result + 577 * 1024 * 2, 64));
    for (const Address read : {input, weight, barriers}) CHECK(memory->known(read, kBlock_bytes));
    // Blocks that share a row meet in the workspace, whose size is not told.
    launch(2);
    CHECK_FALSE(memory->known(barriers, 1));
    CHECK_FALSE(memory->known(barriers + 4096, 1));
  }
}

TEST_CASE("Transformer Engine's layer norm backward: sums of 3 blocks, the gradients of input and weights",
          "[effects]") {
  for (const uint32_t size : {128u, 120u}) {  // with a tensor to add, and of releases before
    const TestKernel backward(kEngineSpace + "19ln_bwd_tuned_kernel" + kEngineTraits + "EEvNS0_20BackwardKernelParamsE",
                              {{0, size}});
    const TestKernel last(
        kEngineSpace +
            "28ln_bwd_finalize_tuned_kernelINS0_22Kernel_traits_finalizeILj1024E13__nv_bfloat16S3_S3_fjLj1024"
            "ELj4ENS0_18Kernel_traits_baseILj1024ES3_S3_S3_fjLj1024EEEEEEEvNS0_20BackwardKernelParamsE",
        {{0, size}});
    const TestKernel general(
        kEngineSpace + "35rmsnorm_bwd_finalize_general_kernelIffLj4ELj1ELj4ELj32EEEvNS0_20BackwardKernelParamsE",
        {{0, size}});
    auto memory = make_memory();
    const Address input = known_block(*memory), bias_sums = known_block(*memory), weight_sums = known_block(*memory),
                  bias = known_block(*memory), weight = known_block(*memory);
    const Address gradient = allocate(*memory, 4 << 20);
    REQUIRE(memory->fill(gradient, 7, 1, 4 << 20) == maya::device::MemoryStatus::kOk);
    Parameter parameter = engine_norm(3, 1);
    parameter.add(input).add(input).add(input).add(input).add(uint64_t{0}).add(uint64_t{0}).add(uint64_t{0}).add(input);
    if (size == 128) parameter.add(input);
    parameter.add(bias_sums).add(weight_sums).add(gradient).add(bias).add(weight);
    backward.launch(*memory, {parameter}, 3);
    check_unknown(*memory, bias_sums, 0, 3 * 1024 * 4);
    check_unknown(*memory, weight_sums, 0, 3 * 1024 * 4);
    CHECK_FALSE(memory->known(gradient + 577 * 1024 * 2 - 1, 1));
    CHECK(memory->known(gradient + 577 * 1024 * 2, 64));
    CHECK(memory->known(bias, kBlock_bytes));
    last.launch(*memory, {parameter}, 32, 1024);
    check_unknown(*memory, bias, 0, 1024 * 2);
    check_unknown(*memory, weight, 0, 1024 * 2);
    general.launch(*memory, {parameter}, 32, 1024);
    check_unknown(*memory, weight, 0, 1024 * 4);
    CHECK(memory->known(input, kBlock_bytes));
  }
}

TEST_CASE("Transformer Engine's norm with a structure of another size: reach of its threads", "[effects]") {
  const TestKernel kernel(kEngineSpace + "19ln_fwd_tuned_kernel" + kEngineTraits + "EEvNS0_19ForwardKernelParamsE",
                          {{0, 96}});
  auto memory = make_memory();
  const Address means = known_block(*memory);
  kernel.launch(*memory, {engine_norm(1, 1).add(uint64_t{0}).add(means)}, 2, 128);
  check_unknown(*memory, means, 0, 2 * 128 * 64);
}

// Of PyTorch 2.15, by their mangled names and what they write of blocks that are known before; 7 rows of 3, a block
// each.
TEST_CASE("norms, softmax and losses write no more than their rows", "[effects]") {
  const std::string space = "_ZN2at6native12_GLOBAL__N_1";
  struct Written {
    size_t parameter;
    uint64_t bytes;
  };
  struct Case {
    std::string name;
    // A letter a parameter: r and w blocks that are read and written, R and C the numbers 7 and 3 of 8 bytes, c the
    // number 3 of 4, i 7 of 4, f a factor, b a truth value.
    std::string parameters;
    std::vector<Written> written;
  };
  const Case cases[] = {
      {"24RowwiseMomentsCUDAKernelIffLb0EEEvllT0_PKT_PS3_S7_", "RCfrww", {{4, 28}, {5, 28}}},
      {"24RowwiseMomentsCUDAKernelIffEEvlT0_PKT_PS3_S7_", "Cfrww", {{3, 28}, {4, 28}}},
      {"26LayerNormForwardCUDAKernelIffLb0EEEvllPKT_PKT0_S8_S5_S5_PS3_", "RCrrrrrw", {{7, 84}}},
      {"26LayerNormForwardCUDAKernelIffEEvlPKT_PKT0_S8_S5_S5_PS3_", "Crrrrrw", {{6, 84}}},
      {"28layer_norm_grad_input_kernelIffLb0EEEvPKT_S5_PKT0_S8_S5_PS3_i", "rrrrrwc", {{5, 84}}},
      {"28ComputeFusedParamsCUDAKernelIffEEvlllPKT0_S5_PKT_S8_PS3_S9_", "RCRrrrrww", {{7, 84}, {8, 84}}},
      {"28GammaBetaBackwardCUDAKernel1IfEEvlllPKT_S5_S5_S5_PS3_S6_", "RCRrrrrww", {{7, 12}, {8, 12}}},
      {"19cunn_SoftMaxForwardILi4EfffEEvPT2_PKT0_i", "wrc", {{0, 84}}},
      {"22cunn_SoftMaxForwardRegIfEEvPT_PKS3_l", "wrC", {{0, 84}}},
      {"20cunn_SoftMaxBackwardILi4EfffEEvPT0_PKT2_S7_l", "wrrC", {{0, 84}}},
      {"38nll_loss_forward_reduce_cuda_kernel_1dIflEEvPT_S4_PKS3_PKT0_S6_bll", "wwrrrbCC", {{0, 4}, {1, 4}}},
      {"38nll_loss_forward_reduce_cuda_kernel_2dIfflEEvPT_S4_PKS3_PKT1_S6_bllll", "wwrrrbRCCC", {{0, 4}, {1, 4}}},
      {"39nll_loss_backward_reduce_cuda_kernel_2dIflEEvPT_PKS3_PKT0_S6_S6_biill", "wrrrrbicCC", {{0, 84}}},
      {"32weight_norm_fwd_first_dim_kernelIffEEvPT_PT0_PKS3_S8_i", "wwrrc", {{0, 84}, {1, 28}}},
      {"32weight_norm_bwd_first_dim_kernelIffEEvPT_S4_PKS3_S6_S6_PKT0_i", "wwrrrrc", {{0, 84}, {1, 28}}},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    auto memory = make_memory();
    std::vector<maya::device::KernelParameter> layout;
    std::vector<Parameter> parameters;
    std::vector<Address> blocks(one.parameters.size(), 0);
    uint32_t offset = 0;
    for (size_t i = 0; i < one.parameters.size(); ++i) {
      const char letter = one.parameters[i];
      if (letter == 'r' || letter == 'w') {
        blocks[i] = known_block(*memory);
        parameters.push_back(value(blocks[i]));
      } else if (letter == 'R' || letter == 'C') {
        parameters.push_back(value(int64_t{letter == 'R' ? 7 : 3}));
      } else if (letter == 'f') {
        parameters.push_back(value(1e-5f));
      } else if (letter == 'b') {
        parameters.push_back(value(true));
      } else {
        parameters.push_back(value(letter == 'i' ? 7 : 3));
      }
      const auto size = static_cast<uint32_t>(parameters.back().bytes().size());
      offset = (offset + size - 1) / size * size;
      layout.push_back({offset, size});
      offset += size;
    }
    TestKernel(space + one.name, layout).launch(*memory, parameters, 7, 256);
    for (size_t i = 0; i < blocks.size(); ++i)
      if (one.parameters[i] == 'r') CHECK(memory->known(blocks[i], kBlock_bytes));
    for (const Written& written : one.written) check_unknown(*memory, blocks[written.parameter], 0, written.bytes);
  }
}
