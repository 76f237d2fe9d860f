// Values are worked out by hand; layouts are those of PyTorch 2.15's headers, sizes those found in its cubins.
#include <limits>

#include "launch_helpers.h"
#include "virtual_device/values/offsets.h"

using namespace maya::test;

namespace {

const char* const kFillFloat =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0EEEviT0_T1_";
const char* const kFillLong =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIlEESt5arrayIPcLm1EELb0EEEviT0_T1_";
// The same of torch 2.5.1, found among its symbols.
const char* const kFillLongOfTorch25 =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIlEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_";
const char* const kAddFloat =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELb0EEEviT0_T1_";
const char* const kAddLongScalar =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_21CUDAFunctorOnSelf_addIlEESt5arrayIPcLm2EELb0EEEviT0_T1_";
const char* const kScaleFloat =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13AUnaryFunctorIfffNS0_15binary_"
    "internal10MulFunctorIfEEEESt5arrayIPcLm2EELb0EEEviT0_T1_";
const char* const kMultiplyBfloat16 =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIN3c108BFloat16ES4_S4_NS0_15binary_"
    "internal10MulFunctorIfEEEE"
    "St5arrayIPcLm3EELb0EEEviT0_T1_";
const char* const kMultiplyLong =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIlllNS0_15binary_"
    "internal10MulFunctorIlEEEESt5arrayIPcLm3EELb0EEEviT0_T1_";
const char* const kEqualFloat =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIffbNS0_51_GLOBAL__N__68c48bfe_18_"
    "CompareEQKernel_cu_d8008c96"
    "16CompareEqFunctorIfEEEESt5arrayIPcLm3EELb0EEEviT0_T1_";
const char* const kCompareScalar =
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_21compare_scalar_kernelIfEEvRNS_18TensorIteratorBaseENS0_50_"
    "GLOBAL__N__"
    "30bf7ff7_17_CompareKernels_cu_8f1b29aa6OpTypeET_EUlfE_St5arrayIPcLm2EELb0EEEviT0_T1_";
const char* const kConvert =
    "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_"
    "clEvENKUlvE5_clEv"
    "EUlfE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_"
    "13StoreWithCastILi1EEEEEviT_T0_T2_T3_"
    "T4_T5_";
// The same of torch 2.5.1, without the number of elements a thread, from a trace of it.
const char* const kConvertOfTorch25 =
    "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_"
    "clEvENKUlvE5_clEvEUlfE_NS_6detail5ArrayIPcLi2EEE23TrivialOffsetCalculatorILi1EjESC_NS0_"
    "6memory12LoadWithCastILi1EEE"
    "NSD_13StoreWithCastILi1EEEEEviT_T0_T1_T2_T3_T4_";
const char* const kStridedCopy =
    "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_"
    "18TensorIteratorBase"
    "EENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_";
const char* const kStridedConvert =
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implIZZZNS0_23direct_copy_kernel_cudaERNS_"
    "18TensorIteratorBaseEENKUlvE1_"
    "clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_";
const char* const kTangent =
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_17atanh_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
    "clEvENKUlvE0_clEvEUlfE_"
    "St5arrayIPcLm2EELb0EEEviT0_T1_";
const char* const kArangeLong =
    "_ZN50_GLOBAL__N__2fa45684_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2at6native15arange_"
    "cuda_outERKN3c106Scalar"
    "ES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE2_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE";

Parameter pointers(std::initializer_list<Address> addresses) {
  Parameter made;
  for (const Address address : addresses) made.add(address);
  return made;
}

// OffsetCalculator<2> of a matrix: sizes, then strides of output and input for each dimension.
Parameter calculator(std::vector<uint32_t> sizes, std::vector<std::pair<uint32_t, uint32_t>> strides) {
  Parameter made;
  made.at(0, static_cast<uint32_t>(sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    made.at(4 + 12 * i, sizes[i]);
    made.at(4 + 25 * 12 + 8 * i, strides[i].first);
    made.at(4 + 25 * 12 + 8 * i + 4, strides[i].second);
  }
  return made.pad_to(504);
}

}  // namespace

TEST_CASE("fill sets exactly its elements", "[effects]") {
  auto memory = make_memory();
  const Address base = allocate(*memory, 4096);
  const TestKernel fill(kFillFloat, {{0, 4}, {4, 4}, {8, 8}});
  fill.launch(*memory, {value(3), value(65536.0f), pointers({base + 512})});
  CHECK(get<float>(*memory, base + 512, 3) == std::vector<float>{65536, 65536, 65536});
  CHECK(memory->known(base + 512, 12));
  CHECK_FALSE(memory->known(base + 524, 1));
  CHECK_FALSE(memory->known(base + 508, 4));
}

TEST_CASE("fill of 8-byte elements", "[effects]") {
  auto memory = make_memory();
  const Address base = allocate(*memory, 4096);
  const TestKernel fill(kFillLong, {{0, 4}, {8, 8}, {16, 8}});
  fill.launch(*memory, {value(2), value(int64_t{5000000000}), pointers({base})});
  CHECK(get<int64_t>(*memory, base, 2) == std::vector<int64_t>{5000000000, 5000000000});
  const TestKernel older(kFillLongOfTorch25, {{0, 4}, {8, 8}, {16, 8}});
  older.launch(*memory, {value(2), value(int64_t{7}), pointers({base})});
  CHECK(get<int64_t>(*memory, base, 2) == std::vector<int64_t>{7, 7});
  fill.launch(*memory, {value(2), value(int64_t{-1}), pointers({base})});
  CHECK(get<int64_t>(*memory, base, 2) == std::vector<int64_t>{-1, -1});
}

TEST_CASE("large zeros of integers are known: counts and maps of experts begin with them", "[effects]") {
  auto memory = make_memory();
  constexpr int32_t kCount = 1 << 20;  // 8 MiB
  const Address address = allocate(*memory, 16 << 20);
  TestKernel(kFillLong, {{0, 4}, {8, 8}, {16, 8}})
      .launch(*memory, {value(kCount), value(int64_t{0}), pointers({address})});
  CHECK(memory->known(address, 8ull * kCount));
  CHECK_FALSE(memory->any_known(address + 8ull * kCount, 8));
}

TEST_CASE("a large fill costs no memory, a large fill of zeros is simply unknown", "[effects]") {
  auto memory = make_memory();
  const uint32_t count = 256 << 20;
  const Address base = allocate(*memory, uint64_t{count} * 4);
  const TestKernel fill(kFillFloat, {{0, 4}, {4, 4}, {8, 8}});
  fill.launch(*memory, {value(count), value(1.5f), pointers({base})});
  CHECK(get<float>(*memory, base + uint64_t{count} * 4 - 4, 1)[0] == 1.5f);
  CHECK(memory->host_bytes_used() < (1 << 20));
  fill.launch(*memory, {value(count), value(0.0f), pointers({base})});
  CHECK(get<float>(*memory, base + 1024, 1)[0] == 0.0f);
}

TEST_CASE("arithmetic with known inputs is computed, with an unknown input the element is unknown", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512), b = allocate(*memory, 512), out = allocate(*memory, 512);
  const TestKernel add(kAddFloat, {{0, 4}, {4, 4}, {8, 24}});
  put<float>(*memory, a, {1, 2, 3, 4});
  put<float>(*memory, b, {10, 20, 30, 40});
  put<float>(*memory, out, {9, 9, 9, 9, 9});
  add.launch(*memory, {value(4), value(-0.5f), pointers({out, a, b})});  // a + alpha * b
  CHECK(get<float>(*memory, out, 5) == std::vector<float>{-4, -8, -12, -16, 9});
  memory->make_unknown(b + 4, 4);
  add.launch(*memory, {value(4), value(1.0f), pointers({out, a, b})});
  CHECK(get<float>(*memory, out, 5) == std::vector<float>{11, 0, 33, 44, 9});
  CHECK_FALSE(memory->known(out + 4, 1));
  CHECK_FALSE(memory->known(out, 16));
  CHECK(memory->known(out + 16, 4));
}

