#include "driver_shim/cupti/buffers.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "driver_shim/cupti/clock.h"

namespace maya::cupti {
namespace {

constexpr size_t kAlignment_bytes = 8;  // CUpti_Activity: ACTIVITY_RECORD_ALIGNMENT

}  // namespace

Buffers& Buffers::get() {
  static Buffers& made = *new Buffers;
  return made;
}

void Buffers::register_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  std::lock_guard<std::mutex> lock(mutex_);
  request_ = request;
  complete_ = complete;
}

bool Buffers::has_callbacks() {
  std::lock_guard<std::mutex> lock(mutex_);
  return request_ != nullptr;
}

bool Buffers::request(Buffer* made) noexcept {
  CUpti_BuffersCallbackRequestFunc ask = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ask = request_;
  }
  if (ask == nullptr) return false;
  *made = {};
  ask(&made->data, &made->bytes, &made->most_records);
  if (made->data == nullptr || made->bytes == 0) return false;
  if (reinterpret_cast<uintptr_t>(made->data) % kAlignment_bytes == 0) return true;
  // Records cannot lie in a buffer that is not aligned.
  deliver(*made);
  return false;
}

bool Buffers::append(const void* record, size_t bytes, uint64_t complete_ns) noexcept {
  if (active_.data == nullptr || !active_.has_room_for(bytes)) return false;
  std::memcpy(active_.data + active_.used, record, bytes);
  active_.used += bytes;
  ++active_.records;
  active_.complete_ns = std::max(active_.complete_ns, complete_ns);
  return true;
}

void Buffers::add_bytes(const void* record, size_t bytes, uint64_t complete_ns) noexcept {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (append(record, bytes, complete_ns)) return;
  }
  // Asked for without the lock: it is the profiler's code. Threads that find the buffer full at the same time bring one
  // each, and put their record into their own before anybody else can fill it.
  Buffer made;
  const bool got_one = request(&made);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!got_one) {
    ++dropped_;
    return;
  }
  try {
    if (active_.data != nullptr) full_.push_back(active_);
  } catch (const std::bad_alloc&) {
    dropped_ += active_.records;
  }
  active_ = made;
  // A new buffer in which not even one record has room is of no use.
  if (!append(record, bytes, complete_ns)) ++dropped_;
}

void Buffers::deliver(Buffer& buffer) noexcept {
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    complete = complete_;
  }
  if (complete == nullptr) return;
  const Conversion convert;
  for (size_t at = 0; at < buffer.used;) {
    auto* const record = reinterpret_cast<CUpti_Activity*>(buffer.data + at);
    convert_times(record, [&](uint64_t* time) { *time = convert(*time); });
    at += record_bytes(record->kind);
  }
  complete(nullptr, 0, buffer.data, buffer.bytes, buffer.used);
}

void Buffers::flush(bool forced) {
  const uint64_t now_ns = host_now_ns();
  for (;;) {
    Buffer ready;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      last_flush_ns_ = now_ns;
      const auto is_complete = [&](const Buffer& buffer) { return forced || buffer.complete_ns <= now_ns; };
      const auto found = std::find_if(full_.begin(), full_.end(), is_complete);
      if (found != full_.end()) {
        ready = *found;
        full_.erase(found);
      } else if (active_.data != nullptr && is_complete(active_) && (forced || active_.used != 0)) {
        ready = active_;
        active_ = {};
      } else {
        return;
      }
    }
    deliver(ready);
  }
}

void Buffers::deliver_ready() {
  Buffer ready;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (full_.empty() && period_ns_ == 0) return;
  }
  const uint64_t now_ns = host_now_ns();
  bool flush_all = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    flush_all = period_ns_ != 0 && now_ns - last_flush_ns_ >= period_ns_;
    if (!flush_all) {
      if (full_.empty() || full_.front().complete_ns > now_ns) return;
      ready = full_.front();
      full_.pop_front();
    }
  }
  if (flush_all)
    flush(false);
  else
    deliver(ready);
}

size_t Buffers::take_dropped() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(dropped_, 0);
}

void Buffers::set_flush_period(uint32_t milliseconds) {
  const uint64_t now_ns = host_now_ns();
  std::lock_guard<std::mutex> lock(mutex_);
  period_ns_ = uint64_t{milliseconds} * 1'000'000;
  last_flush_ns_ = now_ns;
}

}  // namespace maya::cupti
