// Reads trace files: a stream of packets with absolute times. Every byte of the input is treated as hostile: lengths
// are checked before use, limits bound memory, and nothing read here can crash the reader. Damage inside a chunk ends
// that chunk; reading goes on at the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace_proto/maya_trace.pb.h"

namespace maya::trace {

struct Limits {
  static constexpr size_t kPacket_bytes = 16 << 20;
  static constexpr size_t kChunk_bytes = 1 << 20;
  static constexpr size_t kInflated_bytes = 32 << 20;  // of one packed packet
  static constexpr int kNesting = 16;
};

// One packet. Valid until the next call of Reader::next().
struct PacketView {
  uint64_t offset = 0;     // in the file, of the packet's tag; of the packed packet that holds it, when packed
  uint64_t time_ns = 0;    // absolute, CLOCK_MONOTONIC of the traced process
  uint32_t process = 0;    // 0-based; grows by one where the file of another process begins (concatenated files)
  uint32_t thread = 0;     // small id of the host thread
  uint32_t launch = 0;     // id of a LaunchConfiguration, 0 when this is no launch
  uint32_t operation = 0;  // id of an OperationDescriptor, 0 when this is no library operation
  uint32_t stream = 0;
  uint64_t own_ns = 0;
  uint64_t wait_ns = 0;
  uint64_t measured_ns = 0;        // 0: not measured
  uint64_t call_ns = 0;            // 0: not measured
  uint64_t delay_ns = 0;           // for which the thread waited for a processor since its packet before
  int64_t start_ns = 0;            // of the work on the device, after the call's entry, where measured_ns is not 0
  uint32_t group = 0;              // number of the outermost ncclGroup; 0: outside of any
  const uint8_t* bytes = nullptr;  // the encoded Packet
  size_t size = 0;
  // The kind; null when the packet is a launch or an operation alone. `delta_ns` and the fields above are set in it
  // too.
  const proto::Packet* message = nullptr;
};

enum class ReadStatus {
  kOk,           // packets can be read
  kMissing,      // no such file, or not readable
  kEmpty,        // no byte in it
  kForeign,      // not a Maya trace
  kDamaged,      // damaged before the first whole packet
  kNewerFormat,  // written by a newer Maya
};

// Damage: where the first unusable byte is and why.
struct Damage {
  uint64_t offset;
  std::string reason;
};

class Reader {
 public:
  // Never null; see status().
  static std::unique_ptr<Reader> open(const std::string& path);
  // Reads `size` bytes at `data`, which must outlive the reader.
  static std::unique_ptr<Reader> from_memory(const void* data, size_t size);
  ~Reader();

  ReadStatus status() const;
  // One line for a person: what is wrong and, where that helps, at which offset. Empty while status() is kOk.
  const std::string& error() const;

  // Next packet; false at the end, or when status() is no longer kOk (a newer format found on the way). Padding is
  // skipped; chunk headers are given (as message) for those who want them.
  bool next(PacketView* packet);

  // Known after next() has returned false.
  // Every process in the file ended in order: its ProcessEnd is there and no chunk was left unfinished or damaged.
  bool complete() const;
  const std::vector<Damage>& damage() const;  // at most 100 kept
  uint64_t damage_count() const;
  uint64_t packets() const;  // packets given out so far, chunk headers included
  uint64_t chunks() const;
  uint64_t unfinished_chunks() const;
  uint64_t padding_bytes() const;
  uint64_t file_bytes() const;
  bool packed() const;  // at least one packed packet was met

 private:
  struct Impl;
  explicit Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace maya::trace
