// Forked children of a process that uses the driver (reliability.md figure 10).
#include <atomic>
#include <thread>

#include "test/cuda/driver_helpers.h"

TEST_CASE("A child of a process that never called cuInit has a driver of its own") {
  CHECK(driver_test::in_child([] {
          CUcontext context = nullptr;
          return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS ? 0 : 1;
        }) == 0);
}

TEST_CASE("1000 forks with 16 busy threads: every child gets NOT_INITIALIZED and ends") {
  CHECK(driver_test::in_child([] {
          alarm(300);
          CUcontext context = nullptr;
          if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return 1;
          std::atomic<bool> stop{false};
          std::vector<std::thread> threads;
          for (int i = 0; i < 16; ++i)
            threads.emplace_back([&] {
              cuCtxSetCurrent(context);
              while (!stop.load()) {
                CUdeviceptr address = 0;
                CUstream stream = nullptr;
                CUevent event = nullptr;
                cuMemAlloc_v2(&address, 4096);
                cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
                cuEventCreate(&event, 0);
                cuEventRecord(event, stream);
                cuMemsetD8Async(address, 1, 4096, stream);
                cuStreamSynchronize(stream);
                cuEventDestroy_v2(event);
                cuStreamDestroy_v2(stream);
                cuMemFree_v2(address);
              }
            });
          int wrong = 0;
          for (int i = 0; i < 1000; ++i) {
            const int status = driver_test::in_child([&] {
              alarm(20);
              CUdeviceptr address = 0;
              int count = 0, version = 0;
              const bool right =
                  cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                  cuMemAlloc_v2(&address, 4096) == CUDA_ERROR_NOT_INITIALIZED &&
                  cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED && cuDriverGetVersion(&version) == CUDA_SUCCESS;
              return right ? 0 : 1;
            });
            wrong += status != 0;
          }
          stop.store(true);
          for (std::thread& thread : threads) thread.join();
          return wrong == 0 && cuCtxSetCurrent(context) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 2;
        }) == 0);
}

TEST_CASE("A child that ends normally leaves the parent's driver alone") {
  CHECK(driver_test::in_child([] {
          CUcontext context = nullptr;
          cuInit(0);
          cuDevicePrimaryCtxRetain(&context, 0);
          cuCtxSetCurrent(context);
          const pid_t child = fork();
          if (child == 0) exit(0);  // runs exit handlers and the library's destructor
          int status = 0;
          waitpid(child, &status, 0);
          return status == 0 && cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 1;
        }) == 0);
}
