// Writes one process's trace: per-thread chunks inside one memory-mapped file, no third-party dependency, no locks and
// no system calls on the hot path except when a chunk is full or, with records_delays, after a pause. Killing the
// process at any instant leaves a readable file: of each thread at most the record in flight is lost. After fork the
// child writes nothing. When the file cannot grow (disk full, file size limit) the program goes on unchanged, one
// warning line is printed, and the records lost are counted.
//
// File security: O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode 0600.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trace_proto/clock.h"
#include "trace_proto/encoder.h"
#include "trace_proto/writer_slot.h"

namespace maya::trace {

// All threads of the process have passed a full memory barrier when this returns. Where the kernel lacks the call,
// waiting long enough for every store buffer to drain does the same.
void barrier_in_all_threads();

class Writer {
 public:
  struct Options {
    std::string directory;  // created when missing (one level)
    std::string base_name;  // "<program>-<pid>[-rank<R>]": ".pb" is appended, "-2", "-3"... when the name is taken
    uint64_t chunk_bytes = 64 << 10;  // rounded up to a power of two from 32 KiB to 1 MiB
    bool records_delays = false;      // delay_ns of packets (FORMAT.md, "Time")
  };
  // Null when the file cannot be created; *error is then one line that names the path and the reason.
  static std::unique_ptr<Writer> create(const Options& options, std::string* error);
  ~Writer();  // finishes the file as finish() does, unless this is a forked child

  // Hot path: one launch by the calling thread. Ids are 1 and above.
  [[gnu::always_inline]] void launch(uint32_t configuration, uint32_t stream, uint64_t time_ns) {
    if (!write_two_fields(*head_, kLaunchTag, configuration, stream, time_ns)) [[unlikely]]
      launch_slow(configuration, stream, time_ns);
  }
  // Hot path: one library operation.
  void operation(uint32_t operation, uint32_t stream, uint64_t time_ns);
  // Any other packet: `fields` are encoded Packet fields except delta_ns, which the writer adds. One that does not fit
  // a chunk is lost. A field 10 (ProcessEnd) in front may use the room kept for it when the file is full. Ids interned
  // by one thread may be used by another before the definition's packet comes in the file: readers resolve after
  // reading all.
  void packet(const Encoder& fields, uint64_t time_ns);
  void packet(const uint8_t* fields, size_t bytes, uint64_t time_ns);

  // The time until now is none of the program's: delays of the calling thread in it are not recorded with what follows.
  void pass_over_delays();

  // Pads open chunks, cuts the file to its used length, closes. Later calls write nothing. Safe from atexit handlers
  // and static destructors.
  void finish();
  // To be called in a forked child: the child writes nothing from here on and leaves the parent's file alone.
  void abandon();

  const std::string& path() const;
  uint64_t packets_lost() const;

 private:
  struct Impl;
  explicit Writer(std::unique_ptr<Impl> impl);
  void launch_slow(uint32_t configuration, uint32_t stream, uint64_t time_ns);
  std::unique_ptr<Impl> impl_;
  const WriterHead* const head_;  // impl_'s
};

}  // namespace maya::trace
