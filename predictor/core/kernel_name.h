// Takes a demangled kernel name apart. Internal to the estimate core.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predictor/core/operation.h"

namespace maya::model {

// Views point into the text given to parse_kernel_name().
struct KernelName {
  std::string_view qualified;                        // "at::native::vectorized_elementwise_kernel"
  std::string_view leaf;                             // "vectorized_elementwise_kernel"
  std::vector<std::string_view> template_arguments;  // "4", "at::native::FillFunctor<float>", ...
  std::vector<std::string_view> parameters;          // "int", "float const*", ...
  // The i-th template argument; empty when there are fewer.
  std::string_view argument(size_t i) const {
    return i < template_arguments.size() ? template_arguments[i] : std::string_view();
  }
};

// Any text gives a result: what cannot be taken apart is all leaf.
KernelName parse_kernel_name(std::string_view demangled);

// The C++ name of a mangled one; the name itself when it is not mangled or does not demangle.
std::string demangle(std::string_view mangled);

// Whole numbers as template arguments print: "128", "(int)128", "2ul", "true". `otherwise` when it is none.
long number_in(std::string_view argument, long otherwise);

// The first scalar type named in `text` ("c10::BFloat16" in "at::native::CUDAFunctor_add<c10::BFloat16>"); kNone when
// there is none.
DataType first_type_in(std::string_view text);
// The type of `text` itself ("float", "__half const*"); kNone when it is no scalar type or a pointer to one.
DataType type_named(std::string_view text);
// Bytes of an element of `text`, also for at::native::OpaqueType<N>; 0 when unknown.
uint32_t element_bytes_in(std::string_view text);

// The bracketed text that opens at `open`, without its brackets; empty when it does not close.
std::string_view inside(std::string_view text, size_t open);

}  // namespace maya::model
