// Runs a process on the driver and reads what it left on disk.
#pragma once

#include <sys/stat.h>

#include <algorithm>

#include "test/cuda/driver_helpers.h"
#include "trace_proto/loaded_trace.h"

namespace driver_test {

class TraceFolder {
 public:
  TraceFolder() {
    char name[] = "/tmp/maya-trace-test-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~TraceFolder() {
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
inline int run(const TraceFolder& folder, const std::function<int()>& body) {
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

inline CUcontext make_context() {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  return context;
}

inline maya::trace::LoadedTrace load(const TraceFolder& folder) {
  const std::vector<std::string> files = folder.files();
  REQUIRE(files.size() == 1);
  maya::trace::LoadResult result = maya::trace::load_trace(files[0]);
  INFO(result.error);
  REQUIRE(result.traces.size() == 1);
  return std::move(result.traces[0]);
}

inline size_t count(const maya::trace::LoadedTrace& trace, maya::trace::EventKind kind) {
  return static_cast<size_t>(std::count_if(trace.events.begin(), trace.events.end(),
                                           [&](const maya::trace::Event& event) { return event.kind == kind; }));
}

}  // namespace driver_test