TEST_CASE("a scalar operand inside the function object", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512);
  put<int64_t>(*memory, a, {5, -7});
  const TestKernel add(kAddLongScalar, {{0, 4}, {8, 16}, {24, 16}});
  add.launch(*memory, {value(2), Parameter().add(int64_t{3}).add(int64_t{2}),
                       pointers({a, a})});  // self + alpha 2 * other 3, in place
  CHECK(get<int64_t>(*memory, a, 2) == std::vector<int64_t>{11, -1});
  put<float>(*memory, a, {1.5f, -2});
  const TestKernel scale(kScaleFloat, {{0, 4}, {4, 8}, {16, 16}});
  scale.launch(*memory, {value(2), Parameter().at(4, 4.0f), pointers({a, a})});
  CHECK(get<float>(*memory, a, 2) == std::vector<float>{6, -8});
}

TEST_CASE("bfloat16 is computed in float and rounded", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512), out = allocate(*memory, 512);
  put<uint16_t>(*memory, a, {0x3dcd, 0x4040});  // 0.10009765625 and 3
  const TestKernel multiply(kMultiplyBfloat16, {{0, 4}, {4, 1}, {8, 24}});
  multiply.launch(*memory, {value(2), Parameter(), pointers({out, a, a})});
  // 0.10009765625 squared is 0.010019540786743164; nearest bfloat16: 0x3c24 = 0.010009765625.
  CHECK(get<uint16_t>(*memory, out, 2) == std::vector<uint16_t>{0x3c24, 0x4110});  // and 9
}

