// Kernels of PyTorch's wheels built with CUDA 12 (2.4 to 2.10), which are named and laid out otherwise than those
// of 2.15. Values are worked out by hand.
#include "cuda_12_kernels.h"
#include "launch_helpers.h"

using namespace maya::test;

namespace {

TestKernel make(const TorchKernel& kernel) {
  std::vector<maya::device::KernelParameter> layout;
  uint32_t offset = 0;
  for (const uint32_t size : kernel.parameter_bytes) {
    const uint32_t alignment = size >= 8 ? 8 : size;
    offset = (offset + alignment - 1) / alignment * alignment;
    layout.push_back({offset, size});
    offset += size;
  }
  return TestKernel(kernel.name, layout);
}

// As many of the parameters as the kernel has: what is behind them came with later versions.
void launch(const TorchKernel& kernel, Memory& memory, std::vector<Parameter> parameters, uint32_t grid = 1) {
  parameters.resize(kernel.parameter_bytes.size());
  make(kernel).launch(memory, parameters, grid);
}

// TransformInputIterator<bool, NonZeroOp<float>, float const*>: the function, then the address.
Parameter tested(Address elements) { return Parameter().at(8, elements); }

// A count of elements, of 4 or 8 bytes.
Parameter number(const TorchKernel& kernel, size_t parameter, uint64_t count) {
  return value(count).pad_to(kernel.parameter_bytes[parameter]);
}

// The metadata that fits into 4 KiB: addresses[lists][tensors], sizes[tensors], then more, a byte a block, a number a
// block.
Parameter metadata(std::vector<std::vector<Address>> lists, std::vector<int64_t> sizes, size_t tensors, size_t more,
                   std::vector<uint8_t> block_to_tensor) {
  Parameter made;
  for (size_t list = 0; list < lists.size(); ++list)
    for (size_t i = 0; i < lists[list].size(); ++i) made.at(8 * (list * tensors + i), lists[list][i]);
  for (size_t i = 0; i < sizes.size(); ++i) made.at(8 * (lists.size() * tensors + i), sizes[i]);
  for (size_t i = 0; i < block_to_tensor.size(); ++i)
    made.at(8 * (lists.size() + 1) * tensors + more + i, block_to_tensor[i]);
  return made;
}

std::vector<Address> blocks(Memory& memory, int count) {
  std::vector<Address> made;
  for (int i = 0; i < count; ++i) made.push_back(allocate(memory, 512));
  return made;
}

}  // namespace

TEST_CASE("CUDA 12: cumulative sums", "[effects]") {
  for (const TorchKernel& scan : {kScan24, kScan28}) {
    auto memory = make_memory();
    const Address source = allocate(*memory, 512), result = allocate(*memory, 512), state = allocate(*memory, 512);
    put<int64_t>(*memory, source, {1, 2, 3, 10, 20});
    launch(scan, *memory, {value(source), value(result), value(state), value(0), {}, {}, value(5u)});
    CHECK(get<int64_t>(*memory, result, 5) == std::vector<int64_t>{1, 3, 6, 16, 36});
  }
}

TEST_CASE("CUDA 12: how many elements are not zero, and where", "[effects]") {
  for (const bool first : {true, false}) {
    const TorchKernel &count = first ? kCount24 : kCount28, &many = first ? kCountMany24 : kCountMany28,
                      &list = first ? kList24 : kList28, &sum = first ? kSumParts24 : kSumParts28;
    auto memory = make_memory();
    const auto at = blocks(*memory, 5);
    put<float>(*memory, at[0], {0.5f, 0, 0, -1, 2});
    put<uint8_t>(*memory, at[4], {1, 0, 7});
    launch(count, *memory, {tested(at[0]), value(at[1]), number(count, 2, 5), {}, value(0)});
    CHECK(get<int32_t>(*memory, at[1], 1)[0] == 3);
    // In parts of two blocks, of truth values; then summed up.
    launch(many, *memory, {tested(at[4]), value(at[2]), number(many, 2, 3), {}, {}}, 2);
    launch(sum, *memory, {value(at[2]), value(at[1]), value(2), {}, value(0)});
    CHECK(get<int32_t>(*memory, at[1], 1)[0] == 2);
    launch(list, *memory,
           {value(int64_t{0}), tested(at[0]), value(at[3]), value(at[1]), {}, {}, {}, value(5), value(1)});
    CHECK(get<int32_t>(*memory, at[1], 1)[0] == 3);
    CHECK(get<int64_t>(*memory, at[3], 3) == std::vector<int64_t>{0, 3, 4});
  }
}

