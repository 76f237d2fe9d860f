#include "virtual_device/stream.h"

#include "virtual_device/context.h"

namespace maya::device {
Stream::Stream(Context* context, uint32_t id, uint32_t flags, int priority, bool default_stream)
    : context_(context),
      busy_ns_(context->busy_ns),
      id_(id),
      flags_(flags),
      priority_(priority),
      default_stream_(default_stream),
      clock_(default_stream ? &context->legacy_ready_ns : &ready_ns_),
      group_(default_stream  ? nullptr
             : is_blocking() ? &context->blocking
                             : &context->non_blocking),
      orders_after_group_(default_stream ? &context->blocking : nullptr),
      orders_after_(is_blocking() ? &context->legacy_ready_ns : clock_) {
  if (group_ != nullptr) group_->add(clock_);
}

Stream::~Stream() {
  if (group_ != nullptr) group_->remove(clock_);
}

}  // namespace maya::device
