// Cost of one traced call, beside its lower bound: an empty call through a pointer plus one clock read (the least that
// any tracing library can do). Prints one line a kind: nanoseconds of the fastest and of the median batch, and the
// ratio of the fastest to the bound. All in one process and one run. Batches are short, so that on a shared machine
// some run undisturbed.
//
//   LD_LIBRARY_PATH=build/release/lib build/release/bench/calls
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "trace_proto/writer.h"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int limit, uint3*, uint3*,
                            dim3*, dim3*, int*);
}

namespace {

// A kernel with PyTorch's usual parameters: a count, then a structure with three pointers.
const char kPtx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry three_pointers(.param .u32 count, .param .align 8 .b8 pointers[24])\n{\n  ret;\n}\n";

// Fat binary container as the CUDA toolkit writes it: header {magic, version, header bytes, payload bytes}, then one
// entry with PTX text.
struct FatBinary {
  struct {
    unsigned magic = 0xba55ed50;
    unsigned short version = 1, header_bytes = 16;
    unsigned long long bytes;
  } header;
  struct {
    unsigned short kind = 1, version = 0x101;
    unsigned header_bytes = 64;
    unsigned long long bytes;
    unsigned compressed = 0, unknown = 0;
    unsigned short minor = 0, major = 8;
    unsigned arch = 80, name_offset = 0, name_bytes = 0;
    unsigned long long flags = 0x11, zero = 0, decompressed = 0;
  } entry;
  char text[512];
};

struct Wrapper {
  int magic = 0x466243b1, version = 1;
  const void* data = nullptr;
  void* unused = nullptr;
};

void kernel_stub() {}

struct Measured {
  double fastest, median;  // nanoseconds a call
};

Measured nanoseconds_per_call(const std::function<void(int)>& batch) {
  constexpr int kCalls = 500, kBatches = 1000;
  std::vector<double> times;
  batch(kCalls);
  for (int i = 0; i < kBatches; ++i) {
    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    batch(kCalls);
    clock_gettime(CLOCK_MONOTONIC, &b);
    times.push_back(((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / kCalls);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[kBatches / 2]};
}

#define CHECK(call)                                               \
  do {                                                            \
    if (const int status = static_cast<int>(call); status != 0) { \
      fprintf(stderr, "calls: %s returned %d\n", #call, status);  \
      return 1;                                                   \
    }                                                             \
  } while (0)

__attribute__((noinline)) int empty_call(void*) {
  asm volatile("");
  return 0;
}

// A thread that has used the driver and sleeps until this object goes.
class SecondThread {
 public:
  explicit SecondThread(cudaStream_t stream)
      : thread_([this, stream] {
          cudaStreamSynchronize(stream);
          stage_ = 1;
          stage_.notify_all();
          stage_.wait(1);
        }) {
    stage_.wait(0);
  }
  ~SecondThread() {
    stage_ = 2;
    stage_.notify_all();
    thread_.join();
  }

 private:
  std::atomic<int> stage_{0};
  std::thread thread_;
};

}  // namespace

int main() {
  char traces[] = "/tmp/maya-bench-XXXXXX";
  if (mkdtemp(traces) == nullptr) return 1;
  setenv("MAYA_TRACE_DIR", traces, 0);

  static FatBinary fat;
  snprintf(fat.text, sizeof fat.text, "%s", kPtx);
  fat.entry.bytes = sizeof fat.text;
  fat.header.bytes = sizeof fat.entry + sizeof fat.text;
  static Wrapper wrapper;
  wrapper.data = &fat;
  void** module = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(module, reinterpret_cast<const char*>(&kernel_stub), const_cast<char*>("three_pointers"),
                         "three_pointers", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(module);

  void *a, *b, *c;
  CHECK(cudaMalloc(&a, 64 << 20));
  CHECK(cudaMalloc(&b, 64 << 20));
  CHECK(cudaMalloc(&c, 64 << 20));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cublasHandle_t handle;
  CHECK(cublasCreate(&handle));
  CHECK(cublasSetStream(handle, stream));

  int count = 1 << 20;
  void* pointers[3] = {a, b, c};
  void* arguments[] = {&count, pointers};
  const auto launch = [&](cudaStream_t s) {
    return cudaLaunchKernel(reinterpret_cast<void*>(&kernel_stub), dim3(1024), dim3(128), arguments, 0, s);
  };
  CHECK(launch(stream));
  CHECK(cudaGetLastError());
  cudaFunction_t function;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<void*>(&kernel_stub)));

  int (*volatile empty)(void*) = &empty_call;
  uint64_t sink = 0;
  const Measured bound = nanoseconds_per_call([&](int n) {
    for (int i = 0; i < n; ++i) {
      sink += maya::trace::now_ns();
      sink += empty(nullptr);
    }
  });
  printf("%-46s %8s %8s    fastest\n", "nanoseconds a call", "fastest", "median");
  const auto print = [&](const char* name, const Measured& measured) {
    printf("%-46s %8.1f %8.1f  %6.1fx\n", name, measured.fastest, measured.median, measured.fastest / bound.fastest);
  };
  print("lower bound: empty call and one clock read", bound);
  const auto show = [&](const char* name, const std::function<void(int)>& batch) {
    print(name, nanoseconds_per_call(batch));
  };
  show("kernel launch through the runtime", [&](int n) {
    for (int i = 0; i < n; ++i) launch(stream);
  });
  show("kernel launch through the driver", [&](int n) {
    for (int i = 0; i < n; ++i) cuLaunchKernel(function, 1024, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  });
  {
    const SecondThread other(stream);  // streams are changed by atomic exchanges (Stream::enqueue_alone)
    show("the same beside a thread that uses the driver", [&](int n) {
      for (int i = 0; i < n; ++i) cuLaunchKernel(function, 1024, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
    });
  }
  show("event record", [&](int n) {
    for (int i = 0; i < n; ++i) cudaEventRecord(event, stream);
  });
  const float alpha = 1, beta = 0;
  show("cublasGemmEx", [&](int n) {
    for (int i = 0; i < n; ++i)
      cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1024, 1024, 1024, &alpha, a, CUDA_R_16BF, 1024, b, CUDA_R_16BF,
                   1024, &beta, c, CUDA_R_16BF, 1024, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  });
  show("cudaMalloc and cudaFree, 4 MiB", [&](int n) {
    for (int i = 0; i < n; ++i) {
      void* p;
      cudaMalloc(&p, 4 << 20);
      cudaFree(p);
    }
  });
  int value;
  show("4-byte copy, device to host", [&](int n) {
    for (int i = 0; i < n; ++i) cudaMemcpy(&value, a, 4, cudaMemcpyDeviceToHost);
  });
  {
    const SecondThread other(stream);  // every wait gives up the processor for a moment (Driver::wait_until)
    show("the same beside a thread that uses the driver", [&](int n) {
      for (int i = 0; i < n; ++i) cudaMemcpy(&value, a, 4, cudaMemcpyDeviceToHost);
    });
  }
  if (sink == 1) puts("");
  return 0;
}
