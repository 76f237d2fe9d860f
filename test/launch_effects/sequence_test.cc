// Kernels that go through a sequence: cumulative sums, non-zero elements, sorting, choosing the largest.
#include <sys/wait.h>
#include <unistd.h>

#include "launch_helpers.h"
#include "virtual_device/values/effect.h"

using namespace maya::test;

namespace {

Parameter tensor_info(Address data, uint32_t size, uint32_t stride) {
  Parameter made;
  return made.at(0, data).at(8, size).at(108, stride).at(208, 1);
}

// gatherTopK<float, unsigned, 1, false>.
const TestKernel& top_floats() {
  static const TestKernel top(
      "_ZN2at6native6sbtopk10gatherTopKIfjLi1ELb0EEEvNS_4cuda6detail10TensorInfoIKT_T0_EES8_S8_bS8_S8_"
      "NS5_IS6_S8_EES8_NS5_IlS8_EES8_PS6_",
      {{0, 216},
       {216, 4},
       {220, 4},
       {224, 1},
       {228, 4},
       {232, 4},
       {240, 216},
       {456, 4},
       {464, 216},
       {680, 4},
       {688, 8}});
  return top;
}

// Rows of `columns` elements, one behind the other.
Parameter rows_info(Address data, uint32_t rows, uint32_t columns) {
  Parameter made;
  made.at(0, data).at(8, rows).at(108, columns).at(208, 1);
  return made;
}

maya::device::RoutingCall reported;

// The experts that 6 tokens get, 2 of 4 each, from unknown probabilities; they were known zeros before.
std::vector<int64_t> route(Memory& memory, Address* indices) {
  const Address source = allocate(memory, 512), values = allocate(memory, 512);
  *indices = allocate(memory, 512);
  put<int64_t>(memory, *indices, std::vector<int64_t>(12, 0));
  put<float>(memory, values, std::vector<float>(12, 0));
  top_floats().launch(memory,
                      {rows_info(source, 6, 4), value(4u), value(2u), value(uint8_t{1}), value(6u), value(1u),
                       rows_info(values, 6, 2), value(1u), rows_info(*indices, 6, 2), value(1u), value(uint64_t{0})});
  CHECK_FALSE(memory.known(values, 4));
  return get<int64_t>(memory, *indices, 12);
}

}  // namespace

TEST_CASE("cumulative sums of rows", "[effects]") {
  const TestKernel scan("_ZN2at6native32tensor_kernel_scan_innermost_dimIlSt4plusIlEEEvPT_PKS4_jjjS4_T0_",
                        {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 4}, {32, 8}, {40, 1}});
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), result = allocate(*memory, 512);
  put<int64_t>(*memory, source, {1, 2, 3, 10, 20, 30});
  scan.launch(*memory,
              {value(result), value(source), value(2u), value(3u), value(4u), value(int64_t{0}), value(uint8_t{0})});
  CHECK(get<int64_t>(*memory, result, 6) == std::vector<int64_t>{1, 3, 6, 10, 30, 60});
  memory->make_unknown(source + 8, 8);
  scan.launch(*memory,
              {value(result), value(source), value(2u), value(3u), value(4u), value(int64_t{0}), value(uint8_t{0})});
  CHECK_FALSE(memory->known(result, 8));
}

