// A client of CUPTI's activity API for tests: buffers of a chosen size, all records kept.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace maya::test {

class Profile {
 public:
  explicit Profile(std::vector<CUpti_ActivityKind> kinds, size_t buffer_bytes = 1 << 16) : kinds_(std::move(kinds)) {
    bytes_ = buffer_bytes;
    buffers_.clear();
    records_.clear();
    cuptiActivityRegisterCallbacks(request, complete);
    for (const CUpti_ActivityKind kind : kinds_) cuptiActivityEnable(kind);
  }
  ~Profile() { stop(); }
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  void stop() {
    for (const CUpti_ActivityKind kind : kinds_) cuptiActivityDisable(kind);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    kinds_.clear();
  }

  // Records of one kind, in the order in which they were delivered.
  template <typename Record>
  static std::vector<Record> all(CUpti_ActivityKind kind) {
    std::vector<Record> found;
    for (const CUpti_Activity* record : records_)
      if (record->kind == kind) {
        found.emplace_back();
        std::memcpy(&found.back(), record, sizeof(Record));
      }
    return found;
  }
  static size_t delivered() { return delivered_; }
  static size_t requested() { return buffers_.size(); }
  static void refuse_buffers(bool refuse) { refuses_ = refuse; }

 private:
  static void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* most_records) {
    *most_records = 0;
    *buffer = nullptr;
    *size = 0;
    const std::lock_guard<std::mutex> lock(mutex_);  // called by whichever thread makes a record
    if (refuses_) return;
    buffers_.push_back(std::make_unique<uint64_t[]>(bytes_ / 8));
    *buffer = reinterpret_cast<uint8_t*>(buffers_.back().get());
    *size = bytes_;
  }
  static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++delivered_;
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records_.push_back(record);
  }

  std::vector<CUpti_ActivityKind> kinds_;
  static inline std::mutex mutex_;  // guards the rest
  static inline size_t bytes_ = 0, delivered_ = 0;
  static inline bool refuses_ = false;
  static inline std::vector<std::unique_ptr<uint64_t[]>> buffers_;
  static inline std::vector<const CUpti_Activity*> records_;
};

// A kernel of the driver API, from PTX text.
inline CUfunction empty_kernel() {
  static CUfunction function = [] {
    const char* const text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty_kernel()\n{\n  ret;\n}\n";
    CUmodule module = nullptr;
    CUfunction made = nullptr;
    cudaFree(nullptr);
    cuModuleLoadData(&module, text);
    cuModuleGetFunction(&made, module, "empty_kernel");
    return made;
  }();
  return function;
}

inline CUresult launch(cudaStream_t stream = nullptr, unsigned blocks = 4, unsigned threads = 64) {
  return cuLaunchKernel(empty_kernel(), blocks, 1, 1, threads, 1, 1, 0, stream, nullptr, nullptr);
}

}  // namespace maya::test
