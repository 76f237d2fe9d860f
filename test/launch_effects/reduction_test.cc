#include "launch_helpers.h"

using namespace maya::test;

namespace {

const char* const kSumFloat =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_"
    "14TensorIteratorEEUlffE_EE"
    "jfLi4ELi4EEEEEvT1_";
const char* const kMaximumLong =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlNS0_"
    "13MaxNanFunctorIlEEEEjlLi4ELi4EEEEEvT1_";

// One tensor of `inputs` elements a slice, `outputs` slices one behind the other. `config` is where ReduceConfig
// stands, `total` the argument's size.
Parameter reduction(uint32_t config, uint32_t total, uint32_t element, uint32_t inputs, uint32_t outputs,
                    Address source, Address result) {
  Parameter made;
  made.at(config, element).at(config + 4, inputs).at(config + 8, outputs);
  const uint32_t input = config + 64, slices = input + 404;
  made.at(input, 1u).at(input + 4, inputs).at(input + 304, element);
  made.at(slices, 1u).at(slices + 4, outputs).at(slices + 304, element).at(slices + 308, element * inputs);
  made.pad_to(total);
  made.at(total - 64, source).at(total - 56, result).at(total - 7, uint8_t{1}).at(total - 4, 1);
  return made;
}

// ReduceOp<long, MaxOps<long>, unsigned int, long, 4, 4>: values and indices.
const char* const kMaximumAndIndexLong =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_6MaxOpsIlEEjlLi4ELi4EEEEEvT1_";
const char* const kNormTwoFloat =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_10NormTwoOpsIfffLb1EEEjfLi4ELi4EEEEEvT1_";

}  // namespace

TEST_CASE("sum over known elements", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {1, 2, 3, 10, 20, 30});
  const TestKernel sum(kSumFloat, {{0, 1048}});
  sum.launch(*memory, {reduction(8, 1048, 4, 3, 2, in, out)});
  CHECK(get<float>(*memory, out, 2) == std::vector<float>{6, 60});
  CHECK_FALSE(memory->known(out + 8, 1));
}

TEST_CASE("sum over unknown elements is unknown", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, out, {1, 2, 3});
  const TestKernel sum(kSumFloat, {{0, 1048}});
  sum.launch(*memory, {reduction(8, 1048, 4, 3, 2, in, out)});
  CHECK_FALSE(memory->known(out, 8));
  CHECK(memory->known(out + 8, 4));
}

TEST_CASE("maximum of sizes, as all_gather_object needs it", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<int64_t>(*memory, in, {17, -4, 230, 5});
  const TestKernel maximum(kMaximumLong, {{0, 1056}});
  maximum.launch(*memory, {reduction(16, 1056, 8, 4, 1, in, out)});
  CHECK(get<int64_t>(*memory, out, 1)[0] == 230);
}

TEST_CASE("a reduction in several passes is not computed", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {1, 2, 3});
  put<float>(*memory, out, {5});
  const TestKernel sum(kSumFloat, {{0, 1048}});
  Parameter accumulating = reduction(8, 1048, 4, 3, 1, in, out);
  accumulating.at(1040, uint8_t{1});
  sum.launch(*memory, {accumulating});
  CHECK_FALSE(memory->known(out, 4));
}

TEST_CASE("garbage in the argument is harmless", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {1, 2, 3});
  const TestKernel sum(kSumFloat, {{0, 1048}});
  for (uint32_t offset = 8; offset < 984; offset += 4) {
    Parameter damaged = reduction(8, 1048, 4, 3, 1, in, out);
    damaged.at(offset, 0xffffffffu);
    sum.launch(*memory, {damaged});
  }
}

TEST_CASE("maximum with its index: the first of equal ones", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), values = allocate(*memory, 512), indices = allocate(*memory, 512);
  put<int64_t>(*memory, in, {3, 9, 9, 5, 1, 2});
  const TestKernel maximum(kMaximumAndIndexLong, {{0, 1064}});
  Parameter parameter = reduction(24, 1064, 8, 3, 2, in, values);
  parameter.at(1064 - 48, indices).at(1064 - 4, 2);
  maximum.launch(*memory, {parameter});
  CHECK(get<int64_t>(*memory, values, 2) == std::vector<int64_t>{9, 5});
  CHECK(get<int64_t>(*memory, indices, 2) == std::vector<int64_t>{1, 0});
}

TEST_CASE("a part of a split reduction with a base index is not computed", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), values = allocate(*memory, 512);
  put<int64_t>(*memory, in, {3, 9, 9});
  Parameter parameter = reduction(24, 1064, 8, 3, 1, in, values);
  parameter.at(1064 - 16, int64_t{3});
  TestKernel(kMaximumAndIndexLong, {{0, 1064}}).launch(*memory, {parameter});
  CHECK_FALSE(memory->known(values, 8));
}

TEST_CASE("norm of 3 and 4 is 5", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {3, -4});
  TestKernel(kNormTwoFloat, {{0, 1048}}).launch(*memory, {reduction(8, 1048, 4, 2, 1, in, out)});
  CHECK(get<float>(*memory, out, 1)[0] == 5);
}

