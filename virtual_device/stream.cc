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
             : is_blocking() ? &context->blocking_ready_ns
                             : &context->non_blocking_ready_ns),
      orders_after_(default_stream  ? &context->blocking_ready_ns
                    : is_blocking() ? &context->legacy_ready_ns
                                    : clock_) {}

}  // namespace maya::device
