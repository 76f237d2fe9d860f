// Tensors that kernels get by value with their sizes and strides: PyTorch's accessors and TensorInfo.
#include "launch_helpers.h"

using namespace maya::test;

namespace {

// upsample_linear1d_out_frame_unrolled<float, float>(float, bool, accessor of float const, accessor of float) of
// PyTorch 2.15; accessors of 3 dimensions with 64-bit indices: 8 + 2 * 3 * 8 bytes.
const TestKernel& upsample() {
  static const TestKernel kernel(
      "_ZN2at6native52_GLOBAL__N__976e5fe3_19_UpSampleLinear1d_cu_bb295a3036upsample_linear1d_out_frame_"
      "unrolledIffEEvT0"
      "_bN5torch10headeronly6detail27GenericPackedTensorAccessorINS6_14TensorAccessorIN3c108ArrayRefIlEEKT_Lm2ENS5_"
      "16DefaultPtrTraitsElEENS_6detail16IndexBoundsCheckILm3ElEESD_Lm3ESE_lEENS7_INS8_ISB_SC_Lm2ESE_lEESI_SC_Lm3ESE_"
      "lEE",
      {{0, 4}, {4, 1}, {8, 56}, {64, 56}});
  return kernel;
}

// scale(at::GenericPackedTensorAccessor<c10::Half, 2, at::DefaultPtrTraits, int>), as PyTorch had it up to 2.8.
const TestKernel& scale() {
  static const TestKernel kernel("_Z5scaleN2at27GenericPackedTensorAccessorIN3c104HalfELm2ENS_16DefaultPtrTraitsEiEE",
                                 {{0, 24}});
  return kernel;
}

template <typename I>
Parameter accessor(Address data, const std::vector<I>& sizes, const std::vector<I>& strides) {
  Parameter made = value(data);
  for (const I size : sizes) made.add(size);
  for (const I stride : strides) made.add(stride);
  return made;
}

using Wide = std::vector<int64_t>;

}  // namespace

TEST_CASE("a kernel writes through an accessor within its sizes, and not through one of const", "[effects]") {
  auto memory = make_memory();
  // Three small tensors in one block, as PyTorch keeps them: 16 and 64 floats, lengths behind them.
  const Address block = allocate(*memory, 2 << 20), in = block, out = block + 512, lengths = block + 1024;
  put<float>(*memory, in, std::vector<float>(16, 1));
  put<float>(*memory, out, std::vector<float>(64, 1));
  put<int64_t>(*memory, lengths, {24, 24});
  const auto launch = [&](const Wide& sizes, const Wide& strides) {
    upsample().launch(
        *memory,
        {value(0.5f), value(true), accessor<int64_t>(in, {2, 1, 8}, {8, 8, 1}), accessor<int64_t>(out, sizes, strides)},
        2, 512);
  };
  launch({2, 1, 32}, {32, 32, 1});
  CHECK(get<int64_t>(*memory, lengths, 2) == Wide{24, 24});
  CHECK(memory->known(lengths, 16));
  CHECK(memory->known(in, 64));
  CHECK_FALSE(memory->known(out, 1));
  CHECK_FALSE(memory->known(out + 255, 1));

  // Rows with a gap: 1 * 40 + 31 + 1 elements reach byte 288.
  put<float>(*memory, out, std::vector<float>(100, 1));
  launch({2, 1, 32}, {40, 0, 1});
  CHECK_FALSE(memory->known(out + 287, 1));
  CHECK(memory->known(out + 288, 1));

  put<float>(*memory, out, std::vector<float>(64, 1));
  launch({2, 0, 32}, {32, 32, 1});
  CHECK(memory->known(out, 256));
}

TEST_CASE("accessors with narrow indices, and sizes that are none", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2 << 20);
  using Narrow = std::vector<int32_t>;
  put<uint8_t>(*memory, block, std::vector<uint8_t>(4096, 1));
  scale().launch(*memory, {accessor<int32_t>(block, Narrow{3, 5}, Narrow{5, 1})});
  CHECK_FALSE(memory->known(block, 30));
  CHECK(memory->known(block + 30, 1));
  // Anything near may be written then: 128 threads of 64 bytes.
  for (const auto& [sizes, strides] :
       {std::pair(Narrow{-1, 5}, Narrow{5, 1}), std::pair(Narrow{3, 5}, Narrow{-5, 1})}) {
    put<uint8_t>(*memory, block, std::vector<uint8_t>(4096, 1));
    scale().launch(*memory, {accessor<int32_t>(block, sizes, strides)});
    CHECK_FALSE(memory->known(block + 4095, 1));
  }
  // Sizes whose product is beyond any memory end at the block's end.
  const Narrow huge{0x7fffffff, 0x7fffffff};
  scale().launch(*memory, {accessor<int32_t>(block, huge, huge)});
  CHECK_FALSE(memory->known(block, 1));
}

TEST_CASE("a TensorInfo of const is an input, another may be written beyond its sizes", "[effects]") {
  // read(at::cuda::detail::TensorInfo<float const, int>, at::cuda::detail::TensorInfo<float, int>)
  const TestKernel kernel("_Z4readN2at4cuda6detail10TensorInfoIKfiEENS2_IfiEE", {{0, 216}, {216, 216}});
  auto memory = make_memory();
  const Address in = allocate(*memory, 4096), out = allocate(*memory, 4096);
  put<uint8_t>(*memory, in, std::vector<uint8_t>(4096, 1));
  put<uint8_t>(*memory, out, std::vector<uint8_t>(4096, 1));
  const auto info = [](Address data) { return value(data).add(int32_t{1}).at(108, int32_t{1}).at(208, int32_t{1}); };
  kernel.launch(*memory, {info(in), info(out)});
  CHECK(memory->known(in, 4096));
  CHECK_FALSE(memory->known(out + 4095, 1));
}