TEST_CASE("a known operand decides beside one that is not known, unless that one is long", "[effects]") {
  auto memory = make_memory();
  const TestKernel multiply(kMultiplyLong, {{0, 4}, {4, 1}, {8, 24}});
  // In turn: nothing of it known, a part of it known.
  for (const bool partly : {false, true})
    for (const uint32_t count : {1000u, 1u << 20}) {
      const uint64_t bytes = uint64_t{count} * 8;
      const Address unknown = allocate(*memory, bytes), zeros = allocate(*memory, bytes),
                    out = allocate(*memory, bytes);
      if (partly) put<int64_t>(*memory, unknown, {5});
      REQUIRE(memory->fill(zeros, 0, 4, count * 2) == maya::device::MemoryStatus::kOk);
      REQUIRE(memory->fill(out, 7, 4, count * 2) == maya::device::MemoryStatus::kOk);
      for (const auto& [first, second] : {std::pair{unknown, zeros}, std::pair{zeros, unknown}}) {
        multiply.launch(*memory, {value(count), Parameter(), pointers({out, first, second})});
        CHECK(memory->known(out, bytes) == (count == 1000));
        CHECK(memory->known(out, 8) == (count == 1000));
        CHECK(get<int64_t>(*memory, out, 1)[0] == 0);
      }
    }
}

TEST_CASE("comparisons give bytes", "[effects]") {
  auto memory = make_memory();
  const Address a = allocate(*memory, 512), b = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, a, {1, 2, 3});
  put<float>(*memory, b, {1, 5, 3});
  const TestKernel equal(kEqualFloat, {{0, 4}, {4, 4}, {8, 24}});
  equal.launch(*memory, {value(3), value(0), pointers({out, a, b})});  // EQ
  CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{1, 0, 1});
  equal.launch(*memory, {value(3), value(1), pointers({out, a, b})});  // NE
  CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{0, 1, 0});
  const TestKernel compare(kCompareScalar, {{0, 4}, {8, 16}, {24, 16}});
  const std::vector<std::vector<uint8_t>> expected = {{0, 1, 1}, {0, 0, 1}, {1, 1, 0}, {1, 0, 0}};  // >=, >, <=, < 2
  for (int32_t selector = 0; selector < 4; ++selector) {
    compare.launch(*memory, {value(3), Parameter().add(selector).add(2.0f), pointers({out, a})});
    CHECK(get<uint8_t>(*memory, out, 3) == expected[static_cast<size_t>(selector)]);
  }
  compare.launch(*memory, {value(3), Parameter().add(77).add(2.0f), pointers({out, a})});
  CHECK_FALSE(memory->known(out, 3));
}

