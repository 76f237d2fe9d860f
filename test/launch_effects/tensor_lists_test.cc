#include "launch_helpers.h"

using namespace maya::test;

namespace {

// TensorListMetadata<2> of PyTorch 2.15 with CUDA 13: 448 tensors, 2,240 blocks; copy from list 0 to list 1.
const char* const kCopyLists =
    "_ZN2at6native55_GLOBAL__N__f86471ef_22_ForeachBinaryOpList_cu_a911ec4325multi_tensor_apply_kernelINS1_"
    "18TensorListMetadataILi2EEENS1_"
    "14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4CopyIffEEEEEvT_T0_DpT1_";
constexpr uint32_t kTensors = 448;

Parameter metadata(std::vector<std::vector<Address>> lists, std::vector<int64_t> sizes,
                   std::vector<uint16_t> block_to_tensor) {
  Parameter made;
  for (size_t list = 0; list < lists.size(); ++list)
    for (size_t i = 0; i < lists[list].size(); ++i) made.at(8 * (list * kTensors + i), lists[list][i]);
  for (size_t i = 0; i < sizes.size(); ++i) made.at(8 * (lists.size() * kTensors + i), sizes[i]);
  for (size_t i = 0; i < block_to_tensor.size(); ++i)
    made.at(8 * (lists.size() + 1) * kTensors + 2 * i, block_to_tensor[i]);
  return made.pad_to(24200);
}

}  // namespace

TEST_CASE("only the list with results becomes unknown, to the exact extent, and only tensors of this launch",
          "[effects]") {
  auto memory = make_memory();
  std::vector<Address> tensors;
  for (int i = 0; i < 5; ++i) {
    tensors.push_back(allocate(*memory, 512));
    // Of the sources only the first value is known, so nothing can be computed.
    put<float>(*memory, tensors.back(), std::vector<float>(i < 2 ? 1 : 8, 1));
  }
  const TestKernel copy(kCopyLists, {{0, 24200}, {24200, 1}, {24201, 1}});
  // Two tensors in this launch; the third entry is left over from an earlier one.
  copy.launch(*memory,
              {metadata({{tensors[0], tensors[1]}, {tensors[2], tensors[3], tensors[4]}}, {2, 8, 8}, {0, 1, 1}),
               Parameter(), Parameter()},
              3);
  CHECK(memory->known(tensors[0], 4));
  CHECK(memory->known(tensors[1], 4));
  CHECK_FALSE(memory->known(tensors[2] + 4, 4));
  CHECK(memory->known(tensors[2] + 8, 24));
  CHECK_FALSE(memory->known(tensors[3] + 28, 4));
  CHECK(memory->known(tensors[4], 32));
}

TEST_CASE("block numbers that make no sense are harmless", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512);
  const TestKernel copy(kCopyLists, {{0, 24200}, {24200, 1}, {24201, 1}});
  copy.launch(*memory, {metadata({{a}, {a}}, {-1}, {0xffff}), Parameter(), Parameter()}, 1);
  copy.launch(*memory, {metadata({{a}, {a}}, {1ll << 62}, {0}), Parameter(), Parameter()}, 0x7fffffff);
}

TEST_CASE("lists of known tensors are computed, each on its own", "[effects]") {
  auto memory = make_memory();
  std::vector<Address> tensors;
  for (int i = 0; i < 4; ++i) tensors.push_back(allocate(*memory, 512));
  put<float>(*memory, tensors[0], {1.5f, -2});
  put<float>(*memory, tensors[3], {7, 7});
  const TestKernel copy(kCopyLists, {{0, 24200}, {24200, 1}, {24201, 1}});
  copy.launch(
      *memory,
      {metadata({{tensors[0], tensors[1]}, {tensors[2], tensors[3]}}, {2, 2}, {0, 1}), Parameter(), Parameter()}, 2);
  CHECK(get<float>(*memory, tensors[2], 2) == std::vector<float>{1.5f, -2});
  CHECK_FALSE(memory->known(tensors[3], 4));
}
