// A fat binary as nvcc leaves it in a program, made without nvcc: one PTX image, registered as generated code registers
// it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

// crt/host_runtime.h of the CUDA toolkit declares these for generated code only.
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int thread_limit,
                            uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int external, size_t bytes,
                       int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name, int external, size_t bytes,
                              int constant, int global);
char __cudaInitModule(void** handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                    cudaStream_t stream);
cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                  cudaStream_t stream);
}

namespace test {

// Container of one uncompressed PTX image. Layout: virtual_device/image/fat_binary.h.
inline std::vector<unsigned char> ptx_container(const std::string& ptx, uint32_t architecture = 80) {
  const uint64_t padded = (ptx.size() + 1 + 7) / 8 * 8;
  std::vector<unsigned char> bytes(16 + 64 + padded, 0);
  const auto put = [&](size_t offset, auto value) { memcpy(bytes.data() + offset, &value, sizeof value); };
  put(0, uint32_t{0xBA55ED50});
  put(4, uint16_t{1});
  put(6, uint16_t{16});
  put(8, uint64_t{64 + padded});
  put(16, uint16_t{1});  // PTX
  put(18, uint16_t{0x101});
  put(20, uint32_t{64});
  put(24, padded);
  put(16 + 20, uint32_t{0});  // not compressed
  put(16 + 28, architecture);
  memcpy(bytes.data() + 16 + 64, ptx.data(), ptx.size());
  return bytes;
}

// What stands in section .nvFatBinSegment.
struct Wrapper {
  int magic = 0x466243b1;
  int version = 1;
  const void* data = nullptr;
  void* file = nullptr;
};

// Two kernels (`plain`: a pointer and an integer; `bounded`: at most 256 threads), a constant and a global variable,
// and a managed one.
inline const std::string kPtx =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .const .align 4 .b8 table[64];\n"
    ".visible .global .align 8 .b8 counter[16];\n"
    ".visible .global .attribute(.managed) .align 8 .b8 shared_value[32];\n"
    ".visible .entry plain(.param .u64 plain_param_0, .param .u32 plain_param_1)\n{\n .reg .b64 %rd<2>;\n ld.param.u64 "
    "%rd1, [plain_param_0];\n"
    " .reg .b32 %r<2>;\n mov.u32 %r1, %clock;\n st.global.b32 [%rd1], %r1;\n ret;\n}\n"
    ".visible .entry bounded(.param .u64 bounded_param_0)\n.maxntid 256, 1, 1\n{\n ret;\n}\n";

}  // namespace test
