#include "predictor/kineto/trace_assembly.h"

#include <algorithm>

#include "trace_proto/maya_trace_fields.h"

namespace maya::predictor::kineto {
namespace {

constexpr size_t kChunk_bytes = 64 << 10;
constexpr size_t kFrame_bytes = 16;  // tag and length of a packet, delta_ns
constexpr uint64_t kMostDelta_ns = 0xffffffff;

class ChunkWriter {
 public:
  void begin(uint32_t thread, uint64_t time_ns) {
    proto::Packet packet;
    proto::ChunkHeader* const header = packet.mutable_chunk();
    header->set_magic(trace::fields::kChunkMagic);
    header->set_thread(thread);
    header->set_sequence(sequence_++);
    header->set_time_ns(time_ns);
    if (thread_sequences_.size() <= thread) thread_sequences_.resize(thread + 1);
    header->set_thread_sequence(thread_sequences_[thread]++);
    chunk_begin_ = bytes_.size();
    thread_ = thread;
    time_ns_ = time_ns;
    append(packet);
  }
  // Begins a new chunk where the packet has no room, or where the time since the last one is too long for its field.
  void put(proto::Packet packet, uint64_t time_ns) {
    const bool full = bytes_.size() - chunk_begin_ + packet.ByteSizeLong() + kFrame_bytes > kChunk_bytes;
    if (full || time_ns - time_ns_ > kMostDelta_ns) begin(thread_, time_ns);
    packet.set_delta_ns(static_cast<uint32_t>(time_ns - time_ns_));
    time_ns_ = time_ns;
    append(packet);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const proto::Packet& packet) {
    proto::Trace one;
    *one.add_packet() = packet;
    one.AppendToString(&bytes_);
  }
  std::string bytes_;
  size_t chunk_begin_ = 0;
  uint32_t thread_ = 0;
  uint64_t time_ns_ = 0;
  uint32_t sequence_ = 0;
  std::vector<uint32_t> thread_sequences_;
};

}  // namespace

proto::Packet* TraceAssembly::add(uint32_t thread, uint64_t time_ns) {
  if (threads_.size() <= thread) threads_.resize(thread + 1);
  return &threads_[thread].emplace_back(Timed{time_ns, {}}).packet;
}

std::string TraceAssembly::finish(const proto::ProcessHeader& header) {
  uint64_t first_ns = ~uint64_t{0}, last_ns = 0;
  for (std::vector<Timed>& calls : threads_) {
    std::stable_sort(calls.begin(), calls.end(), [](const Timed& a, const Timed& b) { return a.time_ns < b.time_ns; });
    if (calls.empty()) continue;
    first_ns = std::min(first_ns, calls.front().time_ns);
    last_ns = std::max(last_ns, calls.back().time_ns);
  }
  first_ns = std::min(first_ns, last_ns);
  ChunkWriter writer;
  writer.begin(0, first_ns);
  proto::Packet process;
  *process.mutable_process() = header;
  writer.put(std::move(process), first_ns);
  for (proto::Packet& definition : definitions_) writer.put(std::move(definition), first_ns);
  for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
    if (threads_[thread].empty()) continue;
    writer.begin(thread, threads_[thread].front().time_ns);
    for (Timed& call : threads_[thread]) writer.put(std::move(call.packet), call.time_ns);
  }
  writer.begin(0, last_ns);
  proto::Packet end;
  end.mutable_end()->set_reason("imported");
  writer.put(std::move(end), last_ns);
  return writer.take();
}

}  // namespace maya::predictor::kineto