TEST_CASE("a copy converts by the types in its parameters", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<double>(*memory, in, {1.5, -3.25});
  const auto name = GENERATE(kConvert, kConvertOfTorch25);
  const TestKernel convert(name, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}});
  const auto types = [](uint8_t type, uint32_t size) { return Parameter().add(type).pad_to(4).add(size); };
  // Double (7) to long (4).
  convert.launch(*memory,
                 {value(2), Parameter(), pointers({out, in}), Parameter(), Parameter(), types(7, 8), types(4, 8)});
  CHECK(get<int64_t>(*memory, out, 2) == std::vector<int64_t>{1, -3});
  // Unknown input: the output's exact extent is unknown.
  put<uint8_t>(*memory, out, std::vector<uint8_t>(20, 7));
  memory->make_unknown(in, 8);
  convert.launch(*memory,
                 {value(2), Parameter(), pointers({out, in}), Parameter(), Parameter(), types(7, 8), types(5, 2)});
  CHECK_FALSE(memory->known(out, 4));
  CHECK(memory->known(out + 4, 16));
}

// Kernels of PyTorch 2.15 and 2.8; codes as number_test.cc has them. Beyond 464 what a conversion to E4M3 gives depends
// on the release: the largest number since 2.12, before NaN.
TEST_CASE("copies that make 8-bit floats", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {1.0625f, -448, 1000, -0.0f});
  const auto launch = [&](const char* name) {
    TestKernel(name, {{0, 4}, {4, 1}, {8, 16}}).launch(*memory, {value(4), Parameter(), pointers({out, in})});
    return memory->known(out, 4) ? get<uint8_t>(*memory, out, 4) : std::vector<uint8_t>();
  };
  CHECK(launch(
            "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_23ConvertToFloat8E4M3fnOpIfEESt5arrayIPcLm2EELb0EEEvi"
            "T0_T1_") == std::vector<uint8_t>{0x38, 0xfe, 0x7e, 0x80});
  CHECK(launch(
            "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_26ConvertFloatToFloat8E5M2OpESt5arrayIPcLm2EELb0EEEvi"
            "T0_T1_") == std::vector<uint8_t>{0x3c, 0xdf, 0x64, 0x80});
  const auto of_torch28 = [&](const std::string& number) {
    return launch(("_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_23float8_copy_kernel_cudaERNS_"
                   "18TensorIteratorBaseEEUlfE" +
                   number + "_St5arrayIPcLm2EEEEviT0_T1_")
                      .c_str());
  };
  CHECK(of_torch28("") == std::vector<uint8_t>{0x38, 0xfe, 0x7f, 0x80});   // E4M3FN
  CHECK(of_torch28("0") == std::vector<uint8_t>{0x3c, 0xdf, 0x64, 0x80});  // E5M2
  CHECK(of_torch28("1") == std::vector<uint8_t>{0x40, 0x80, 0x80, 0x00});  // E4M3FNUZ, up to 240
  CHECK(of_torch28("2") == std::vector<uint8_t>{0x40, 0xe3, 0x68, 0x00});  // E5M2FNUZ
  CHECK(of_torch28("3") == std::vector<uint8_t>{127, 136, 137, 0});        // E8M0FNU: 1, 512, 1024

  // Types in parameters: double (7) to E4M3FN (24), and back to float (6).
  const char* const by_types =
      "_ZN2at6native27unrolled_elementwise_kernelIZNS0_23float8_copy_kernel_cudaERNS_"
      "18TensorIteratorBaseEEUlN3c1013Float"
      "8_e4m3fnEE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_"
      "13StoreWith"
      "CastILi1EEEEEviT_T0_T2_T3_T4_T5_";
  const auto convert = [&](const char* name, uint32_t count, uint8_t from, uint32_t from_bytes, uint8_t to,
                           uint32_t to_bytes) {
    const auto types = [](uint8_t type, uint32_t size) { return Parameter().add(type).pad_to(4).add(size); };
    TestKernel(name, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}})
        .launch(*memory, {value(count), Parameter(), pointers({out, in}), Parameter(), Parameter(),
                          types(from, from_bytes), types(to, to_bytes)});
  };
  put<double>(*memory, in, {2, 464, 1000});
  convert(by_types, 2, 7, 8, 24, 1);
  CHECK(get<uint8_t>(*memory, out, 2) == std::vector<uint8_t>{0x40, 0x7e});
  convert(by_types, 3, 7, 8, 24, 1);
  CHECK_FALSE(memory->known(out + 2, 1));
  put<uint8_t>(*memory, in, {0x38, 0xfe, 0x01});
  convert(kConvert, 3, 24, 1, 6, 4);
  CHECK(get<float>(*memory, out, 3) == std::vector<float>{1, -448, 0.001953125f});
}