TEST_CASE("elements that are not zero: how many, and where", "[effects]") {
  const std::string iterator = "EN6thrust38_V_300200_SM_750_800_860_900_1000_1200";
  const TestKernel count(
      "_ZN14at_cuda_detail3cub6detail6reduce28DeviceReduceSingleTileKernelINS2_10policy_hubIiyN4cuda3std3__"
      "44plusIvEEE10"
      "Policy1000" +
          iterator +
          "18transform_iteratorIN2at6native43_GLOBAL__N__a7e516da_10_Nonzero_cu_cba1aaa09NonZeroOpIbEEPKbNSD_11use_"
          "defaultESM_EEPiyS9_iiNS7_8identityEEEvT0_T1_T2_T3_T4_T6_",
      {{0, 16}, {16, 8}, {24, 8}, {32, 1}, {36, 4}, {40, 1}});
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), number = allocate(*memory, 512);
  put<uint8_t>(*memory, source, {1, 0, 0, 1, 1});
  Parameter elements;
  elements.at(0, source);
  count.launch(*memory, {elements, value(number), value(uint64_t{5}), value(uint8_t{0}), value(0), value(uint8_t{0})});
  CHECK(get<int32_t>(*memory, number, 1)[0] == 3);

  // Places 0 and 5 of a 2 x 3 tensor are (0, 0) and (1, 2).
  const TestKernel write(
      "_ZN2at6native43_GLOBAL__N__a7e516da_10_Nonzero_cu_cba1aaa013write_indicesIlEEvPlNS1_"
      "10TensorDimsIT_EEiS5_S3_l",
      {{0, 8}, {8, 200}, {208, 4}, {216, 8}, {224, 8}, {232, 8}});
  const Address places = allocate(*memory, 512);
  put<int64_t>(*memory, places, {0, 5});
  Parameter sizes;
  sizes.at(0, int64_t{2}).at(8, int64_t{3});
  write.launch(*memory, {value(places), sizes, value(2), value(int64_t{2}), value(uint64_t{0}), value(int64_t{-1})});
  CHECK(get<int64_t>(*memory, places, 4) == std::vector<int64_t>{0, 1, 0, 2});
}

TEST_CASE("a bitonic sort takes its values along", "[effects]") {
  const TestKernel sort(
      "_ZN2at6native20bitonicSortKVInPlaceILin2ELin1ELi16ELi16EllNS0_4LTOpIlLb1EEEjEEvNS_4cuda6detail10TensorInfoIT3_"
      "T6_"
      "EES8_S8_S8_NS6_IT4_S8_EES8_T5_",
      {{0, 216}, {216, 4}, {220, 4}, {224, 4}, {232, 216}, {448, 4}, {452, 1}});
  auto memory = make_memory();
  const Address keys = allocate(*memory, 512), values = allocate(*memory, 512);
  put<int64_t>(*memory, keys, {5, -1, 9, 3, 7});
  put<int64_t>(*memory, values, {0, 1, 2, 3, 4});
  sort.launch(*memory, {tensor_info(keys, 1, 5), value(1u), value(5u), value(1u), tensor_info(values, 1, 5), value(1u),
                        value(uint8_t{0})});
  CHECK(get<int64_t>(*memory, keys, 5) == std::vector<int64_t>{-1, 3, 5, 7, 9});
  CHECK(get<int64_t>(*memory, values, 5) == std::vector<int64_t>{1, 3, 0, 4, 2});
}

TEST_CASE("the largest elements, in order of their index, those equal to the last one behind them", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), values = allocate(*memory, 512), indices = allocate(*memory, 512);
  put<float>(*memory, source, {2, 7, 2, 9, 1});
  top_floats().launch(
      *memory, {tensor_info(source, 1, 5), value(5u), value(3u), value(uint8_t{1}), value(1u), value(1u),
                tensor_info(values, 1, 3), value(1u), tensor_info(indices, 1, 3), value(1u), value(uint64_t{0})});
  CHECK(get<float>(*memory, values, 3) == std::vector<float>{7, 9, 2});
  CHECK(get<int64_t>(*memory, indices, 3) == std::vector<int64_t>{1, 3, 0});
}

