#include "predictor/core/kernel_name.h"

#include <catch2/catch.hpp>

namespace maya::model {
namespace {

using Views = std::vector<std::string_view>;

TEST_CASE("A templated kernel comes apart") {
  const KernelName name = parse_kernel_name(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> "
      ">(int, "
      "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)");
  CHECK(name.qualified == "at::native::vectorized_elementwise_kernel");
  CHECK(name.leaf == "vectorized_elementwise_kernel");
  CHECK(name.template_arguments == Views{"4", "at::native::CUDAFunctor_add<float>", "std::array<char*, 3ul>"});
  CHECK(name.parameters == Views{"int", "at::native::CUDAFunctor_add<float>", "std::array<char*, 3ul>"});
  CHECK(name.argument(7).empty());
}

TEST_CASE("Anonymous namespaces, lambdas and operators do not confuse it") {
  const KernelName name = parse_kernel_name(
      "void at::native::(anonymous namespace)::kernel<f(int)::{lambda(float, bool)#2}::operator()() "
      "const::{lambda(int)#1}, "
      "A::operator< >(float*, int)");
  CHECK(name.leaf == "kernel");
  CHECK(name.template_arguments.size() == 2);
  CHECK(name.parameters == Views{"float*", "int"});
}

TEST_CASE("A templated return type is not the name") {
  const KernelName name = parse_kernel_name("std::enable_if<true, void>::type internal::gemvx::kernel<int, 7>(Params)");
  CHECK(name.qualified == "internal::gemvx::kernel");
  CHECK(name.template_arguments == Views{"int", "7"});
}

TEST_CASE("Expressions among template arguments: their '<' and '>' are no brackets") {
  const KernelName name = parse_kernel_name(
      "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
      "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8, true>(c10::BFloat16*, long)");
  CHECK(name.qualified == "vllm::fused_add_rms_norm_kernel");
  CHECK(name.leaf == "fused_add_rms_norm_kernel");
  CHECK(name.template_arguments == Views{"c10::BFloat16", "8", "true"});
  CHECK(name.parameters == Views{"c10::BFloat16*", "long"});
  CHECK(parse_kernel_name("void f<((2)<(4)), int>(A<((1)>(0))>, int)").parameters == Views{"A<((1)>(0))>", "int"});
}

TEST_CASE("Plain names, empty names and garbage are taken as they are") {
  CHECK(parse_kernel_name("triton_poi_fused_add_0").leaf == "triton_poi_fused_add_0");
  CHECK(parse_kernel_name("").leaf.empty());
  for (const char* text :
       {"<", ">", "((((", "))))", "a<b", "a<b(c", ">>a<<", "{lambda(", "::", "operator", "operator<", "a>::b", " "}) {
    const KernelName name = parse_kernel_name(text);
    CHECK(name.leaf.size() <= std::string_view(text).size());
  }
}

TEST_CASE("Demangling leaves other names alone") {
  CHECK(demangle("_ZN2at6native3fooEi") == "at::native::foo(int)");
  CHECK(demangle("ampere_sgemm_128x64_nn") == "ampere_sgemm_128x64_nn");
  CHECK(demangle("_Znot really") == "_Znot really");
  CHECK(demangle("").empty());
}

TEST_CASE("Numbers and types in arguments") {
  CHECK(number_in("128", -1) == 128);
  CHECK(number_in("(int)128", -1) == 128);
  CHECK(number_in("2ul", -1) == 2);
  CHECK(number_in("(bool)1", -1) == 1);
  CHECK(number_in("true", -1) == 1);
  CHECK(number_in("float", -1) == -1);
  CHECK(number_in("", -1) == -1);
  CHECK(first_type_in("at::native::CUDAFunctor_add<c10::BFloat16>") == DataType::kBfloat16);
  CHECK(first_type_in("Traits<64, 128, cutlass::half_t>") == DataType::kFloat16);
  CHECK(first_type_in("Traits<(int)64, cutlass::bfloat16_t>") == DataType::kBfloat16);
  CHECK(first_type_in("unsigned char") == DataType::kUint8);
  CHECK(first_type_in("c10::complex<float>") == DataType::kComplex64);
  CHECK(first_type_in("floating_thing") == DataType::kNone);
  CHECK(type_named("float const*") == DataType::kFloat32);
  CHECK(type_named("Functor<float>") == DataType::kNone);
  CHECK(element_bytes_in("at::native::OpaqueType<8>") == 8);
  CHECK(element_bytes_in("c10::Half") == 2);
}

}  // namespace
}  // namespace maya::model
