// How long a thread waited for a processor.
#include <fcntl.h>
#include <unistd.h>

#include "trace_proto/writer_impl.h"

namespace maya::trace {

// No descriptor is kept: programs close those that they do not know, and the number would be another file's.
uint64_t delays_so_far() {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[64];
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  ssize_t at = 0;
  while (at < length && text[at] != ' ') ++at;
  uint64_t delays_ns = 0;
  for (++at; at < length && text[at] >= '0' && text[at] <= '9'; ++at)
    delays_ns = delays_ns * 10 + static_cast<uint64_t>(text[at] - '0');
  return delays_ns;
}

}  // namespace maya::trace
