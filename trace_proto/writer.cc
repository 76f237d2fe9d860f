#include "trace_proto/writer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "trace_proto/writer_impl.h"

namespace maya::trace {

// Whatever may be the case: the thread's first record, a full chunk, a pause, a writer that has stopped.
void Writer::Impl::write_two_fields_slow(uint8_t tag_byte, uint32_t record_id, uint32_t stream, uint64_t time_ns) {
  Slot* own = slot();
  if (own == nullptr || !enter(own, false)) return;
  uint8_t fields[kHotRecord_bytes];
  fields[0] = tag_byte;
  uint8_t* end = put_varint(fields + 1, record_id);
  if (stream != 0) {
    *end++ = kStreamTag;
    end = put_varint(end, stream);
  }
  write_record(own, fields, static_cast<size_t>(end - fields), time_ns, false);
  leave(own);
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), head_(impl_.get()) {}

std::unique_ptr<Writer> Writer::create(const Options& options, std::string* error) {
  now_ns();  // decides on the clock here, not in the first recorded call
  std::unique_ptr<Impl> impl(new Impl);
  if (!impl->start(options, error)) return nullptr;
  impl->enlist();
  return std::unique_ptr<Writer>(new Writer(std::move(impl)));
}

Writer::~Writer() {
  finish();
  impl_->delist();
}

void Writer::launch_slow(uint32_t configuration, uint32_t stream, uint64_t time_ns) {
  impl_->write_two_fields_slow(kLaunchTag, configuration, stream, time_ns);
}

void Writer::operation(uint32_t operation, uint32_t stream, uint64_t time_ns) {
  if (!write_two_fields(*head_, kOperationTag, operation, stream, time_ns))
    impl_->write_two_fields_slow(kOperationTag, operation, stream, time_ns);
}

void Writer::packet(const Encoder& fields, uint64_t time_ns) { packet(fields.data(), fields.size(), time_ns); }

void Writer::packet(const uint8_t* fields, size_t bytes, uint64_t time_ns) {
  Slot* own = impl_->slot();
  const bool is_end = bytes > 0 && fields[0] == kEndTag;
  if (own == nullptr || !impl_->enter(own, is_end)) return;
  impl_->write_record(own, fields, bytes, time_ns, is_end);
  impl_->leave(own);
}

// With the slot entered.
void Writer::Impl::write_record(Slot* own, const uint8_t* fields, size_t bytes, uint64_t time_ns, bool is_end) {
  const size_t needed = bytes + kRecordFrame_bytes + kLeastPadding_bytes;
  uint64_t delta_ns = time_ns > own->last_ns ? time_ns - own->last_ns : 0;
  uint64_t delay_ns = 0;
  if (records_delays && delta_ns > kLookForDelays_ns) {
    const uint64_t delayed_ns = delays_so_far();
    delay_ns = std::min(delta_ns, delayed_ns - own->delayed_ns);
    own->delayed_ns = delayed_ns;
  }
  if (own->position == nullptr || own->room() < needed || delta_ns > kMostDelta_ns) {
    if (!make_room(own, needed, time_ns, is_end)) return;
    delta_ns = time_ns > own->last_ns ? time_ns - own->last_ns : 0;
  }
  uint8_t frame[18];
  uint8_t* frame_end = delta_ns == 0 ? frame : put_delta(frame, delta_ns);
  if (delay_ns != 0) {
    frame_end = put_varint(frame_end, fields::Packet::kDelayNs << 3);
    frame_end = put_varint(frame_end, delay_ns);
  }
  const auto frame_bytes = static_cast<size_t>(frame_end - frame);
  uint8_t* tag = own->position;
  uint8_t* out = put_varint(tag + 1, bytes + frame_bytes);
  std::memcpy(out, fields, bytes);
  std::memcpy(out + bytes, frame, frame_bytes);
  publish(tag);
  own->position = out + bytes + frame_bytes;
  own->last_ns += delta_ns;
}

void Writer::pass_over_delays() {
  if (!impl_->records_delays) return;
  if (Slot* own = impl_->slot(); own != nullptr) own->delayed_ns = delays_so_far();
}

void Writer::finish() {
  uint32_t now = impl_->state.load(std::memory_order_acquire);
  while (now == kRunning || now == kFull) {
    if (impl_->state.compare_exchange_weak(now, kFinished, std::memory_order_acq_rel)) {
      impl_->close_all();
      return;
    }
  }
}

void Writer::abandon() {
  impl_->state.store(kAbandoned, std::memory_order_release);
  impl_->file.close();
}

const std::string& Writer::path() const { return impl_->file.path(); }

uint64_t Writer::packets_lost() const { return impl_->lost.load(std::memory_order_relaxed); }

}  // namespace maya::trace
