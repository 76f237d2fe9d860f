#include "driver_shim/cudnn/modelled_time.h"

#include "driver_shim/common/driver_access.h"

namespace maya::cudnn {
namespace {

// An event of the current context for the length of one measurement.
class Event {
 public:
  Event() {
    const auto create = MAYA_DRIVER(cuEventCreate);
    result_ = create == nullptr ? CUDA_ERROR_NOT_INITIALIZED : create(&event_, CU_EVENT_DEFAULT);
  }
  ~Event() {
    const auto destroy = MAYA_DRIVER(cuEventDestroy_v2);
    if (result_ == CUDA_SUCCESS && destroy != nullptr) destroy(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUresult record(CUstream stream) const {
    const auto record = MAYA_DRIVER(cuEventRecord);
    return result_ != CUDA_SUCCESS ? result_ : record == nullptr ? CUDA_ERROR_NOT_INITIALIZED : record(event_, stream);
  }
  CUevent get() const { return event_; }

 private:
  CUevent event_ = nullptr;
  CUresult result_;
};

}  // namespace

cudnnStatus_t measure(cudnnHandle_t handle, const OperationRecord& record, const shim::WriteList& writes,
                      float* milliseconds) {
  const auto synchronize = MAYA_DRIVER(cuEventSynchronize);
  const auto elapsed = MAYA_DRIVER(cuEventElapsedTime);
  if (synchronize == nullptr || elapsed == nullptr) return status_of(CUDA_ERROR_NOT_INITIALIZED);
  const Event start, end;
  CUresult result = start.record(handle->cu_stream());
  if (result == CUDA_SUCCESS) result = shim::record(handle->cu_stream(), record, writes);
  if (result == CUDA_SUCCESS) result = end.record(handle->cu_stream());
  if (result == CUDA_SUCCESS) result = synchronize(end.get());
  if (result == CUDA_SUCCESS) result = elapsed(milliseconds, start.get(), end.get());
  return status_of(result);
}

}  // namespace maya::cudnn
