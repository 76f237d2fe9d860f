// Registration as nvcc's generated code does it, and every way to launch.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "test/cudart/fat_binary.h"

namespace {

// Stand for the host stubs whose addresses name kernels.
char plain_stub, bounded_stub, absent_stub, unregistered_stub;
char table_shadow[64], counter_shadow[16];
void* managed_shadow = nullptr;

class Program {
 public:
  explicit Program(const std::string& ptx = test::kPtx) : container_(test::ptx_container(ptx)) {
    wrapper_.data = container_.data();
    handle_ = __cudaRegisterFatBinary(&wrapper_);
  }
  ~Program() { __cudaUnregisterFatBinary(handle_); }
  void function(const char* stub, const char* name) {
    __cudaRegisterFunction(handle_, stub, const_cast<char*>(name), name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }
  void variable(char* shadow, const char* name, size_t bytes, int constant) {
    __cudaRegisterVar(handle_, shadow, const_cast<char*>(name), name, 0, bytes, constant, 0);
  }
  void end() { __cudaRegisterFatBinaryEnd(handle_); }
  void** handle() { return handle_; }
  test::Wrapper& wrapper() { return wrapper_; }

 private:
  std::vector<unsigned char> container_;
  test::Wrapper wrapper_;
  void** handle_;
};

Program& program() {
  static Program* const instance = [] {
    auto* made = new Program;
    made->function(&plain_stub, "plain");
    made->function(&bounded_stub, "bounded");
    made->function(&absent_stub, "absent");
    made->variable(table_shadow, "table", 64, 1);
    made->variable(counter_shadow, "counter", 16, 0);
    __cudaRegisterManagedVar(made->handle(), &managed_shadow, nullptr, "shared_value", 0, 32, 0, 0);
    made->end();
    return made;
  }();
  return *instance;
}

// Arguments of `plain`.
struct PlainArguments {
  void* pointer = nullptr;
  unsigned count = 7;
  void* list[2] = {&pointer, &count};
};

}  // namespace

TEST_CASE("kernels launch by host function") {
  program();
  PlainArguments arguments;
  CHECK(cudaLaunchKernel(&plain_stub, dim3(4), dim3(128), arguments.list, 0, nullptr) == cudaSuccess);
  CHECK(cudaLaunchKernel(&plain_stub, dim3(4), dim3(128), arguments.list, 0, cudaStreamPerThread) == cudaSuccess);
  CHECK(cudaLaunchKernel_ptsz(&plain_stub, dim3(4), dim3(128), arguments.list, 0, nullptr) == cudaSuccess);
  CHECK(cudaLaunchCooperativeKernel(&plain_stub, dim3(4), dim3(128), arguments.list, 0, nullptr) == cudaSuccess);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(64);
  CHECK(cudaLaunchKernelExC(&config, &plain_stub, arguments.list) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("generated code of CUDA 13 launches by handle") {
  program();
  cudaKernel_t kernel = nullptr;
  REQUIRE(__cudaGetKernel(&kernel, &plain_stub) == cudaSuccess);
  REQUIRE(kernel != nullptr);
  PlainArguments arguments;
  CHECK(__cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments.list, 0, nullptr) == cudaSuccess);
  CHECK(__cudaLaunchKernel_ptsz(kernel, dim3(1), dim3(32), arguments.list, 0, nullptr) == cudaSuccess);
  SECTION("a cudaKernel_t is also accepted as the function") {
    CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments.list, 0, nullptr) == cudaSuccess);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess);
  }
  SECTION("the public name gives the same handle") {
    cudaKernel_t again = nullptr;
    CHECK(cudaGetKernel(&again, &plain_stub) == cudaSuccess);
    CHECK(again == kernel);
    cudaFunction_t function = nullptr;
    CHECK(cudaGetFuncBySymbol(&function, &plain_stub) == cudaSuccess);
    CHECK(function != nullptr);
  }
}

