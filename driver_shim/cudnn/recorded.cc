#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {

cudnnStatus_t run(cudnnHandle_t handle, OperationRecord record, std::initializer_list<Operand> reads,
                  std::initializer_list<Operand> written, const shim::WriteList* also) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  shim::WriteList writes;
  uint64_t read_bytes = 0, written_bytes = 0;
  for (const Operand& operand : reads) {
    if (operand.address == nullptr) continue;
    if (operand.tensor == nullptr) return null_pointer();
    read_bytes += operand.tensor->bytes();
  }
  for (const Operand& operand : written) {
    if (operand.address == nullptr) continue;
    if (operand.tensor == nullptr) return null_pointer();
    written_bytes += operand.tensor->bytes();
    writes.add(operand.address, operand.tensor->span_bytes());
  }
  if (also != nullptr) writes.append(*also);
  record.set(Key::kReadBytes, read_bytes).set(Key::kWrittenBytes, written_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

}  // namespace maya::cudnn
