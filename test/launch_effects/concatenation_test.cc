#include "launch_helpers.h"

using namespace maya::test;

namespace {

// CatArrayBatchedCopy_contig<OpaqueType<1>, unsigned, 2, 128, 1>: (result, metadata, sizes, dimension, step).
const TestKernel& concatenate() {
  static const TestKernel kernel(
      "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj1EEEjLi2E"
      "Li128ELi1EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_",
      {{0, 8}, {8, 2720}, {2728, 32}, {2760, 4}, {2764, 4}});
  return kernel;
}

struct Input {
  Address address;
  uint32_t offset, extent, elements;
};

// A result of `rows` x `columns` bytes, joined along its columns.
void launch(Memory& memory, Address result, uint32_t rows, uint32_t columns, const std::vector<Input>& inputs) {
  Parameter metadata;
  for (size_t i = 0; i < inputs.size(); ++i) {
    metadata.at(8 * i, inputs[i].address).at(1024 + 4 * i, inputs[i].offset);
    metadata.at(1536 + 4 * i, inputs[i].extent).at(2048 + 4 * i, inputs[i].elements);
  }
  Parameter sizes;
  sizes.at(0, rows).at(4, columns).at(16, columns).at(20, 1u);
  concatenate().launch(memory, {value(result), metadata, sizes, value(1), value(1u)}, 1, 128,
                       static_cast<uint32_t>(inputs.size()));
}

}  // namespace

TEST_CASE("rows are joined: 1 2 | 5 over 3 4 | 6", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512), b = allocate(*memory, 512), result = allocate(*memory, 512);
  put<uint8_t>(*memory, a, {1, 2, 3, 4});
  put<uint8_t>(*memory, b, {5, 6});
  launch(*memory, result, 2, 3, {{a, 0, 2, 4}, {b, 2, 1, 2}});
  CHECK(get<uint8_t>(*memory, result, 6) == std::vector<uint8_t>{1, 2, 5, 3, 4, 6});
}

TEST_CASE("unknown bytes of an input stay unknown in the result, at any size", "[effects]") {
  auto memory = make_memory();
  constexpr uint32_t kBytes = 1 << 20;  // 16 times what is computed
  const Address a = allocate(*memory, kBytes), b = allocate(*memory, kBytes), result = allocate(*memory, 2 * kBytes);
  put<uint8_t>(*memory, a, std::vector<uint8_t>(kBytes, 7));
  put<uint8_t>(*memory, b + 8, {9});
  put<uint8_t>(*memory, result, std::vector<uint8_t>(2 * kBytes, 1));
  launch(*memory, result, 1, 2 * kBytes, {{a, 0, kBytes, kBytes}, {b, kBytes, kBytes, kBytes}});
  CHECK(memory->known(result, kBytes));
  CHECK(get<uint8_t>(*memory, result + kBytes - 1, 1)[0] == 7);
  CHECK_FALSE(memory->known(result + kBytes, 1));
  CHECK(get<uint8_t>(*memory, result + kBytes + 8, 1)[0] == 9);
}

TEST_CASE("a result that lies between its inputs", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 1536);
  put<uint8_t>(*memory, block, {1, 2, 3, 4});
  put<uint8_t>(*memory, block + 1024, {5});  // the second row's is unknown
  launch(*memory, block + 512, 2, 3, {{block, 0, 2, 4}, {block + 1024, 2, 1, 2}});
  CHECK(get<uint8_t>(*memory, block + 512, 6) == std::vector<uint8_t>{1, 2, 5, 3, 4, 0});
  CHECK(memory->known(block + 512, 5));
  CHECK_FALSE(memory->known(block + 517, 1));
}

TEST_CASE("sizes that make no sense are harmless", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512), result = allocate(*memory, 512);
  put<uint8_t>(*memory, a, {1, 2, 3, 4});
  for (const uint32_t bad : {0u, 0xffffffffu, 0x80000000u}) {
    launch(*memory, result, 2, bad, {{a, 0, 2, 4}});
    launch(*memory, result, 2, 3, {{a, bad, 2, 4}});
    launch(*memory, result, 2, 3, {{a, 0, bad, 4}});
    launch(*memory, result, 2, 3, {{a, 0, 2, bad}});
    launch(*memory, result, 2, 3, {{a + bad, 0, 2, 4}});
  }
  CHECK(get<uint8_t>(*memory, a, 4) == std::vector<uint8_t>{1, 2, 3, 4});
}

TEST_CASE("a result of too many pieces becomes unknown as far as it reaches, what is behind stays", "[effects]") {
  auto memory = make_memory();
  // 20,000 rows of two bytes, of which this launch writes the first column, then the second; half of the input is
  // known, so that every byte would be moved alone.
  constexpr uint32_t kRows = 20000, kBytes = 128 << 10;
  const Address input = allocate(*memory, 2 << 20), result = allocate(*memory, 2 << 20);
  put<uint8_t>(*memory, input, std::vector<uint8_t>(kRows / 2, 2));
  for (const uint32_t first : {0u, 1u}) {
    put<uint8_t>(*memory, result, std::vector<uint8_t>(kBytes, 1));
    launch(*memory, result, kRows, 2, {{input, first, 1, kRows}});
    const uint64_t end = 2 * (kRows - 1) + first + 1;
    CHECK(memory->known(input, kRows / 2));
    CHECK_FALSE(memory->known(result + end - 1, 1));
    CHECK(memory->known(result + end, kBytes - end));
  }
}