TEST_CASE("a kernel that cannot be found gives its reason at the launch") {
  program();
  CHECK(cudaLaunchKernel(&unregistered_stub, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  CHECK(cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  CHECK(cudaLaunchKernel(&absent_stub, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  cudaKernel_t kernel = reinterpret_cast<cudaKernel_t>(1);
  CHECK(__cudaGetKernel(&kernel, &absent_stub) == cudaErrorInvalidDeviceFunction);
  CHECK(kernel == nullptr);
  CHECK(__cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  CHECK(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a damaged fat binary is an invalid kernel image") {
  Program damaged;
  static char stub;
  damaged.function(&stub, "plain");
  damaged.wrapper().magic = 0;
  damaged.end();
  CHECK(cudaLaunchKernel(&stub, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidKernelImage);
}

TEST_CASE("an image for a later architecture only gives no kernel image for the device") {
  const std::vector<unsigned char> container = test::ptx_container(test::kPtx, 120);
  test::Wrapper wrapper;
  wrapper.data = container.data();
  static char stub;
  void** handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, &stub, nullptr, "plain", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(handle);
  CHECK(cudaLaunchKernel(&stub, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorNoKernelImageForDevice);
  __cudaUnregisterFatBinary(handle);
}

// Limits: CUDA C++ programming guide, "Technical specifications per compute capability": 1024 threads a block, x and y
// 1024, z 64; grid y and z 65535.
TEST_CASE("dimensions out of range are an invalid configuration") {
  program();
  PlainArguments arguments;
  const dim3 bad_blocks[] = {dim3(0), dim3(1025), dim3(1, 1, 65), dim3(64, 32)};
  for (const dim3& block : bad_blocks)
    CHECK(cudaLaunchKernel(&plain_stub, dim3(1), block, arguments.list, 0, nullptr) == cudaErrorInvalidConfiguration);
  const dim3 bad_grids[] = {dim3(0), dim3(1, 65536), dim3(1, 1, 65536), dim3(0x80000000u)};
  for (const dim3& grid : bad_grids)
    CHECK(cudaLaunchKernel(&plain_stub, grid, dim3(32), arguments.list, 0, nullptr) == cudaErrorInvalidConfiguration);
  CHECK(cudaLaunchKernelExC(nullptr, &plain_stub, arguments.list) == cudaErrorInvalidConfiguration);
  CHECK(cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), arguments.list, size_t{1} << 33, nullptr) ==
        cudaErrorInvalidValue);
  CHECK(cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), arguments.list, 1 << 20, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), arguments.list, 0,
                         reinterpret_cast<cudaStream_t>(0x1234560)) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST_CASE("call configurations nest") {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream) == cudaErrorMissingConfiguration);
  for (unsigned depth = 1; depth <= 20; ++depth)
    REQUIRE(__cudaPushCallConfiguration(dim3(depth, 2, 3), dim3(depth, 5), depth * 16, cudaStreamPerThread) == 0);
  for (unsigned depth = 20; depth >= 1; --depth) {
    REQUIRE(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream) == cudaSuccess);
    CHECK(grid.x == depth);
    CHECK(grid.z == 3);
    CHECK(block.x == depth);
    CHECK(block.y == 5);
    CHECK(shared_bytes == depth * 16);
    CHECK(stream == cudaStreamPerThread);
  }
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream) == cudaErrorMissingConfiguration);
  cudaGetLastError();
}

TEST_CASE("function attributes come from the image") {
  program();
  cudaFuncAttributes attributes;
  REQUIRE(cudaFuncGetAttributes(&attributes, &bounded_stub) == cudaSuccess);
  CHECK(attributes.maxThreadsPerBlock == 256);  // .maxntid 256, 1, 1
  CHECK(attributes.ptxVersion == 80);           // .target sm_80
  const char* name = nullptr;
  CHECK(cudaFuncGetName(&name, &bounded_stub) == cudaSuccess);
  CHECK(std::string(name) == "bounded");
  size_t offset = 9, size = 9, count = 9;
  CHECK(cudaFuncGetParamInfo(&plain_stub, 1, &offset, &size) == cudaSuccess);  // u64 at 0, u32 at 8
  CHECK(offset == 8);
  CHECK(size == 4);
  CHECK(cudaFuncGetParamInfo(&plain_stub, 2, &offset, &size) == cudaErrorInvalidValue);
  CHECK(cudaFuncGetParamCount(&plain_stub, &count) == cudaSuccess);
  CHECK(count == 2);
  CHECK(cudaFuncGetAttributes(nullptr, &plain_stub) == cudaErrorInvalidValue);
  CHECK(cudaFuncGetAttributes(&attributes, &unregistered_stub) == cudaErrorInvalidDeviceFunction);
  CHECK(cudaFuncSetAttribute(&plain_stub, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024) == cudaSuccess);
  CHECK(cudaFuncGetAttributes(&attributes, &plain_stub) == cudaSuccess);
  CHECK(attributes.maxDynamicSharedSizeBytes == 100 * 1024);
  CHECK(cudaFuncSetAttribute(&plain_stub, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
        cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("occupancy") {
  program();
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &plain_stub, 1024, 0) == cudaSuccess);
  CHECK(blocks == 2);  // 2048 threads a multiprocessor / 1024
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &plain_stub, 256, 0, 0) == cudaSuccess);
  CHECK(blocks == 8);  // 2048 / 256
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, &plain_stub, 128, 0) == cudaErrorInvalidValue);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &unregistered_stub, 128, 0) ==
        cudaErrorInvalidDeviceFunction);
  cudaGetLastError();
}