TEST_CASE("integers made of up to a mebibyte of floats and integers, floats of 64 KiB", "[effects]") {
  auto memory = make_memory();
  // A map of 2,048 tokens and 32 experts begins as zeros of floats: 256 KiB, and as much of integers.
  constexpr uint32_t kCount = 2048 * 32;
  const Address zeros = allocate(*memory, 1 << 20), out = allocate(*memory, 1 << 20);
  TestKernel(kFillFloat, {{0, 4}, {4, 4}, {8, 8}}).launch(*memory, {value(kCount), value(0.0f), pointers({zeros})});
  CHECK(memory->known(zeros, kCount * 4));
  const TestKernel convert(kConvert, {{0, 4}, {4, 1}, {8, 16}, {24, 1}, {25, 1}, {28, 8}, {36, 8}});
  const auto types = [](uint8_t type, uint32_t size) { return Parameter().add(type).pad_to(4).add(size); };
  const auto launch = [&](uint32_t count, uint8_t to, uint32_t size) {
    convert.launch(*memory, {value(count), Parameter(), pointers({out, zeros}), Parameter(), Parameter(), types(6, 4),
                             types(to, size)});
  };
  launch(kCount, 3, 4);  // float (6) to int (3)
  CHECK(memory->known(out, kCount * 4));
  launch(kCount, 7, 8);  // to double (7)
  CHECK_FALSE(memory->known(out, 1));
  launch(8 * kCount, 3, 4);
  CHECK_FALSE(memory->known(out, 1));
}

TEST_CASE("strided copies follow their offset calculators", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, {0, 1, 2, 3, 4, 5});  // 2 x 3, to be transposed
  const TestKernel copy(kStridedCopy, {{0, 4}, {8, 536}});
  Parameter lambda =
      calculator({2, 3}, {{4, 12}, {8, 4}});  // fastest dimension first: byte strides of output and input
  lambda.at(504, out).at(512, in);
  copy.launch(*memory, {value(6), lambda});
  CHECK(get<float>(*memory, out, 6) == std::vector<float>{0, 3, 1, 4, 2, 5});

  // Into every second element; what lies between keeps its value.
  put<float>(*memory, out, std::vector<float>(12, 9));
  Parameter gaps = calculator({6}, {{8, 4}});
  gaps.at(504, out).at(512, in);
  copy.launch(*memory, {value(6), gaps});
  CHECK(get<float>(*memory, out, 6) == std::vector<float>{0, 9, 1, 9, 2, 9});
}

