// The activity records that this library fills: the newest version of each in the CUPTI headers that it is built with.
// Every version of a record begins with the fields of the one before.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include "driver_shim/cupti/cupti_headers.h"

#include <cstddef>
#include <cstdint>

namespace maya::cupti {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel11;
using CopyRecord = CUpti_ActivityMemcpy6;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using FillRecord = CUpti_ActivityMemset4;
using MemoryRecord = CUpti_ActivityMemory4;
using SynchronizationRecord = CUpti_ActivitySynchronization2;
using EventRecord = CUpti_ActivityCudaEvent2;
using ContextRecord = CUpti_ActivityContext4;
using MarkerRecord = CUpti_ActivityMarker2;
using GraphRecord = CUpti_ActivityGraphTrace2;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using FillRecord = CUpti_ActivityMemset4;
using MemoryRecord = CUpti_ActivityMemory4;
using SynchronizationRecord = CUpti_ActivitySynchronization2;
using EventRecord = CUpti_ActivityCudaEvent2;
using ContextRecord = CUpti_ActivityContext3;
using MarkerRecord = CUpti_ActivityMarker2;
using GraphRecord = CUpti_ActivityGraphTrace2;
#endif
using ApiRecord = CUpti_ActivityAPI;
using StreamRecord = CUpti_ActivityStream;
using CorrelationRecord = CUpti_ActivityExternalCorrelation;

// Activity kinds are numbered below this.
inline constexpr uint32_t kKindCount = 64;

// Bytes of a record of `kind`, a multiple of its alignment; 0: no such record is ever made here.
size_t record_bytes(CUpti_ActivityKind kind);

// Applies `convert(uint64_t*)` to the times of a record that are of the host clock until its buffer is delivered.
template <typename Convert>
void convert_times(CUpti_Activity* record, Convert&& convert) {
  const auto both = [&](auto* typed) {
    uint64_t start = typed->start, end = typed->end;  // packed structures: no references
    convert(&start);
    convert(&end);
    typed->start = start;
    typed->end = end;
  };
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      auto* kernel = reinterpret_cast<KernelRecord*>(record);
      both(kernel);
      kernel->completed = kernel->end;
      uint64_t queued = kernel->queued;
      if (queued != CUPTI_TIMESTAMP_UNKNOWN) {
        convert(&queued);
        kernel->queued = kernel->submitted = queued;
      }
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      both(reinterpret_cast<CopyRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      both(reinterpret_cast<PeerCopyRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      both(reinterpret_cast<FillRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      both(reinterpret_cast<GraphRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      both(reinterpret_cast<SynchronizationRecord*>(record));
      break;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
      auto* event = reinterpret_cast<EventRecord*>(record);
      uint64_t time = event->deviceTimestamp;
      if (time != 0) convert(&time);
      event->deviceTimestamp = time;
      break;
    }
    default:
      break;
  }
}

}  // namespace maya::cupti