TEST_CASE("CUDA 12.1: places of a matrix", "[effects]") {
  auto memory = make_memory();
  const Address places = allocate(*memory, 512);
  put<int64_t>(*memory, places, {0, 5});
  Parameter sizes;
  sizes.add(2).add(3);
  launch(kWriteIndices24, *memory, {value(places), sizes, value(2), value(2)});
  // Places 0 and 5 of a 2 x 3 tensor are (0, 0) and (1, 2).
  CHECK(get<int64_t>(*memory, places, 4) == std::vector<int64_t>{0, 1, 0, 2});
}

TEST_CASE("CUDA 12: sorting takes values along", "[effects]") {
  for (const bool first : {true, false}) {
    const TorchKernel &tile = first ? kSort24 : kSort28, &pass = first ? kSortPass24 : kSortPass28;
    auto memory = make_memory();
    const auto at = blocks(*memory, 5);
    put<int64_t>(*memory, at[0], {5, -1, 9, 3});
    put<int64_t>(*memory, at[1], {0, 1, 2, 3});
    launch(tile, *memory,
           {value(at[0]), value(at[2]), value(at[1]), value(at[3]), value(uint64_t{4}), value(0), value(64)});
    CHECK(get<int64_t>(*memory, at[2], 4) == std::vector<int64_t>{-1, 3, 5, 9});
    CHECK(get<int64_t>(*memory, at[3], 4) == std::vector<int64_t>{1, 3, 0, 2});
    // A pass by the lowest 8 bits alone: -1 has 255.
    launch(pass, *memory,
           {value(at[4]), value(at[4]), value(at[4]), value(at[4]), value(at[2]), value(at[0]), value(at[3]),
            value(at[1]), value(4), value(0), value(8)});
    CHECK(get<int64_t>(*memory, at[2], 4) == std::vector<int64_t>{3, 5, 9, -1});
    CHECK(get<int64_t>(*memory, at[3], 4) == std::vector<int64_t>{3, 0, 2, 1});
  }
}

TEST_CASE("CUDA 12: distinct neighbours and their lengths", "[effects]") {
  for (const TorchKernel& distinct : {kDistinct24, kDistinct28}) {
    auto memory = make_memory();
    const auto at = blocks(*memory, 4);
    put<int64_t>(*memory, at[0], {2, 2, 5, 7, 7, 7});
    launch(distinct, *memory,
           {value(at[0]),
            value(at[1]),
            Parameter().add(int64_t{1}),
            value(at[2]),
            value(at[3]),
            {},
            value(0),
            {},
            {},
            value(6)});
    CHECK(get<int64_t>(*memory, at[1], 3) == std::vector<int64_t>{2, 5, 7});
    CHECK(get<int64_t>(*memory, at[2], 3) == std::vector<int64_t>{2, 1, 3});
    CHECK(get<int64_t>(*memory, at[3], 1)[0] == 3);
  }
}

TEST_CASE("CUDA 12: adding at indices", "[effects]") {
  auto memory = make_memory();
  const Address result = allocate(*memory, 512), source = allocate(*memory, 512), indices = allocate(*memory, 512);
  put<int64_t>(*memory, result, {1, 2, 3});
  put<int64_t>(*memory, source, {10, 20});
  put<int64_t>(*memory, indices, {2, 2});
  // TensorInfo: the dimension of the indices has size 1 in result and source.
  const auto info = [](Address data, uint32_t size) {
    return Parameter().at(0, data).at(8, size).at(108, 1u).at(208, 1);
  };
  const auto add = [&] {
    launch(kIndexAdd, *memory,
           {info(result, 1), info(source, 1), info(indices, 2), value(0), value(0), value(1u), value(int64_t{3}),
            value(int64_t{3}), value(uint64_t{0}), value(int64_t{2})});
  };
  add();
  // 3 + 2 * 10 + 2 * 20
  CHECK(get<int64_t>(*memory, result, 3) == std::vector<int64_t>{1, 2, 63});
  put<int64_t>(*memory, indices, {2, 3});  // outside: the device fails an assertion
  add();
  CHECK_FALSE(memory->known(result, 24));
}

TEST_CASE("CUDA 12: a step of linspace that has the type of the result", "[effects]") {
  auto memory = make_memory();
  const Address result = allocate(*memory, 512);
  Parameter lambda;  // from 0 to 1 in 5 steps of 0.25, with garbage behind it
  lambda.at(0, uint16_t{0}).at(2, uint16_t{0x3c00}).at(8, int64_t{5}).at(16, uint32_t{0x7fff3400}).at(24, int64_t{2});
  launch(kLinspaceHalf, *memory, {value(5), lambda, value(result)});
  // 0, 1/4, 1/2, 3/4, 1
  CHECK(get<uint16_t>(*memory, result, 5) == std::vector<uint16_t>{0, 0x3400, 0x3800, 0x3a00, 0x3c00});
}

