#include "virtual_device/values/kernel_name.h"

#include <catch2/catch.hpp>

using namespace maya::device;

TEST_CASE("a template kernel's name taken apart", "[names]") {
  const KernelName name = parse_kernel_name(
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13AUnaryFunctorIfffNS0_15binary_"
      "internal10MulFunctorIfEEEESt5arrayIPcLm2EELb0EEEviT0_T1_");
  CHECK(name.function == "at::native::vectorized_elementwise_kernel");
  REQUIRE(name.template_arguments.size() == 4);
  CHECK(name.template_arguments[1] ==
        "at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >");
  REQUIRE(name.parameters.size() == 3);
  CHECK(name.parameters[0] == "int");
  CHECK(name.parameters[2] == "std::array<char*, 2ul>");
}

TEST_CASE("plain functions, and names that are not mangled", "[names]") {
  const KernelName name = parse_kernel_name("_ZN2at6native28amp_update_scale_cuda_kernelEPfPiPKfddi");
  CHECK(name.function == "at::native::amp_update_scale_cuda_kernel");
  CHECK(name.parameters == std::vector<std::string>{"float*", "int*", "float const*", "double", "double", "int"});
  CHECK(parse_kernel_name("triton_poi_fused_0").function == "triton_poi_fused_0");
  CHECK(parse_kernel_name("triton_poi_fused_0").parameters.empty());
  CHECK(parse_kernel_name("").function.empty());
  CHECK(parse_kernel_name("_Z").function == "_Z");
}

TEST_CASE("return types are left out", "[names]") {
  // std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<
  // c10::BFloat16, 8, true>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int, long)
  const KernelName name = parse_kernel_name(
      "_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16ELi8ELb1EEENSt9enable_ifIXaagtT0_Li0Esr4vllm12_typeConvertIT_"
      "EE6existsEvE4typeEPS4_lS7_PKS4_fiil");
  CHECK(name.function == "vllm::fused_add_rms_norm_kernel");
  CHECK(name.template_arguments == std::vector<std::string>{"c10::BFloat16", "8", "true"});
  CHECK(name.parameters.size() == 8);
  // void (anonymous namespace)::kernel<int>(int*)
  CHECK(parse_kernel_name("_ZN12_GLOBAL__N_16kernelIiEEvPT_").function == "(anonymous namespace)::kernel");
}

TEST_CASE("types of pointers", "[names]") {
  CHECK(is_pointer_to_const("float const*"));
  CHECK(is_pointer_to_const("float const* __restrict__"));
  CHECK_FALSE(is_pointer_to_const("float*"));
  CHECK_FALSE(is_pointer_to_const("int"));
  CHECK(pointed_type("c10::BFloat16*") == "c10::BFloat16");
  CHECK(pointed_type("long const* __restrict__") == "long");
  CHECK(pointed_type("int").empty());
}

TEST_CASE("arguments of the last lambda", "[names]") {
  std::vector<std::string_view> types;
  REQUIRE(
      lambda_arguments("f(at::T&)::{lambda()#2}::operator()() const::{lambda(c10::complex<float>, bool)#1}", &types));
  CHECK(types == std::vector<std::string_view>{"c10::complex<float>", "bool"});
  REQUIRE(lambda_arguments("{lambda()#1}", &types));
  CHECK(types.empty());
  CHECK_FALSE(lambda_arguments("f<int>", &types));
  CHECK_FALSE(lambda_arguments("}", &types));
  CHECK_FALSE(lambda_arguments("", &types));
}