TEST_CASE("strided copies that convert", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<uint8_t>(*memory, in, {1, 0, 1, 0});
  const TestKernel copy(kStridedConvert, {{0, 4}, {8, 536}});
  Parameter lambda = calculator({2}, {{4, 2}});
  lambda.at(504, out).at(512, in).at(521, uint8_t{6}).at(522, uint8_t{11});  // float from bool
  copy.launch(*memory, {value(2), lambda});
  CHECK(get<float>(*memory, out, 2) == std::vector<float>{1, 1});
}

TEST_CASE("unknown functions make exactly their output unknown", "[effects]") {
  auto memory = make_memory();
  const Address in = allocate(*memory, 512), out = allocate(*memory, 512);
  put<float>(*memory, in, std::vector<float>(16, 1));
  put<float>(*memory, out, std::vector<float>(16, 2));
  const TestKernel tangent(kTangent, {{0, 4}, {4, 1}, {8, 16}});
  tangent.launch(*memory, {value(5), Parameter(), pointers({out, in})});
  CHECK(memory->known(in, 64));
  CHECK_FALSE(memory->known(out + 16, 4));
  CHECK(memory->known(out + 20, 44));
}

TEST_CASE("a layout that is not the expected one is not computed", "[effects]") {
  auto memory = make_memory();
  const Address base = allocate(*memory, 512);
  put<float>(*memory, base, std::vector<float>(8, 2));
  const TestKernel fill(kFillFloat, {{0, 4}, {8, 16}, {24, 8}});  // the function object has 16 bytes instead of 4
  fill.launch(*memory, {value(2), value(1.0f), pointers({base})});
  CHECK_FALSE(memory->known(base, 8));
  CHECK(memory->known(base + 8, 24));
}

TEST_CASE("arange", "[effects]") {
  auto memory = make_memory();
  const Address out = allocate(*memory, 512);
  const TestKernel arange(kArangeLong, {{0, 4}, {8, 24}, {32, 8}});
  arange.launch(*memory, {value(4), Parameter().add(int64_t{10}).add(int64_t{-3}), value(out)});
  CHECK(get<int64_t>(*memory, out, 4) == std::vector<int64_t>{10, 7, 4, 1});
  CHECK_FALSE(memory->known(out + 32, 1));
}

TEST_CASE("no elements, absurd counts and pointers elsewhere do nothing", "[effects]") {
  auto memory = make_memory();
  const Address base = allocate(*memory, 512);
  put<float>(*memory, base, {1, 2});
  const TestKernel fill(kFillFloat, {{0, 4}, {4, 4}, {8, 8}});
  fill.launch(*memory, {value(0), value(7.0f), pointers({base})});
  fill.launch(*memory, {value(-5), value(7.0f), pointers({base})});
  fill.launch(*memory, {value(2), value(7.0f), pointers({0x1234})});
  CHECK(get<float>(*memory, base, 2) == std::vector<float>{1, 2});
  fill.launch(*memory, {value(1 << 30), value(7.0f), pointers({base})});  // leaves the allocation
  CHECK_FALSE(memory->known(base, 8));
}

namespace {

// vectorized_elementwise_kernel<16, BinaryFunctor<bool, bool, bool, BitwiseOrFunctor<bool>>, std::array<char*, 3>>.
const TestKernel& or_of_bools() {
  static const TestKernel kernel(
      "_ZN2at6native29vectorized_elementwise_kernelILi16ENS0_13BinaryFunctorIbbbNS0_"
      "16BitwiseOrFunctorIbEEEESt5arrayIPcL"
      "m3EELb0EEEviT0_T1_",
      {{0, 4}, {4, 1}, {8, 24}});
  return kernel;
}

}  // namespace

