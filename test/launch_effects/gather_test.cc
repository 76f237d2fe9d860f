// Kernels that move elements to or from the places that an index tensor names.
#include "launch_helpers.h"

using namespace maya::test;

namespace {

// gpu_index_kernel of index_kernel_impl<OpaqueType<1>>.
const TestKernel& index_bytes() {
  static const TestKernel kernel(
      "_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16gpu_index_kernelIZNS0_17index_kernel_implINS0_"
      "10OpaqueTypeILi1EEEEEvRNS_18TensorIteratorBaseEN3c108ArrayRefIlEESA_EUlPcPKclE_EEvS7_SA_SA_RKT_bEUliE_EEvlT1_",
      {{0, 8}, {8, 1240}});
  return kernel;
}
const TestKernel& flip_bytes() {
  static const TestKernel kernel(
      "_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16flip_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_"
      "14TensorIteratorEEUliE_EEvlT1_",
      {{0, 8}, {8, 520}});
  return kernel;
}
// _cuda_scatter_gather_internal_kernel<false, OpaqueType<8>, long> of TensorAssign: a gather.
const TestKernel& gather_longs() {
  static const TestKernel kernel(
      "_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_internal_kernelILb0ENS0_"
      "10OpaqueTypeILi8EEElEclINS0_12TensorAssignEEEvRNS_14TensorIteratorElllRKT_EUliE_EEviT1_",
      {{0, 4}, {8, 664}});
  return kernel;
}
// The same of PyTorch 2.4 and 2.7, <false, OpaqueType<8>>.
const TestKernel& older_gather_longs() {
  static const TestKernel kernel(
      "_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi4EZNS0_36_cuda_scatter_gather_internal_kernelILb0ENS0_"
      "10OpaqueTypeILi8EEEEclINS0_12TensorAssignEEEvRNS_14TensorIteratorElllRKT_EUliE_EEviT1_",
      {{0, 4}, {8, 664}});
  return kernel;
}
// indexSelectSmallIndex<float, long, unsigned, 1, 1, -2>.
const TestKernel& select_rows() {
  static const TestKernel kernel(
      "_ZN2at6native44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb21indexSelectSmallIndexIfljLi1ELi1ELin2EEEvNS_4cuda6"
      "detail10TensorInfoIT_T1_EENS5_IKS6_S7_EENS5_IKT0_S7_EEiiS7_l",
      {{0, 216}, {216, 216}, {432, 216}, {648, 4}, {652, 4}, {656, 4}, {664, 8}});
  return kernel;
}

// An OffsetCalculator of one dimension.
Parameter calculator(uint32_t count, const std::vector<int32_t>& strides) {
  Parameter made;
  made.at(0, 1u).at(4, count);
  for (size_t t = 0; t < strides.size(); ++t) made.at(304 + 4 * t, strides[t]);
  return made;
}

// source[indices] of bytes in a row of `size`.
void index(Memory& memory, Address result, Address source, Address indices, uint32_t count, int64_t size) {
  Parameter lambda = calculator(count, {1, 0, 8});
  lambda.at(608, result).at(616, source).at(624, uint64_t{1}).at(632, indices).at(832, size).at(1032, int64_t{1});
  index_bytes().launch(memory, {value(int64_t{count}), lambda});
}

Parameter tensor_info(Address data, const std::vector<uint32_t>& sizes, const std::vector<uint32_t>& strides) {
  Parameter made;
  made.at(0, data).at(208, static_cast<int32_t>(sizes.size()));
  for (size_t d = 0; d < sizes.size(); ++d) made.at(8 + 4 * d, sizes[d]).at(108 + 4 * d, strides[d]);
  return made;
}

}  // namespace

TEST_CASE("indexing takes elements, negative indices from the end", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), indices = allocate(*memory, 512), result = allocate(*memory, 512);
  put<uint8_t>(*memory, source, {10, 11, 12, 13});
  put<int64_t>(*memory, indices, {2, -1, 0});
  index(*memory, result, source, indices, 3, 4);
  CHECK(get<uint8_t>(*memory, result, 3) == std::vector<uint8_t>{12, 13, 10});
}

TEST_CASE("indices that are unknown or out of range give unknown elements", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), indices = allocate(*memory, 512), result = allocate(*memory, 512);
  put<uint8_t>(*memory, source, {10, 11, 12, 13});
  put<uint8_t>(*memory, result, {1, 1, 1});
  put<int64_t>(*memory, indices, {2, 4, 0});
  index(*memory, result, source, indices, 3, 4);
  CHECK_FALSE(memory->known(result, 1));
  put<uint8_t>(*memory, result, {1, 1, 1});
  memory->make_unknown(indices, 24);
  index(*memory, result, source, indices, 3, 4);
  CHECK_FALSE(memory->known(result, 1));
}

