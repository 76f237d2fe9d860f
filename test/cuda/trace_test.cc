// What a process leaves on disk: nothing before it uses a device, then one file that says what it did.
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "driver_shim/common/maya_table.h"
#include "test/cuda/driver_helpers.h"
#include "trace_proto/loaded_trace.h"

namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/maya-trace-test-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~Folder() {
    for (const std::string& file : files()) unlink(file.c_str());
    rmdir(path_.c_str());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> result;
    DIR* folder = opendir(path_.c_str());
    if (folder == nullptr) return result;
    while (const dirent* entry = readdir(folder))
      if (entry->d_name[0] != '.') result.push_back(path_ + "/" + entry->d_name);
    closedir(folder);
    return result;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A child that ends by exit(), so that the trace is finished.
int run(const Folder& folder, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("MAYA_TRACE_DIR", folder.path().c_str(), 1);
    const int status = body();
    exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

CUcontext make_context() {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  return context;
}

maya::trace::LoadedTrace load(const Folder& folder) {
  const std::vector<std::string> files = folder.files();
  REQUIRE(files.size() == 1);
  maya::trace::LoadResult result = maya::trace::load_trace(files[0]);
  INFO(result.error);
  REQUIRE(result.traces.size() == 1);
  return std::move(result.traces[0]);
}

size_t count(const maya::trace::LoadedTrace& trace, maya::trace::EventKind kind) {
  return static_cast<size_t>(std::count_if(trace.events.begin(), trace.events.end(),
                                           [&](const maya::trace::Event& event) { return event.kind == kind; }));
}

}  // namespace

TEST_CASE("No file before the first context, and none at all without one") {
  const Folder folder;
  CHECK(run(folder, [&] {
          int devices = 0;
          cuInit(0);
          cuDeviceGetCount(&devices);
          return folder.files().empty() ? 0 : 1;
        }) == 0);
  CHECK(folder.files().empty());
}

TEST_CASE("The file belongs to its user only, and says what the process did") {
  const Folder folder;
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
          cuGraphCreate(nullptr, 0);
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
  CHECK(trace.end.unsupported(0).name() == "libcuda.so.1:cuGraphCreate");
}

TEST_CASE("MAYA_TRACE=0 writes nothing, and an unwritable folder is one line and no harm") {
  const Folder folder;
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