TEST_CASE("true or unknown is true, false or unknown is unknown", "[effects]") {
  auto memory = make_memory();
  const Address result = allocate(*memory, 512), a = allocate(*memory, 512), b = allocate(*memory, 512);
  put<uint8_t>(*memory, result, {1, 1, 1, 1});
  put<uint8_t>(*memory, a, {1, 0, 0});
  put<uint8_t>(*memory, b + 2, {1, 1});
  or_of_bools().launch(*memory, {value(4), value(uint8_t{0}), Parameter().add(result).add(a).add(b)});
  CHECK(memory->known(result, 1));            // true or unknown
  CHECK_FALSE(memory->known(result + 1, 1));  // false or unknown
  CHECK(memory->known(result + 2, 2));        // false or true, unknown or true
  CHECK(get<uint8_t>(*memory, result, 4) == std::vector<uint8_t>{1, 0, 1, 1});
}

TEST_CASE("an unknown number is taken to be finite: equal to itself, below infinity", "[effects]") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto memory = make_memory();
  const Address out = allocate(*memory, 512), x = allocate(*memory, 512), y = allocate(*memory, 512);
  const TestKernel equal(kEqualFloat, {{0, 4}, {4, 4}, {8, 24}}), compare(kCompareScalar, {{0, 4}, {8, 16}, {24, 16}});
  const auto same = [&](int32_t selector, Address a, Address b) {
    memory->make_unknown(out, 512);
    equal.launch(*memory, {value(3), value(selector), pointers({out, a, b})});
  };
  const auto against = [&](int32_t selector, float bound) {
    memory->make_unknown(out, 512);
    compare.launch(*memory, {value(3), Parameter().add(selector).add(bound), pointers({out, x})});
  };
  same(0, x, x);  // EQ
  CHECK(memory->known(out, 3));
  CHECK_FALSE(memory->any_known(out + 3, 509));
  CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{1, 1, 1});
  same(1, x, x);  // NE
  CHECK(memory->known(out, 3));
  CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{0, 0, 0});
  same(0, x, y);
  CHECK_FALSE(memory->any_known(out, 3));
  // >=, >, <=, < of infinity and of minus infinity.
  const std::vector<uint8_t> above = {0, 0, 1, 1};
  for (int32_t selector = 0; selector < 4; ++selector) {
    const uint8_t answer = above[static_cast<size_t>(selector)];
    against(selector, inf);
    CHECK(memory->known(out, 3));
    CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>(3, answer));
    against(selector, -inf);
    CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>(3, 1 - answer));
    against(selector, 2.0f);
    CHECK_FALSE(memory->any_known(out, 3));
  }
  // Known ones among them are what they are.
  put<float>(*memory, x, {nan});
  put<float>(*memory, x + 8, {inf});
  same(0, x, x);
  CHECK(memory->known(out, 3));
  CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{0, 1, 1});
  against(3, inf);
  CHECK(memory->known(out, 3));
  CHECK(get<uint8_t>(*memory, out, 3) == std::vector<uint8_t>{0, 1, 0});
}

TEST_CASE("that billions of unknown numbers are finite costs no memory", "[effects]") {
  constexpr int32_t kCount = 1 << 30;
  auto memory = make_memory();
  const Address x = allocate(*memory, uint64_t{4} * kCount), out = allocate(*memory, kCount);
  const TestKernel equal(kEqualFloat, {{0, 4}, {4, 4}, {8, 24}});
  equal.launch(*memory, {value(kCount), value(0), pointers({out, x, x})});
  CHECK(memory->known(out, kCount));
  CHECK(get<uint8_t>(*memory, out + kCount - 1, 1) == std::vector<uint8_t>{1});
  CHECK(memory->host_bytes_used() < 1 << 20);
}

