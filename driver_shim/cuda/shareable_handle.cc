#include "driver_shim/cuda/shareable_handle.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace maya::cuda {

uint64_t this_process() { return static_cast<uint64_t>(getpid()); }

CUresult export_to_descriptor(uint64_t handle, uint64_t bytes, int device, int* descriptor) {
  SharedMemoryTicket ticket;
  ticket.kind = SharedMemoryTicket::kPhysical;
  ticket.process = this_process();
  ticket.object = handle;
  ticket.bytes = bytes;
  ticket.device = device;
  const int fd = memfd_create("maya-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (write(fd, &ticket, sizeof(ticket)) != static_cast<ssize_t>(sizeof(ticket)) ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *descriptor = fd;
  return CUDA_SUCCESS;
}

CUresult import_from_descriptor(int descriptor, uint64_t* handle) {
  SharedMemoryTicket ticket;
  if (descriptor < 0 || pread(descriptor, &ticket, sizeof(ticket), 0) != static_cast<ssize_t>(sizeof(ticket)))
    return CUDA_ERROR_INVALID_VALUE;
  if (ticket.magic != SharedMemoryTicket::kMagic || ticket.kind != SharedMemoryTicket::kPhysical)
    return CUDA_ERROR_INVALID_VALUE;
  if (ticket.process != this_process()) return CUDA_ERROR_NOT_SUPPORTED;
  *handle = ticket.object;
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