TEST_CASE("a flip counts its strides backwards", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), result = allocate(*memory, 512);
  put<uint8_t>(*memory, source, {1, 2, 3});
  Parameter lambda = calculator(3, {-1, 1});
  lambda.at(504, result + 2).at(512, source);
  flip_bytes().launch(*memory, {value(int64_t{3}), lambda});
  CHECK(get<uint8_t>(*memory, result, 3) == std::vector<uint8_t>{3, 2, 1});
}

TEST_CASE("a gather reads along its dimension", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), indices = allocate(*memory, 512), result = allocate(*memory, 512);
  put<int64_t>(*memory, source, {100, 101, 102});
  put<int64_t>(*memory, indices, {1, 1, 2, 0});
  Parameter lambda = calculator(4, {8, 0, 8});
  lambda.at(608, indices).at(616, int64_t{3}).at(632, result).at(640, int64_t{1}).at(648, int64_t{4}).at(656, source);
  for (const TestKernel* kernel : {&gather_longs(), &older_gather_longs()}) {
    memory->make_unknown(result, 32);
    kernel->launch(*memory, {value(4), lambda});
    CHECK(get<int64_t>(*memory, result, 4) == std::vector<int64_t>{101, 101, 102, 100});
  }
}

TEST_CASE("a large gather is computed of what is known, and otherwise leaves what lies behind its indices alone",
          "[effects]") {
  auto memory = make_memory();
  constexpr uint32_t kElements = 16384;  // 128 KiB of results, twice what is computed of floating-point numbers
  const Address block = allocate(*memory, 2 << 20);
  const Address indices = block, label = block + 8 * kElements, source = label + 512, result = source + 512;
  put<int64_t>(*memory, indices, std::vector<int64_t>(kElements, 1));
  put<int64_t>(*memory, label, {7});
  put<int64_t>(*memory, source, {100, 101});
  put<int64_t>(*memory, result, {1});
  Parameter lambda = calculator(kElements, {8, 0, 8});
  lambda.at(608, indices).at(616, int64_t{2}).at(632, result).at(640, int64_t{1}).at(648, int64_t{2}).at(656, source);
  gather_longs().launch(*memory, {value(static_cast<int32_t>(kElements)), lambda});
  CHECK(get<int64_t>(*memory, result, kElements) == std::vector<int64_t>(kElements, 101));
  memory->make_unknown(source, 16);
  gather_longs().launch(*memory, {value(static_cast<int32_t>(kElements)), lambda});
  CHECK_FALSE(memory->any_known(result, 8 * kElements));
  CHECK(get<int64_t>(*memory, label, 1) == std::vector<int64_t>{7});
}

TEST_CASE("a tiled transpose: squares of packed elements, pitches, and what is not known", "[effects]") {
  // transpose_copy_tiled_kernel<unsigned int, 2, 4, 32, false>: two elements of 16 bits a unit.
  const TestKernel halves(
      "_ZN2at6native39_GLOBAL__N__b5857774_7_Copy_cu_11f9d6c527transpose_copy_tiled_kernelIjLi2ELi4ELi32ELb0EEEvPKT_"
      "PS3_"
      "llll",
      {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}});
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20);
  const Address source = block, result = block + 512, behind = result + 2 * 4 * 6 * 2;
  // 4 rows of 2 units, 4 elements, and a pitch of 3 units: columns 0 to 3 of rows of 6.
  std::vector<uint16_t> rows(4 * 6);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint16_t>(100 * (i / 6) + i % 6);
  put<uint16_t>(*memory, source, rows);
  put<uint16_t>(*memory, behind, {7});
  const auto transpose = [&](int64_t result_pitch) {
    halves.launch(*memory, {value(source), value(result), value(int64_t{2}), value(int64_t{2}), value(int64_t{3}),
                            value(result_pitch)});
  };
  transpose(2);
  CHECK(get<uint16_t>(*memory, result, 16) ==
        std::vector<uint16_t>{0, 100, 200, 300, 1, 101, 201, 301, 2, 102, 202, 302, 3, 103, 203, 303});
  memory->make_unknown(result, 2 * 16);
  transpose(3);
  CHECK(get<uint16_t>(*memory, result + 2 * 6, 4) == std::vector<uint16_t>{1, 101, 201, 301});
  CHECK_FALSE(memory->any_known(result + 2 * 4, 2 * 2));  // between two rows
  memory->make_unknown(source + 2, 2);
  transpose(2);
  CHECK_FALSE(memory->any_known(result, 2 * 16));
  CHECK(get<uint16_t>(*memory, behind, 1) == std::vector<uint16_t>{7});
}