TEST_CASE("masks of many elements: each as a small one of the same values, known or not", "[effects]") {
  // Runs of every pair of true, false and unknown, over and over: by the table of a disjunction.
  constexpr uint32_t kCount = 30'000;
  auto memory = make_memory();
  const Address result = allocate(*memory, kCount), a = allocate(*memory, kCount), b = allocate(*memory, kCount);
  enum : uint32_t { kFalse, kTrue, kUnknown };
  const auto a_of = [](uint32_t i) { return i % 3; };
  const auto b_of = [](uint32_t i) { return i / 3 % 3; };
  for (uint32_t i = 0; i < kCount; ++i) {
    if (a_of(i) != kUnknown) put<uint8_t>(*memory, a + i, {static_cast<uint8_t>(a_of(i))});
    if (b_of(i) != kUnknown) put<uint8_t>(*memory, b + i, {static_cast<uint8_t>(b_of(i))});
  }
  or_of_bools().launch(*memory, {value(int32_t{kCount}), value(uint8_t{0}), Parameter().add(result).add(a).add(b)});
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const bool is_true = a_of(i) == kTrue || b_of(i) == kTrue, is_false = a_of(i) == kFalse && b_of(i) == kFalse;
    wrong += memory->known(result + i, 1) != (is_true || is_false);
    wrong += get<uint8_t>(*memory, result + i, 1)[0] != (is_true ? 1 : 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("walking through an offset calculator gives what it gives for each index", "[effects]") {
  // Three tensors of 5 x 4 x 3: dense, broadcast along the middle, transposed.
  std::vector<uint8_t> bytes(maya::device::offset_calculator_bytes(3));
  const auto set = [&](size_t offset, uint32_t number) { std::memcpy(bytes.data() + offset, &number, 4); };
  const uint32_t sizes[3] = {3, 4, 5}, strides[3][3] = {{8, 4, 160}, {24, 0, 40}, {96, 12, 8}};
  set(0, 3);
  for (uint32_t d = 0; d < 3; ++d) {
    set(4 + 12 * d, sizes[d]);
    for (uint32_t t = 0; t < 3; ++t) set(4 + 25 * 12 + 4 * (3 * d + t), strides[d][t]);
  }
  const maya::device::Offsets offsets(bytes.data(), 3);
  REQUIRE(offsets.valid());
  maya::device::Offsets::Walk walk(offsets);
  for (uint64_t i = 0; i < 2 * 3 * 4 * 5; ++i, walk.next())  // twice around
    for (uint32_t t = 0; t < 3; ++t) {
      const uint64_t k = i % 60;
      CHECK(walk.at(t) == k % 3 * strides[0][t] + k / 3 % 4 * strides[1][t] + k / 12 * strides[2][t]);
    }
}

TEST_CASE("a masked scatter makes its result unknown and nothing behind it", "[effects]") {
  // masked_scatter of single-precision numbers by a mask of bytes and places of 8 bytes, as found in PyTorch 2.15's
  // cubins.
  constexpr uint32_t kCount = 1200;
  const TestKernel scatter(
      "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_28launch_masked_scatter_kernelERKNS_10TensorBaseES4_S4_"
      "S4_ENKUlvE_clEvENKUlvE5_clEvEUlfblE_St5arrayIPcLm4EELb0EEEviT0_T1_",
      {{0, 4}, {8, 16}, {24, 32}});
  auto memory = make_memory();
  const Address block = allocate(*memory, 1 << 20);
  const Address result = block, mask = block + 4 * kCount, places = block + 8192, elements = block + 32768;
  put(*memory, result, std::vector<uint8_t>(4 * kCount, 7));
  put(*memory, mask, std::vector<uint8_t>(kCount, 1));
  put(*memory, places, std::vector<int64_t>(kCount, 0));
  scatter.launch(*memory, {value(int32_t{kCount}), Parameter().add(elements).add(uint64_t{kCount}),
                           pointers({result, result, mask, places})});
  CHECK_FALSE(memory->known(result, 1));
  CHECK_FALSE(memory->known(result + 4 * kCount - 1, 1));
  CHECK(get<uint8_t>(*memory, mask, kCount) == std::vector<uint8_t>(kCount, 1));
  CHECK(memory->known(mask, kCount));
}