TEST_CASE("one known true settles any(), others leave it unknown", "[effects]") {
  // ReduceOp<bool, func_wrapper_t<bool, or_kernel_cuda(TensorIterator&)::...lambda(bool, bool)>, unsigned, bool, 4, 4>.
  const TestKernel any(
      "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_14or_kernel_cudaERNS_"
      "14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4ELi4EEEEEvT1_",
      {{0, 1040}});
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<uint8_t>(*memory, in, {1});
  put<uint8_t>(*memory, in + 2, {0});
  any.launch(*memory, {reduction(4, 1040, 1, 2, 2, in, out)});
  CHECK(get<uint8_t>(*memory, out, 2) == std::vector<uint8_t>{1, 0});
  CHECK(memory->known(out, 1));
  CHECK_FALSE(memory->known(out + 1, 1));
}

TEST_CASE("integers are computed up to 1 MiB, real numbers up to 64 KiB", "[effects]") {
  auto memory = make_memory();
  constexpr uint32_t kCount = 32 << 10;  // a mask of 4 x 8,192 positions
  const Address in = allocate(*memory, 8 * kCount), out = allocate(*memory, 512);
  put<int64_t>(*memory, in, std::vector<int64_t>(kCount, 4));
  TestKernel(kMaximumLong, {{0, 1056}}).launch(*memory, {reduction(16, 1056, 8, kCount, 1, in, out)});
  CHECK(get<int64_t>(*memory, out, 1)[0] == 4);
  TestKernel(kSumFloat, {{0, 1048}}).launch(*memory, {reduction(8, 1048, 4, kCount, 1, in, out)});
  CHECK_FALSE(memory->known(out, 4));
}

// all() and any() over bytes of truth: whether checks pass is chosen for the whole process.
TEST_CASE("checks=pass: all() of unknown values is true where no known one says otherwise, any() stays unknown",
          "[effects]") {
  const std::string begin = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_",
                    end = "ERNS_14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4ELi4EEEEEvT1_";
  for (const bool passes : {false, true}) {
    maya::device::set_checks(passes ? maya::device::Checks::kPass : maya::device::Checks::kUnknown);
    const TestKernel all(begin + "15and_kernel_cuda" + end, {{0, 1040}}),
        any(begin + "14or_kernel_cuda" + end, {{0, 1040}});
    auto memory = make_memory();
    const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
    const auto launch = [&](const TestKernel& kernel) {
      kernel.launch(*memory, {reduction(4, 1040, 1, 4, 3, in, out)});
    };
    launch(all);  // nothing is known
    CHECK(memory->known(out, 3) == passes);
    CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>(3, passes ? 1 : 0));
    CHECK_FALSE(memory->known(out + 3, 1));
    // Three slices of four: true and unknown, false and unknown, all true.
    put<uint8_t>(*memory, in, {1, 1, 1});
    put<uint8_t>(*memory, in + 5, {0, 1, 1, 1, 1, 1, 1});
    launch(all);
    CHECK(memory->known(out, 1) == passes);
    CHECK(memory->known(out + 1, 2));
    CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{static_cast<uint8_t>(passes ? 1 : 0), 0, 1});
    put<uint8_t>(*memory, in, {0, 0, 0});
    launch(any);
    CHECK_FALSE(memory->known(out, 1));
  }
  maya::device::set_checks(maya::device::Checks::kUnknown);
}

// The argument is a ReduceJitOp: an identity of 8 bytes, then as above.
TEST_CASE("products that PyTorch compiles at run time: sizes of two images of 1 x 8 x 6 and 2 x 4 x 10 patches",
          "[effects]") {
  const TestKernel product("reduction_prod_kernel", {{0, 1048}}), narrow("reduction_prod_kernel", {{0, 1040}});
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<int64_t>(*memory, out, {7, 7, 7});
  put<int64_t>(*memory, in, {1, 8, 6, 2, 4, -10});
  product.launch(*memory, {reduction(8, 1048, 8, 3, 2, in, out)});
  CHECK(get<int64_t>(*memory, out, 3) == std::vector<int64_t>{48, -80, 7});
  CHECK(memory->known(out, 24));
  // Real numbers of 64 bits, and elements of 32: the results are unknown, inputs and what is behind stay.
  put<double>(*memory, in, {1, 8, 6, 2, 4, 10});
  product.launch(*memory, {reduction(8, 1048, 8, 3, 2, in, out)});
  CHECK_FALSE(memory->known(out, 1));
  CHECK_FALSE(memory->known(out + 15, 1));
  CHECK(memory->known(out + 16, 8));
  CHECK(memory->known(in, 48));
  put<int64_t>(*memory, out, {7, 7, 7});
  narrow.launch(*memory, {reduction(4, 1040, 4, 3, 2, in, out)});
  CHECK_FALSE(memory->known(out, 8));
  CHECK(memory->known(out + 16, 8));
  CHECK(memory->known(in, 48));
}