TEST_CASE("routing stays unknown, and is told once, unless it is balanced", "[effects]") {
  auto memory = make_memory();
  Address indices = 0;
  reported = {};
  maya::device::set_routing(maya::device::Routing::kUnknown,
                            [](const maya::device::RoutingCall& call) { reported = call; });
  route(*memory, &indices);
  CHECK_FALSE(memory->known(indices, 8));
  CHECK(reported.tokens == 6);
  CHECK(reported.experts == 4);
  CHECK(reported.chosen == 2);
  reported = {};
  route(*memory, &indices);
  CHECK(reported.tokens == 0);

  // 6 tokens x 2 experts over 4 experts: 3 tokens each.
  maya::device::set_routing(maya::device::Routing::kBalanced,
                            [](const maya::device::RoutingCall& call) { reported = call; });
  CHECK(route(*memory, &indices) == std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(memory->known(indices, 12 * 8));
  CHECK(reported.tokens == 0);
  maya::device::set_routing(maya::device::Routing::kUnknown, nullptr);
}

namespace {

// Tokens, experts, k; whether the softmax comes first, groups, groups a token, factor, bias; probabilities, map,
// scores, indices; 32-bit count, three pointers, count.
void route_fused(Memory& memory, const TestKernel& router, Address map, Address indices) {
  const Address logits = allocate(memory, 512), probabilities = allocate(memory, 512), scores = allocate(memory, 512);
  router.launch(memory, {value(logits), value(6), value(4), value(2), value(uint8_t{0}), value(0), value(0), value(1.f),
                         value(uint64_t{0}), value(probabilities), value(map), value(scores), value(indices), value(1),
                         value(uint64_t{0}), value(uint64_t{0}), value(uint64_t{0}), value(0)});
}

}  // namespace

TEST_CASE("Transformer Engine's fused router: a map and indices, balanced or unknown", "[effects]") {
  const std::vector<maya::device::KernelParameter> layout = {{0, 8},  {8, 4},  {12, 4}, {16, 4}, {20, 1},  {24, 4},
                                                             {28, 4}, {32, 4}, {40, 8}, {48, 8}, {56, 8},  {64, 8},
                                                             {72, 8}, {80, 4}, {88, 8}, {96, 8}, {104, 8}, {112, 4}};
  const auto named = [](const std::string& format) {
    return "_ZN18transformer_engine12fused_router45fused_topk_with_score_function_forward_"
           "kernelIffL20NVTERoutingMapFormat" +
           format + "ELNS0_12TopkFuncTypeE1ELi2EiLNS0_6QBModeE1EEEvPKT_iiibiifPKT0_PS5_PhPfPT4_iSD_PiPKfi";
  };
  auto memory = make_memory();
  const Address map = allocate(*memory, 512), indices = allocate(*memory, 512);
  reported = {};
  maya::device::set_routing(maya::device::Routing::kUnknown,
                            [](const maya::device::RoutingCall& call) { reported = call; });
  route_fused(*memory, TestKernel(named("0"), layout), map, indices);
  CHECK_FALSE(memory->known(map, 1));
  CHECK(reported.tokens == 6);
  CHECK(reported.experts == 4);
  CHECK(reported.chosen == 2);

  // 6 tokens x 2 experts over 4 experts: the first two, the last two, and so on.
  maya::device::set_routing(maya::device::Routing::kBalanced, nullptr);
  route_fused(*memory, TestKernel(named("0"), layout), map, indices);
  std::vector<uint8_t> wanted;
  for (int pair = 0; pair < 3; ++pair) wanted.insert(wanted.end(), {1, 1, 0, 0, 0, 0, 1, 1});
  CHECK(memory->known(map, 24));
  CHECK(get<uint8_t>(*memory, map, 24) == wanted);
  CHECK(get<int32_t>(*memory, indices, 12) == std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  // A bit for each expert, no indices asked for.
  const Address bits = allocate(*memory, 512);
  route_fused(*memory, TestKernel(named("1"), layout), bits, 0);
  CHECK(get<uint8_t>(*memory, bits, 6) == std::vector<uint8_t>{3, 12, 3, 12, 3, 12});
  CHECK_FALSE(memory->known(bits + 6, 1));
  maya::device::set_routing(maya::device::Routing::kUnknown, nullptr);
}

TEST_CASE("sorting a balanced choice by its unknown weights leaves it", "[effects]") {
  const TestKernel sort(
      "_ZN2at6native20bitonicSortKVInPlaceILin2ELin1ELi16ELi16EflNS0_4GTOpIfLb1EEEjEEvNS_4cuda6detail10TensorInfoIT3_"
      "T6_"
      "EES8_S8_S8_NS6_IT4_S8_EES8_T5_",
      {{0, 216}, {216, 4}, {220, 4}, {224, 4}, {232, 216}, {448, 4}, {452, 1}});
  auto memory = make_memory();
  const Address weights = allocate(*memory, 512), experts = allocate(*memory, 512);
  const auto launch = [&] {
    put<int64_t>(*memory, experts, {0, 1, 2, 3});
    sort.launch(*memory, {rows_info(weights, 2, 2), value(2u), value(2u), value(1u), rows_info(experts, 2, 2),
                          value(1u), value(uint8_t{0})});
  };
  launch();
  CHECK_FALSE(memory->known(experts, 8));
  maya::device::set_routing(maya::device::Routing::kBalanced, nullptr);
  launch();
  maya::device::set_routing(maya::device::Routing::kUnknown, nullptr);
  CHECK(memory->known(experts, 32));
  CHECK(get<int64_t>(*memory, experts, 4) == std::vector<int64_t>{0, 1, 2, 3});
}

TEST_CASE("CUB's sort of more than a tile: a pass is computed, and writes where it says", "[effects]") {
  const std::string policy = "INS1_5radix10policy_hubIbN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE10Policy1000E",
                    space = "_ZN14at_cuda_detail3cub6detail10radix_sort";
  const TestKernel pass(
      space + "29DeviceRadixSortOnesweepKernel" + policy +
          "LNS0_9SortOrderE1EbSB_yiiNS1_21identity_decomposer_tEEEvPT5_SH_PT3_PKSI_PT1_PKSM_PT2_PKSQ_"
          "T4_iiT6_",
      {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}, {64, 4}, {68, 4}, {72, 4}, {76, 1}});
  // 20,000 truth values, every fourth of them true, and their places: more than 64 KiB.
  constexpr int32_t kCount = 20000;
  constexpr uint64_t kBlock_bytes = 1 << 20;
  auto memory = make_memory();
  const auto block = [&] {
    const Address made = allocate(*memory, kBlock_bytes);
    REQUIRE(memory->fill(made, 7, 1, kBlock_bytes) == maya::device::MemoryStatus::kOk);
    return made;
  };
  const Address keys = block(), places = block(), sorted_keys = block(), sorted_places = block(), state = block();
  std::vector<uint8_t> chosen(kCount);
  std::vector<int64_t> order(kCount), wanted;
  for (int32_t i = 0; i < kCount; ++i) chosen[i] = i % 4 == 0, order[i] = i;
  for (const bool value : {true, false})
    for (int32_t i = 0; i < kCount; ++i)
      if ((i % 4 == 0) == value) wanted.push_back(i);
  put(*memory, keys, chosen);
  put(*memory, places, order);
  const auto launch = [&] {
    pass.launch(*memory,
                {value(state), value(state + 4096), value(state + 8192), value(keys), value(sorted_keys), value(keys),
                 value(sorted_places), value(places), value(kCount), value(0), value(1), Parameter()},
                3, 256);
  };
  launch();
  // Descending and stable: the true ones in order, then the others.
  CHECK(get<int64_t>(*memory, sorted_places, kCount) == wanted);
  CHECK(get<uint8_t>(*memory, sorted_keys, kCount / 4) == std::vector<uint8_t>(kCount / 4, 1));
  // Scratch: a state of 256 digits for each of three blocks, a counter, 256 counts.
  CHECK_FALSE(memory->known(state, 1));
  CHECK(memory->known(state + 3072, 1024));
  CHECK_FALSE(memory->known(state + 4096, 4));
  CHECK(memory->known(state + 4100, 4092));
  CHECK_FALSE(memory->known(state + 8192 + 2047, 1));
  CHECK(memory->known(state + 8192 + 2048, 1024));
  // Of unknown keys nothing is known, but what lies behind the results stays.
  memory->make_unknown(keys, 1);
  launch();
  CHECK_FALSE(memory->known(sorted_keys, 1));
  CHECK_FALSE(memory->known(sorted_places + kCount * 8 - 1, 1));
  CHECK(memory->known(sorted_keys + kCount, kBlock_bytes - kCount));
  CHECK(memory->known(sorted_places + kCount * 8, kBlock_bytes - kCount * 8));

  // One pass over truth values: 256 counts of 8 bytes, twice.
  const TestKernel counts(space + "30DeviceRadixSortHistogramKernel" + policy +
                              "LNS0_9SortOrderE1EbyNS1_21identity_decomposer_tEEEvPT2_PKT1_SG_iiT3_",
                          {{0, 8}, {8, 8}, {16, 8}, {24, 4}, {28, 4}, {32, 1}});
  const TestKernel sums(space + "33DeviceRadixSortExclusiveSumKernel" + policy + "yEEvPT0_", {{0, 8}});
  const Address bins = block();
  counts.launch(*memory, {value(bins), value(keys), value(uint64_t{kCount}), value(0), value(1), Parameter()}, 132,
                256);
  CHECK_FALSE(memory->known(bins + 2047, 1));
  CHECK(memory->known(bins + 2048, 1024));
  sums.launch(*memory, {value(bins + 4096)}, 1, 256);
  CHECK_FALSE(memory->known(bins + 4096 + 2047, 1));
  CHECK(memory->known(bins + 4096 + 2048, 1024));
}

TEST_CASE("places of true bytes of a mask, as masked_scatter counts them", "[effects]") {
  // In PyTorch 2.15's cubins, CountMaskOp stands in a namespace without a name.
  const TestKernel scan(
      "_ZN14at_cuda_detail3cub6detail4scan16DeviceScanKernelINS2_10policy_hubIllljN2at4cuda3cub38_GLOBAL__N__365f5212_"
      "6_cub_cu_8a0ccfeb5SumOpIlEEE10Policy1000EN6thrust38_V_300200_SM_750_800_860_900_1000_120018transform_"
      "iteratorINS8_11CountMaskOpEPKhNSE_11use_defaultESJ_EEPlNS0_13ScanTileStateIlLb1EEESA_NS1_10InputValueIlSL_"
      "EEjlLb0ElEEvT0_T1_T2_iT3_T4_T5_",
      {{0, 16}, {16, 8}, {24, 8}, {32, 4}, {36, 1}, {40, 16}, {56, 4}});
  auto memory = make_memory();
  const Address block = allocate(*memory, 1 << 20);
  const Address mask = block, places = block + 512, state = block + 1024;
  put<uint8_t>(*memory, mask, {1, 0, 1, 1, 0, 1});
  put(*memory, state + 8192, std::vector<uint8_t>(64, 9));
  scan.launch(*memory, {Parameter().add(mask).pad_to(16), value(places), value(state), value(0), value(uint8_t{0}),
                        Parameter().pad_to(16), value(uint32_t{6})});
  CHECK(get<int64_t>(*memory, places, 6) == std::vector<int64_t>{0, 1, 1, 2, 3, 3});
  CHECK(memory->known(places, 48));
  CHECK(memory->known(mask, 6));
  CHECK(memory->known(state + 8192, 64));
}

namespace {

uint64_t told_bytes = 0;
int told = 0;

// In a process of its own, since the sum is the process's.
int use_up() {
  using maya::device::may_compute_integers;
  constexpr uint64_t kLarge = 320ull << 20;
  maya::device::observe_large_limit([](uint64_t bytes) {
    told_bytes = bytes;
    ++told;
  });
  if (may_compute_integers(kLarge + 1)) return 1;  // too large alone, which is no reason to tell
  if (told != 0) return 2;
  int followed = 0;
  for (int i = 0; i < 20; ++i) followed += may_compute_integers(kLarge) ? 1 : 0;
  if (followed == 0 || followed > 12) return 3;  // 12 x 320 MiB are 3.75 GiB
  if (told != 1 || told_bytes != 4ull << 30) return 4;
  if (!may_compute_integers(1 << 20)) return 5;  // small ones always are
  maya::device::set_routing(maya::device::Routing::kBalanced, nullptr);
  return may_compute_integers(kLarge) ? 0 : 6;
}

}  // namespace

TEST_CASE("large integers are followed up to a sum, and it is told once when that is reached", "[effects]") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(use_up());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

namespace {

const std::vector<maya::device::KernelParameter> kRowSumParameters = {{0, 8},  {8, 8},  {16, 8}, {24, 8}, {32, 8},
                                                                      {40, 8}, {48, 8}, {56, 8}, {64, 1}};
constexpr char kRowSum[] = "_ZN44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb33indexing_backward_kernel_stride_1I";
constexpr char kRowSumArguments[] = "EEvPKlS2_PKT_PS3_llllb";

// 1024 threads for each index.
void sum_rows(const TestKernel& kernel, Memory& memory, Address sorted, Address places, Address rows, Address result,
              int64_t count, int64_t row, int64_t before = 0, int64_t outer = 1) {
  kernel.launch(memory,
                {value(sorted), value(places), value(rows), value(result), value(count), value(row), value(before),
                 value(outer), value(uint8_t{0})},
                static_cast<uint32_t>(count), 1024);
}

}  // namespace

TEST_CASE("rows put in by sorted indices: what is unknown goes to those rows alone", "[effects]") {
  auto memory = make_memory();
  const Address sorted = allocate(*memory, 512), places = allocate(*memory, 512), rows = allocate(*memory, 1024),
                result = allocate(*memory, 4096);
  const auto know_all = [&] { put<uint8_t>(*memory, result, std::vector<uint8_t>(4096, 7)); };
  const auto unknown = [&] {
    std::vector<int> out;
    for (int i = 0; i < 4096; ++i)
      if (!memory->known(result + static_cast<uint64_t>(i), 1)) out.push_back(i);
    return out;
  };
  put<int64_t>(*memory, sorted, {1, 2, 5});
  put<int64_t>(*memory, places, {0, 1, 2});
  know_all();
  // Elements of two bytes; nothing is known of those that come in.
  sum_rows(TestKernel(kRowSum + std::string("N3c108BFloat16E") + kRowSumArguments, kRowSumParameters), *memory, sorted,
           places, rows, result, 3, 1);
  CHECK(unknown() == std::vector<int>{2, 3, 4, 5, 10, 11});
  // Rows of two elements, in front of which there is a dimension of two whose elements are 100 apart.
  know_all();
  const std::string general =
      "_ZN44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb24indexing_backward_kernelIhLi4EEEvPKlS2_PKT_PS3_llllb";
  sum_rows(TestKernel(general, kRowSumParameters), *memory, sorted, places, rows, result, 3, 2, 100, 2);
  CHECK(unknown() == std::vector<int>{2, 3, 4, 5, 10, 11, 102, 103, 104, 105, 110, 111});
  // Indices that are not known may be any.
  know_all();
  memory->make_unknown(sorted + 8, 8);
  sum_rows(TestKernel(general, kRowSumParameters), *memory, sorted, places, rows, result, 3, 2);
  CHECK(unknown().size() == 4096);
}

TEST_CASE("with balanced routing large maps are made of sorted indices too", "[effects]") {
  constexpr int64_t kRows = 1 << 15;
  const TestKernel put_in(kRowSum + std::string("N3c108BFloat16E") + kRowSumArguments, kRowSumParameters);
  for (const bool balanced : {false, true}) {
    auto memory = make_memory();
    const Address sorted = allocate(*memory, 8 * kRows), places = allocate(*memory, 8 * kRows),
                  rows = allocate(*memory, 2 * kRows), result = allocate(*memory, 16 * kRows);
    std::vector<int64_t> every(kRows), one(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
      one[static_cast<size_t>(i)] = i;
      every[static_cast<size_t>(i)] = 8 * i + i % 8;
    }
    put(*memory, sorted, every);
    put(*memory, places, one);
    put(*memory, rows, std::vector<uint16_t>(kRows, 0x3f80));
    put(*memory, result, std::vector<uint16_t>(8 * kRows, 0));
    maya::device::set_routing(balanced ? maya::device::Routing::kBalanced : maya::device::Routing::kUnknown, nullptr);
    sum_rows(put_in, *memory, sorted, places, rows, result, kRows, 1);
    maya::device::set_routing(maya::device::Routing::kUnknown, nullptr);
    CHECK(memory->known(result, 16 * kRows) == balanced);
    if (balanced)
      CHECK(get<uint16_t>(*memory, result, 10) == std::vector<uint16_t>{0x3f80, 0, 0, 0, 0, 0, 0, 0, 0, 0x3f80});
  }
}