TEST_CASE("registered variables") {
  program();
  void* address = nullptr;
  size_t bytes = 0;
  REQUIRE(cudaGetSymbolAddress(&address, table_shadow) == cudaSuccess);
  CHECK(address != nullptr);
  CHECK(cudaGetSymbolSize(&bytes, table_shadow) == cudaSuccess);
  CHECK(bytes == 64);
  CHECK(cudaGetSymbolSize(&bytes, counter_shadow) == cudaSuccess);
  CHECK(bytes == 16);
  const unsigned char up[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  unsigned char down[16] = {};
  CHECK(cudaMemcpyToSymbol(table_shadow, up, 16, 32, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpyFromSymbol(down, table_shadow, 16, 32, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(memcmp(up, down, 16) == 0);
  CHECK(cudaMemcpyToSymbolAsync(counter_shadow, up, 8, 8, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
  CHECK(cudaMemcpyFromSymbolAsync(down, counter_shadow, 8, 8, cudaMemcpyDeviceToHost, nullptr) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(memcmp(up, down, 8) == 0);
  CHECK(cudaMemcpyToSymbol(table_shadow, up, 16, 50, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);  // 50 + 16 > 64
  CHECK(cudaMemcpyToSymbol(table_shadow, up, 16, 0, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpyFromSymbol(down, table_shadow, 16, 0, cudaMemcpyHostToDevice) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpyToSymbol(&unregistered_stub, up, 1, 0, cudaMemcpyHostToDevice) == cudaErrorInvalidSymbol);
  CHECK(cudaGetSymbolAddress(&address, nullptr) == cudaErrorInvalidSymbol);
  CHECK(cudaGetSymbolAddress(nullptr, table_shadow) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("managed variables get their address from __cudaInitModule") {
  CHECK(__cudaInitModule(program().handle()) != 0);
  REQUIRE(managed_shadow != nullptr);
  static_cast<int*>(managed_shadow)[7] = 42;  // the host may write it
  CHECK(static_cast<int*>(managed_shadow)[7] == 42);
}

TEST_CASE("a library that is closed takes its kernels with it, and its addresses may come again") {
  static char stub;
  PlainArguments arguments;
  {
    Program first;
    first.function(&stub, "plain");
    first.end();
    CHECK(cudaLaunchKernel(&stub, dim3(1), dim3(512), arguments.list, 0, nullptr) == cudaSuccess);
  }
  CHECK(cudaLaunchKernel(&stub, dim3(1), dim3(512), arguments.list, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  Program second;
  second.function(&stub, "bounded");
  second.end();
  CHECK(cudaLaunchKernel(&stub, dim3(1), dim3(256), arguments.list, 0, nullptr) == cudaSuccess);
  const char* name = nullptr;
  CHECK(cudaFuncGetName(&name, &stub) == cudaSuccess);
  CHECK(std::string(name) == "bounded");
  cudaGetLastError();
}

TEST_CASE("kernels launch again after a reset, in every thread that used the device") {
  program();
  PlainArguments arguments;
  std::atomic<int> step{0};
  std::thread other([&] {
    PlainArguments own;
    CHECK(cudaSetDevice(1) == cudaSuccess);
    CHECK(cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), own.list, 0, nullptr) == cudaSuccess);
    step = 1;
    while (step != 2) std::this_thread::yield();
    CHECK(cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), own.list, 0, nullptr) == cudaSuccess);
    int device = -1;
    CHECK(cudaGetDevice(&device) == cudaSuccess);
    CHECK(device == 1);
  });
  while (step != 1) std::this_thread::yield();
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), arguments.list, 0, nullptr) == cudaSuccess);
  step = 2;
  other.join();
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("many kernels: every one found again after the table has grown") {
  constexpr int kKernels = 3000;
  std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n";
  static std::vector<std::string> names;
  for (int i = 0; i < kKernels; ++i) {
    names.push_back("k" + std::to_string(i));
    ptx += ".visible .entry " + names.back() + "()\n{\n ret;\n}\n";
  }
  Program many(ptx);
  static char stubs[kKernels];
  for (int i = 0; i < kKernels; ++i) many.function(&stubs[i], names[i].c_str());
  many.end();
  std::vector<cudaKernel_t> kernels(kKernels);
  for (int i = 0; i < kKernels; ++i) REQUIRE(cudaGetKernel(&kernels[i], &stubs[i]) == cudaSuccess);
  for (int i = 0; i < kKernels; ++i) {
    cudaKernel_t again = nullptr;
    REQUIRE(cudaGetKernel(&again, &stubs[i]) == cudaSuccess);
    REQUIRE(again == kernels[i]);
    const char* name = nullptr;
    REQUIRE(cudaFuncGetName(&name, &stubs[i]) == cudaSuccess);
    REQUIRE(name == names[i]);
  }
}

TEST_CASE("64 threads launch while others register, resolve and unregister") {
  program();
  std::atomic<int> failures{0};
  std::atomic<bool> stop{false};
  std::thread registering([&] {
    static char stub;
    while (!stop) {
      Program short_lived;
      short_lived.function(&stub, "plain");
      short_lived.end();
      cudaKernel_t kernel = nullptr;
      if (cudaGetKernel(&kernel, &stub) != cudaSuccess) ++failures;
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      PlainArguments arguments;
      for (int n = 0; n < 1000; ++n)
        if (cudaLaunchKernel(&plain_stub, dim3(1), dim3(32), arguments.list, 0, nullptr) != cudaSuccess) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  registering.join();
  CHECK(failures == 0);
}
