// The demangled name of a kernel, taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace maya::device {

struct KernelName {
  std::string function;  // without return type, template arguments and parameters: "at::native::reduce_kernel"
  std::vector<std::string> template_arguments;
  std::vector<std::string> parameters;  // empty when the name is no C++ function's
};

// Demangles and splits. A name that is not a mangled one comes back as the function alone.
KernelName parse_kernel_name(const std::string& mangled);

// "DeviceScanKernel" of CUB's "at_cuda_detail::cub::detail::scan::DeviceScanKernel", as CUDA 13 has it, and of
// "at_cuda_detail::cub::DeviceScanKernel", as CUDA 12 has it. Empty: no kernel of PyTorch's CUB.
std::string_view cub_kernel(std::string_view function);

// Of a parameter's type: "float const*" points to what its kernel only reads, "float*" to what it may write.
bool is_pointer_to_const(std::string_view type);
// The type that a pointer points to, without const; empty when it is no pointer.
std::string_view pointed_type(std::string_view type);

// Splits "name<a, b>" into name and arguments, and "name(a, b)" or "{lambda(a, b)#1}" alike for parentheses.
std::string_view template_base(std::string_view text);
std::vector<std::string_view> template_arguments(std::string_view text);

// The template arguments of the first "name<...>" anywhere in a text; none when there is none.
std::vector<std::string_view> nested_arguments(std::string_view text, std::string_view name);

// Types in the parentheses of the last lambda of a text: "...::{lambda(bool, float)#1}" gives bool and float. False
// when it does not end in a lambda.
bool lambda_arguments(std::string_view text, std::vector<std::string_view>* types);

}  // namespace maya::device
