#include "driver_shim/cuda/transfer.h"
#include "driver_shim/cuda/graph_memory.h"

#include <cstring>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/unknown_reads.h"
#include "driver_shim/cuda/volume.h"
#include "predictor/core/estimate.h"
#include "trace_proto/writer.h"

namespace maya::cuda {

bool is_pageable(const device::Memory& memory, const Place& place) {
  device::Allocation found;
  return !place.on_device && !memory.find(place.address, &found);
}

bool is_accessible(const device::Memory& memory, const Place& place, uint64_t bytes) {
  if (bytes == 0) return true;
  if (place.on_device) return bytes <= memory.bytes_to_end(place.address) || is_graph_memory(place.address);
  if (place.address == 0 || place.address > UINT64_MAX - bytes) return false;
  return !memory.in_device_range(place.address) && !memory.in_device_range(place.address + bytes - 1);
}

bool is_device_accessible(const device::Memory& memory, CUdeviceptr address, uint64_t bytes) {
  // Memory of graphs has nothing behind it before their first launch; graphs being made refer to it already.
  return bytes == 0 || bytes <= memory.bytes_to_end(address) || is_graph_memory(address);
}

CUresult move_bytes(device::Memory& memory, const Place& destination, const Place& source, uint64_t bytes) {
  device::MemoryStatus status = device::MemoryStatus::kOk;
  if (destination.on_device && source.on_device)
    status = memory.copy(destination.address, source.address, bytes);
  else if (destination.on_device)
    status = memory.write(destination.address, reinterpret_cast<const void*>(source.address), bytes);
  else if (source.on_device && bytes <= kMostDeciding_bytes) {
    uint8_t known[kMostDeciding_bytes];
    status = memory.read(reinterpret_cast<void*>(destination.address), known, source.address, bytes);
    if (status == device::MemoryStatus::kOk && std::memchr(known, 0, bytes) != nullptr) note_unknown_read();
  } else if (source.on_device) {
    status = memory.read(reinterpret_cast<void*>(destination.address), source.address, bytes);
  } else {
    std::memmove(reinterpret_cast<void*>(destination.address), reinterpret_cast<const void*>(source.address), bytes);
  }
  return memory_result(status);
}

CopyWork describe_copy(Driver& driver, const Place& destination, const Place& source, uint64_t bytes) {
  CopyWork work;
  work.bytes = bytes;
  if (destination.on_device && source.on_device) {
    work.kind = CopyKind::kDeviceToDevice;
    if (driver.device_count() == 1) return work;
    device::Allocation to, from;
    if (driver.memory().find(destination.address, &to) && driver.memory().find(source.address, &from) &&
        to.device != from.device) {
      work.kind = CopyKind::kPeer;
      work.source_device = from.device;
      work.destination_device = to.device;
    }
    return work;
  }
  if (destination.on_device)
    work.kind = CopyKind::kHostToDevice;
  else if (source.on_device)
    work.kind = CopyKind::kDeviceToHost;
  work.pageable = is_pageable(driver.memory(), destination) || is_pageable(driver.memory(), source);
  return work;
}

void account_copy(Driver& driver, Stream& stream, const CopyWork& work, bool asynchronous, uint64_t entry_ns,
                  uint64_t own_ns) {
  const int kind = static_cast<int>(work.kind);
  const Estimate estimate = driver.estimator(stream.context()->device).estimate_copy(kind, work.bytes, work.pageable);
  const uint64_t end_ns = stream.enqueue(driver.to_virtual_ns(entry_ns), static_cast<uint64_t>(estimate.median_ns), 0);
  if (work.kind == CopyKind::kHostToDevice || work.kind == CopyKind::kDeviceToHost)
    driver.count_host_copy(stream.context()->device, work.kind == CopyKind::kDeviceToHost, work.bytes);
  // Pageable device-to-host copies return when done in both forms; from pageable memory, the Async form returns once
  // the data is staged; between host addresses copies are synchronous; between device addresses no form waits.
  bool waits = false;
  switch (work.kind) {
    case CopyKind::kHostToHost:
      waits = true;
      break;
    case CopyKind::kHostToDevice:
      waits = !asynchronous;
      break;
    case CopyKind::kDeviceToHost:
      waits = !asynchronous || work.pageable;
      break;
    case CopyKind::kDeviceToDevice:
    case CopyKind::kPeer:
      break;
  }
  if (waits) own_ns += PendingWork::wait_stream(stream);
  if (Profiler::attached()) [[unlikely]]
    Profiler::tell_copy({driver, *stream.context(), stream.id(), end_ns, static_cast<uint64_t>(estimate.median_ns),
                         entry_ns, 0, 0, stream.priority()},
                        work, asynchronous);
  const uint64_t waited_ns = waits ? driver.wait_until(end_ns, &own_ns) : 0;
  Recorder::get().copy(kind, work.bytes, !waits, work.pageable, work.rows, stream.id(), entry_ns, own_ns, waited_ns);
}

namespace {

// Memory of a pool on another device can be used from the stream's only where the pool was opened to it.
bool may_use(Driver& driver, const Stream& stream, const Place& place) {
  device::Allocation found;
  const int device = stream.context()->device;
  return !place.on_device || !driver.memory().find(place.address, &found) || found.device == device ||
         pool_lets_in(device, place.address);
}

}  // namespace

CUresult copy_linear(Driver& driver, Stream& stream, const Place& destination, const Place& source, uint64_t bytes,
                     bool asynchronous, bool between_peers) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (stream.capture() != nullptr)
    return capture_volume(driver.memory(), stream, {destination, bytes, 1}, {source, bytes, 1}, {bytes, 1, 1},
                          asynchronous);
  const uint64_t entry_ns = trace::now_ns();
  device::Memory& memory = driver.memory();
  // Device ranges are checked as they are used.
  if ((!destination.on_device && !is_accessible(memory, destination, bytes)) ||
      (!source.on_device && !is_accessible(memory, source, bytes)))
    return CUDA_ERROR_INVALID_VALUE;
  if (driver.device_count() > 1 && !between_peers &&
      !(may_use(driver, stream, destination) && may_use(driver, stream, source)))
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = move_bytes(memory, destination, source, bytes); status != CUDA_SUCCESS) return status;
  const CopyWork work = describe_copy(driver, destination, source, bytes);
  account_copy(driver, stream, work, asynchronous, entry_ns, trace::now_ns() - entry_ns);
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