TEST_CASE("PyTorch 2.6 and later: casts of float have a kernel of their own", "[effects]") {
  auto memory = make_memory();
  const Address result = allocate(*memory, 512), source = allocate(*memory, 512);
  put<float>(*memory, source, {1, -2});
  launch(kToHalf, *memory, {value(2), {}, Parameter().add(result).add(source)});
  CHECK(get<uint16_t>(*memory, result, 2) == std::vector<uint16_t>{0x3c00, 0xc000});
}

TEST_CASE("the text of an assertion holds no pointers", "[effects]") {
  auto memory = make_memory();
  const Address condition = allocate(*memory, 512), other = allocate(*memory, 512);
  put<uint8_t>(*memory, condition, {1});
  put<uint8_t>(*memory, other, {1});
  launch(kAssert, *memory, {value(condition), Parameter().at(128, other)});
  CHECK(memory->known(other, 1));
}

TEST_CASE("CUDA 12: lists of tensors", "[effects]") {
  auto memory = make_memory();
  const auto at = blocks(*memory, 4);
  put<float>(*memory, at[0], {1, 2});
  put<float>(*memory, at[1], {3, 4, 5});
  launch(kCopyLists, *memory, {metadata({{at[0], at[1]}, {at[2], at[3]}}, {2, 3}, 64, 0, {0, 1}), {}, {}}, 2);
  CHECK(get<float>(*memory, at[2], 2) == std::vector<float>{1, 2});
  CHECK(get<float>(*memory, at[3], 3) == std::vector<float>{3, 4, 5});
  // Scalars of each tensor stand behind the sizes: + 10, + 20.
  Parameter with_scalars = metadata({{at[0], at[1]}, {at[2], at[3]}}, {2, 3}, 64, 4 * 64, {0, 1});
  with_scalars.at(3 * 8 * 64, 10.f).at(3 * 8 * 64 + 4, 20.f);
  launch(kScalars, *memory, {with_scalars, {}, {}}, 2);
  CHECK(get<float>(*memory, at[2], 2) == std::vector<float>{11, 12});
  CHECK(get<float>(*memory, at[3], 3) == std::vector<float>{23, 24, 25});
}

TEST_CASE("CUDA 12: norms and maxima of lists of tensors", "[effects]") {
  auto memory = make_memory();
  const auto at = blocks(*memory, 5);
  put<float>(*memory, at[0], {3, -4});
  put<float>(*memory, at[1], {1, 2, 2});
  const auto reduce = [&](const TorchKernel& parts, const TorchKernel& whole) {
    put<float>(*memory, at[2], {0, 0, 0, 0});
    // Room for two parts a tensor.
    launch(parts, *memory, {metadata({{at[0], at[1]}}, {2, 3}, 110, 0, {0, 1}), {}, value(at[2]), value(2)}, 2);
    launch(whole, *memory, {value(at[2]), Parameter().add(at[3]).add(at[4]), value(2)}, 2);
    return std::vector<float>{get<float>(*memory, at[3], 1)[0], get<float>(*memory, at[4], 1)[0]};
  };
  // Roots of 9 + 16 and 1 + 4 + 4.
  CHECK(reduce(kNormParts, kNorms) == std::vector<float>{5, 3});
  CHECK(reduce(kMaximumParts, kMaxima) == std::vector<float>{3, 2});
}

TEST_CASE("CUDA 12: gradients that are not finite are found", "[effects]") {
  auto memory = make_memory();
  const auto at = blocks(*memory, 3);
  put<float>(*memory, at[1], {0});
  put<float>(*memory, at[2], {0.5f});
  const auto check = [&](std::vector<float> gradients) {
    put(*memory, at[0], gradients);
    launch(kFiniteCheck, *memory, {metadata({{at[0]}}, {2}, 110, 0, {0}), {}, Parameter().add(at[1]).add(at[2])});
  };
  check({2, -4});
  CHECK(get<float>(*memory, at[0], 2) == std::vector<float>{1, -2});
  CHECK(get<float>(*memory, at[1], 1)[0] == 0);
  check({2, 1.f / 0.f});
  CHECK(get<float>(*memory, at[1], 1)[0] == 1);
}
