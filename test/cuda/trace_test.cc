// What a process leaves on disk: nothing before it uses a device, then one file that says what it did.
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "driver_shim/common/maya_table.h"
#include "test/cuda/trace_folder.h"

using driver_test::count;
using driver_test::load;
using driver_test::make_context;
using driver_test::run;
using driver_test::TraceFolder;

TEST_CASE("No file before the first context, and none at all without one") {
  const TraceFolder folder;
  CHECK(run(folder, [&] {
          int devices = 0;
          cuInit(0);
          cuDeviceGetCount(&devices);
          return folder.files().empty() ? 0 : 1;
        }) == 0);
  CHECK(folder.files().empty());
}

TEST_CASE("The file belongs to its user only, and says what the process did") {
  const TraceFolder folder;
  CHECK(run(folder, [&] {
          make_context();
          CUmodule module = nullptr;
          CUfunction nothing = nullptr;
          CUstream stream = nullptr;
          CUevent event = nullptr;
          cuModuleLoadData(&module, driver_test::kPtx);
          cuModuleGetFunction(&nothing, module, "nothing");
          cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
          cuEventCreate(&event, 0);
          for (int i = 0; i < 1000; ++i) cuLaunchKernel(nothing, 7, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
          for (int i = 0; i < 10; ++i) cuLaunchKernel(nothing, 8, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
          cuEventRecord(event, stream);
          cuEventSynchronize(event);
          cuCtxSynchronize();
          cuStreamDestroy_v2(stream);
          CUuuid id;
          memcpy(&id, maya::kMayaTableIdBytes, sizeof id);
          const void* table = nullptr;
          cuGetExportTable(&table, &id);
          maya::OperationRecord operation(maya::Family::kGemm, "cublasGemmEx");
          operation.set(maya::Key::kM, 128).set(maya::Key::kN, 128).set(maya::Key::kK, 128);
          for (int i = 0; i < 5; ++i)
            static_cast<const maya::MayaTable*>(table)->record_operation(nullptr, &operation, nullptr, 0);
          cuMulticastCreate(nullptr, nullptr);
          cuModuleUnload(module);
          return 0;
        }) == 0);
  struct stat status {};
  REQUIRE(folder.files().size() == 1);
  REQUIRE(stat(folder.files()[0].c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  const maya::trace::LoadedTrace trace = load(folder);
  using Kind = maya::trace::EventKind;
  CHECK(trace.process.program() == "cuda_process_test");
  CHECK(trace.process.device_name() == "h100-sxm");
  CHECK(trace.process.device_count() == 2);
  CHECK(trace.process.rank() == -1);
  CHECK(count(trace, Kind::kLaunch) == 1010);
  CHECK(count(trace, Kind::kOperation) == 5);
  CHECK(trace.configurations.size() == 2);
  CHECK(trace.operations.size() == 1);
  REQUIRE(trace.kernels.size() == 1);
  CHECK(trace.kernels[0].name == "nothing");
  CHECK(trace.operations[0].record.get(maya::Key::kM) == 128);
  CHECK(count(trace, Kind::kEventCall) >= 3);
  CHECK(count(trace, Kind::kSynchronization) >= 1);
  CHECK(trace.complete);
  CHECK(trace.end.reason() == "exit");
  REQUIRE(trace.end.unsupported_size() == 1);
  CHECK(trace.end.unsupported(0).name() == "libcuda.so.1:cuMulticastCreate");
}

TEST_CASE("MAYA_TRACE=0 writes nothing, and an unwritable folder is one line and no harm") {
  const TraceFolder folder;
  CHECK(run(folder, [] {
          setenv("MAYA_TRACE", "0", 1);
          make_context();
          return cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 1;
        }) == 0);
  CHECK(folder.files().empty());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(run(folder, [&] {
          dup2(ends[1], STDERR_FILENO);
          setenv("MAYA_TRACE_DIR", "/proc/no/such/folder", 1);
          make_context();
          return cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 1;
        }) == 0);
  close(ends[1]);
  std::string text(4096, 0);
  const ssize_t got = read(ends[0], text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  close(ends[0]);
  CHECK(text.find("/proc/no/such/folder") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}