TEST_CASE("index_select moves rows", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), indices = allocate(*memory, 512), result = allocate(*memory, 512);
  put<float>(*memory, source, {0, 1, 10, 11, 20, 21});
  put<int64_t>(*memory, indices, {2, 0});
  // A slice is a row of two; rows are two elements apart. The selected dimension has size one.
  select_rows().launch(*memory, {tensor_info(result, {1, 2}, {2, 1}), tensor_info(source, {1, 2}, {2, 1}),
                                 tensor_info(indices, {2}, {1}), value(0), value(0), value(2u), value(int64_t{3})});
  CHECK(get<float>(*memory, result, 4) == std::vector<float>{20, 21, 0, 1});
}

TEST_CASE("an unknown index makes the selected rows unknown and nothing behind them", "[effects]") {
  auto memory = make_memory();
  const Address source = allocate(*memory, 512), indices = allocate(*memory, 512), result = allocate(*memory, 1024);
  put<float>(*memory, result, std::vector<float>(256, 3));
  select_rows().launch(*memory, {tensor_info(result, {1, 2}, {2, 1}), tensor_info(source, {1, 2}, {2, 1}),
                                 tensor_info(indices, {2}, {1}), value(0), value(0), value(2u), value(int64_t{3})});
  CHECK_FALSE(memory->known(result + 12, 4));
  CHECK(memory->known(result + 16, 1008));
}

TEST_CASE("what is written where indices say reaches no further than they may lead", "[effects]") {
  const std::string elementwise = "_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_";
  const TestKernel put_in(
      elementwise +
          "16gpu_index_kernelIZNS0_21index_put_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_"
          "14TensorIteratorEN3c108ArrayRefIlEESA_EUlPcPKclE_EEvRNS_18TensorIteratorBaseESA_SA_RKT_bEUliE_EEvlT1_",
      {{0, 8}, {8, 1240}}),
      filled(elementwise + "22index_fill_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_14TensorIteratorElllT_EUliE_EEvlT1_",
             {{0, 8}, {8, 544}}),
      copied(elementwise + "22index_copy_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_14TensorIteratorElllEUliE_EEvlT1_",
             {{0, 8}, {8, 648}}),
      scattered(
          "_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_internal_"
          "kernelILb1ENS0_10OpaqueTypeILi1EEElEclINS0_12TensorAssignEEEvRNS_14TensorIteratorElllRKT_EUliE_EEviT1_",
          {{0, 4}, {8, 664}});
  auto memory = make_memory();
  // 4 elements by indices into a dimension of 5, elements of which are 2 bytes apart: the last byte is number 8.
  const Address block = allocate(*memory, 1 << 20), source = allocate(*memory, 512);
  const Address indices = block, result = block + 512, behind = result + 9;
  for (const bool known : {false, true}) {
    for (const TestKernel* kernel : {&put_in, &filled, &copied, &scattered}) {
      put<uint8_t>(*memory, block, std::vector<uint8_t>(1024, 7));
      put<int64_t>(*memory, indices, {0, 4, 1, 1 << 30});  // one leads nowhere: then all may be written
      if (!known) memory->make_unknown(indices, 32);
      Parameter lambda = calculator(4, {0, 8, 8});
      if (kernel == &put_in)
        lambda.at(304, 0)
            .at(308, 0)
            .at(312, 8)
            .at(608, result)
            .at(616, source)
            .at(624, uint64_t{1})
            .at(632, indices)
            .at(832, int64_t{5})
            .at(1032, int64_t{2});
      else if (kernel == &filled)
        lambda.at(504, result).at(512, indices).at(520, int64_t{5}).at(528, int64_t{2}).at(536, uint8_t{1});
      else if (kernel == &copied)
        lambda.at(608, result).at(616, indices).at(624, source).at(632, int64_t{5}).at(640, int64_t{2});
      else
        lambda.at(608, indices)
            .at(616, int64_t{5})
            .at(632, result)
            .at(640, int64_t{2})
            .at(648, int64_t{4})
            .at(656, source);
      if (kernel == &scattered)
        kernel->launch(*memory, {value(4), lambda});
      else
        kernel->launch(*memory, {value(int64_t{4}), lambda});
      CHECK_FALSE(memory->any_known(result, 9));
      CHECK(memory->known(behind, 1024 - 512 - 9));
      CHECK(memory->known(block + 32, 480));
    }
  }
}
