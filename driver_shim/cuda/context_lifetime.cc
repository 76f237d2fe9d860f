// Contexts coming to life and ending: creation, destruction, and the primary contexts' reference counts.
#include <string>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

// By CUlimit: stack, printf, heap, synchronisation depth, pending launches, L2 fetch granularity, persisting L2.
// Defaults of the CUDA programming guide ("Dynamic Parallelism", "Formatted Output", "Dynamic Global Memory
// Allocation") and public deviceQuery-like outputs.
constexpr uint64_t kDefaultLimits[Context::kLimitCount] = {1024, 7 << 20, 8 << 20, 2, 2048, 64, 0};

using ContextHook = void (*)(Driver&, Context&);

std::vector<ContextHook>& context_hooks() {
  static std::vector<ContextHook>& hooks = *new std::vector<ContextHook>;
  return hooks;
}

}  // namespace

void add_context_hook(void (*release)(Driver& driver, Context& context)) { context_hooks().push_back(release); }

CUresult Driver::live_context(CUcontext handle, Context** out) {
  Context* found = contexts_.get(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!found->alive.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *out = found;
  return CUDA_SUCCESS;
}

// Called with lifetime_mutex_ held, as end_life is.
CUresult Driver::bring_to_life(Context& context) {
  Recorder::get().start(*this);
  const uint64_t bytes = profile(context.device).context_bytes;
  const auto ordinal = static_cast<size_t>(context.device);
  if (live_contexts_[ordinal] == 0) {
    if (memory_->charge(context.device, device::Layer::kContext, bytes) != device::MemoryStatus::kOk) {
      const std::vector<uint64_t> largest = memory_->largest_allocations(context.device, 8);
      Recorder::get().allocation_failure("cuCtxCreate", context.device, bytes, memory_->use(context.device),
                                         largest.data(), static_cast<int>(largest.size()));
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Recorder::get().allocation(layer_charge(context.device, device::Layer::kContext, bytes));
  }
  if (const auto machine = static_cast<uint32_t>(machine_device(context.device)); machine < use_->devices)
    context.busy_ns = &use_->device[machine].busy_ns;
  // The trace's stream 0 is the legacy default stream of device 0; every other one gets an id of its own.
  const bool first_of_all = context.device == 0 && context.id == 1;
  const uint32_t id = first_of_all ? 0 : next_stream_id_.fetch_add(1, std::memory_order_relaxed);
  Stream* legacy = streams_.create(&context, id, uint32_t{CU_STREAM_DEFAULT}, 0, true);
  if (legacy == nullptr) {
    if (live_contexts_[ordinal] == 0) memory_->release(context.device, device::Layer::kContext, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++live_contexts_[ordinal];
  Recorder::get().stream(id, static_cast<uint32_t>(context.device), CU_STREAM_DEFAULT, 0, false);
  context.sticky_error.store(0, std::memory_order_relaxed);
  context.usage.store(1, std::memory_order_relaxed);
  context.cache_config.store(CU_FUNC_CACHE_PREFER_NONE, std::memory_order_relaxed);
  for (int i = 0; i < Context::kLimitCount; ++i) context.limits[i].store(kDefaultLimits[i], std::memory_order_relaxed);
  context.default_stream.store(legacy, std::memory_order_release);
  context.alive.store(true, std::memory_order_release);
  Profiler::tell_context(ResourceKind::kContextCreated, context);
  return CUDA_SUCCESS;
}

CUresult Driver::end_life(Context& context) {
  if (!context.alive.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  Profiler::tell_context(ResourceKind::kContextDestroyStarting, context);
  if (!context.alive.exchange(false, std::memory_order_acq_rel)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  for (const ContextHook hook : context_hooks()) hook(*this, context);
  context.default_stream.store(nullptr, std::memory_order_release);
  streams_.for_each([&](Stream* stream) {
    if (stream->context() == &context) streams_.destroy(stream);
  });
  events_.for_each([&](Event* event) {
    if (event->context == &context) events_.destroy(event);
  });
  {
    std::lock_guard<std::mutex> lock(peer_mutex_);
    std::erase_if(peer_access_,
                  [&](const auto& pair) { return pair.first == context.id || pair.second == context.id; });
  }
  if (--live_contexts_[static_cast<size_t>(context.device)] != 0) return CUDA_SUCCESS;
  const uint64_t bytes = profile(context.device).context_bytes;
  memory_->release(context.device, device::Layer::kContext, bytes);
  Recorder::get().free(layer_charge(context.device, device::Layer::kContext, bytes));
  return CUDA_SUCCESS;
}

CUresult Driver::create_context(int ordinal, uint32_t flags, Context** out) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  Context* made = contexts_.create(ordinal, flags, false, next_context_id_.fetch_add(1, std::memory_order_relaxed));
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  made->api_version = kContextApiVersion;
  if (const CUresult status = bring_to_life(*made); status != CUDA_SUCCESS) return status;
  *out = made;
  return CUDA_SUCCESS;
}

CUresult Driver::create_part(Context& primary, Context** out) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  Context* made = contexts_.create(primary.device, primary.flags.load(std::memory_order_relaxed), false,
                                   next_context_id_.fetch_add(1, std::memory_order_relaxed));
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  made->api_version = kContextApiVersion;
  made->root = &primary;
  if (const CUresult status = bring_to_life(*made); status != CUDA_SUCCESS) return status;
  *out = made;
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_part(Context& part) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  if (!part.alive.exchange(false, std::memory_order_acq_rel)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  // Documented for every later use of its streams but their destruction.
  part.sticky_error.store(CUDA_ERROR_STREAM_DETACHED, std::memory_order_relaxed);
  --live_contexts_[static_cast<size_t>(part.device)];
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_context(Context& context) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  return end_life(context);
}

CUresult Driver::retain_primary(int ordinal, Context** out) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  Primary& primary = primaries_[static_cast<size_t>(ordinal)];
  if (primary.context == nullptr) {
    primary.context =
        contexts_.create(ordinal, primary.flags, true, next_context_id_.fetch_add(1, std::memory_order_relaxed));
    if (primary.context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    primary.context->api_version = kContextApiVersion;
  }
  if (!primary.context->alive.load(std::memory_order_acquire)) {
    primary.context->flags.store(primary.flags, std::memory_order_relaxed);
    if (const CUresult status = bring_to_life(*primary.context); status != CUDA_SUCCESS) return status;
  }
  ++primary.references;
  *out = primary.context;
  return CUDA_SUCCESS;
}

CUresult Driver::release_primary(int ordinal) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  Primary& primary = primaries_[static_cast<size_t>(ordinal)];
  if (primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.references == 0) end_life(*primary.context);
  return CUDA_SUCCESS;
}

CUresult Driver::reset_primary(int ordinal) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  const Primary& primary = primaries_[static_cast<size_t>(ordinal)];
  if (primary.context != nullptr) end_life(*primary.context);
  return CUDA_SUCCESS;
}

CUresult Driver::primary_state(int ordinal, uint32_t* flags, bool* active) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  const Primary& primary = primaries_[static_cast<size_t>(ordinal)];
  *active = primary.context != nullptr && primary.context->alive.load(std::memory_order_acquire);
  *flags = primary.flags;
  return CUDA_SUCCESS;
}

CUresult Driver::set_primary_flags(int ordinal, uint32_t flags) {
  std::lock_guard<std::mutex> lock(lifetime_mutex_);
  Primary& primary = primaries_[static_cast<size_t>(ordinal)];
  primary.flags = flags;
  if (primary.context != nullptr) primary.context->flags.store(flags, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
