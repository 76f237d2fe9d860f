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
