#include "predictor/memory_replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

constexpr size_t kHoldersNamed = 5;
constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

size_t layer_index(int layer) { return layer >= 0 && layer < kMemoryLayers ? static_cast<size_t>(layer) : 0; }

std::string entry_point(proto::Allocation::Kind kind) {
  switch (kind) {
    case proto::Allocation::PHYSICAL:
      return "cuMemCreate";
    case proto::Allocation::STREAM_ORDERED:
    case proto::Allocation::POOL_GROWTH:
      return "cuMemAllocAsync";
    case proto::Allocation::MANAGED:
      return "cuMemAllocManaged";
    default:
      return "cuMemAlloc";
  }
}

class Replay {
 public:
  Replay(const trace::LoadedTrace& trace, const MemoryTarget& target, const OperationNames& names)
      : trace_(trace), target_(target), names_(names) {}

  MemoryReplay run();

 private:
  struct Device {
    LayerBytes layers{};
    std::multiset<uint64_t> holders;
    bool has_context = false;
  };

  uint64_t available() const { return saturating_subtract(result_.capacity_bytes, result_.driver_reserve_bytes); }
  void ensure_context(uint32_t event, uint32_t device);
  void allocate(uint32_t event, const proto::Allocation& allocation);
  void free(uint32_t event, const proto::Free& freed);
  void charge(uint32_t event, uint32_t device, size_t layer, uint64_t bytes, const std::string& call,
              uint64_t requested_bytes);
  void release(uint32_t event, uint32_t device, size_t layer, uint64_t bytes);
  void changed(uint32_t event, uint32_t device);
  void failed_in_run(uint32_t event, const proto::AllocationFailure& failure);
  std::string last_operation(uint32_t event) const;
  void conclude();

  const trace::LoadedTrace& trace_;
  const MemoryTarget& target_;
  const OperationNames& names_;
  MemoryReplay result_;
  std::map<uint32_t, Device> devices_;
  std::optional<MemoryFailure> open_failure_;  // of the traced run, not survived so far
  bool allocated_since_failure_ = false;
  std::optional<MemoryFailure> replayed_failure_;
  uint64_t needed_bytes_ = 0;  // by the failed allocation of the run, with what was held
};

std::string Replay::last_operation(uint32_t event) const {
  const uint32_t thread = trace_.events[event].thread;
  for (uint32_t i = event; i-- > 0;) {
    if (trace_.events[i].thread != thread) continue;
    if (std::string name = names_.name_of(i); !name.empty()) return name;
  }
  return {};
}

void Replay::changed(uint32_t event, uint32_t device) {
  const LayerBytes& layers = devices_[device].layers;
  result_.points.push_back({event, device, layers});
  if (const uint64_t total = sum(layers); total > result_.peak_bytes) {
    result_.peak_bytes = total;
    result_.peak_by_layer = layers;
    result_.peak_device = device;
  }
}

// The context of the target, not of the traced device, is charged: once a device, before anything else on it.
void Replay::ensure_context(uint32_t event, uint32_t device) {
  Device& state = devices_[device];
  if (state.has_context) return;
  state.has_context = true;
  charge(event, device, proto::LAYER_CONTEXT, target_.profile->context_bytes, "cuCtxCreate",
         target_.profile->context_bytes);
}

void Replay::charge(uint32_t event, uint32_t device, size_t layer, uint64_t bytes, const std::string& call,
                    uint64_t requested_bytes) {
  Device& state = devices_[device];
  const uint64_t held = sum(state.layers);
  if (!replayed_failure_ && saturating_add(held, bytes) > available()) {
    MemoryFailure& failure = replayed_failure_.emplace();
    failure.call = call;
    failure.event = event;
    failure.device = device;
    failure.requested_bytes = requested_bytes;
    failure.free_bytes = saturating_subtract(available(), held);
    failure.capacity_bytes = result_.capacity_bytes;
    failure.layers = state.layers;
    failure.replayed = true;
    for (auto holder = state.holders.rbegin();
         holder != state.holders.rend() && failure.largest_holders.size() < kHoldersNamed; ++holder)
      failure.largest_holders.push_back(*holder);
    failure.operation = last_operation(event);
  }
  state.layers[layer] = saturating_add(state.layers[layer], bytes);
  changed(event, device);
}

void Replay::release(uint32_t event, uint32_t device, size_t layer, uint64_t bytes) {
  Device& state = devices_[device];
  state.layers[layer] = saturating_subtract(state.layers[layer], bytes);
  changed(event, device);
}

void Replay::allocate(uint32_t event, const proto::Allocation& allocation) {
  const size_t layer = layer_index(allocation.layer());
  const bool on_device = allocation.charged_bytes() != 0 || allocation.kind() == proto::Allocation::DEVICE;
  if (layer == proto::LAYER_DRIVER || !on_device) return;
  ensure_context(event, allocation.device());
  if (layer == proto::LAYER_CONTEXT) return;
  allocated_since_failure_ = true;
  if (open_failure_ && allocation.device() == open_failure_->device &&
      allocation.bytes() >= open_failure_->requested_bytes) {
    ++result_.failures_survived;
    open_failure_.reset();
    needed_bytes_ = 0;
  }
  if (allocation.charged_bytes() != 0)
    charge(event, allocation.device(), layer, allocation.charged_bytes(), entry_point(allocation.kind()),
           allocation.bytes());
  devices_[allocation.device()].holders.insert(allocation.bytes());
}

// The charge of a free is the free's own: small allocations share a block, which goes with the last of them.
void Replay::free(uint32_t event, const proto::Free& freed) {
  const size_t layer = layer_index(freed.layer());
  if (layer == proto::LAYER_DRIVER || layer == proto::LAYER_CONTEXT) return;
  auto& holders = devices_[freed.device()].holders;
  if (const auto place = holders.find(freed.bytes()); place != holders.end()) holders.erase(place);
  if (freed.charged_bytes() != 0) release(event, freed.device(), layer, freed.charged_bytes());
}

void Replay::failed_in_run(uint32_t event, const proto::AllocationFailure& failure) {
  // A memory manager that gives back what it caches asks once more; the error that its user sees has the figures of the
  // last attempt.
  const bool asks_again = open_failure_ && !allocated_since_failure_ && open_failure_->device == failure.device() &&
                          open_failure_->requested_bytes == failure.requested_bytes();
  if (open_failure_ && !asks_again) return;
  allocated_since_failure_ = false;
  MemoryFailure& open = open_failure_.emplace();
  open.call = failure.call();
  open.event = event;
  open.device = failure.device();
  open.requested_bytes = failure.requested_bytes();
  open.free_bytes = failure.free_bytes();
  open.capacity_bytes = failure.capacity_bytes();
  for (int i = 0; i < failure.layer_bytes_size() && i < kMemoryLayers; ++i)
    open.layers[static_cast<size_t>(i)] = failure.layer_bytes(i);
  open.largest_holders.assign(failure.largest_holder_bytes().begin(), failure.largest_holder_bytes().end());
  if (open.largest_holders.size() > kHoldersNamed) open.largest_holders.resize(kHoldersNamed);
  open.operation = last_operation(event);
  needed_bytes_ = saturating_add(sum(devices_[failure.device()].layers), failure.requested_bytes());
}

void Replay::conclude() {
  const uint64_t needed = std::max(result_.peak_bytes, needed_bytes_);
  if (open_failure_) {
    result_.peak_is_lower_bound = true;
    // On the traced device the failure is what happened; on another one only if what was asked for does not fit there
    // either.
    if (target_.is_traced_device || needed > available()) {
      result_.out_of_memory = true;
      result_.first_failure = std::move(open_failure_);
    }
  }
  // Where the program ran on this very device, what it met there counts, not what the replay makes of it.
  const bool met_the_limit = target_.is_traced_device && trace_.process.memory_limit_bytes() != kUnlimited;
  if (replayed_failure_ && !met_the_limit) {
    result_.out_of_memory = true;
    result_.first_failure = std::move(replayed_failure_);
  }
  result_.needed_bytes = saturating_add(needed, result_.driver_reserve_bytes);
  for (const device::BuiltinProfile& builtin : device::builtin_profiles()) {
    const device::DeviceProfile* profile = device::find_builtin_profile(builtin.name);
    if (profile == nullptr) continue;
    const uint64_t other_layers = saturating_subtract(needed, target_.profile->context_bytes);
    const uint64_t total =
        saturating_add(saturating_add(other_layers, profile->context_bytes), profile->driver_reserve_bytes);
    if (total <= profile->total_memory_bytes) result_.fits_on.emplace_back(builtin.name);
  }
}

MemoryReplay Replay::run() {
  const uint64_t limit = trace_.process.memory_limit_bytes();
  result_.capacity_bytes = target_.profile->total_memory_bytes;
  if (target_.is_traced_device && limit != 0 && limit != kUnlimited) result_.capacity_bytes = limit;
  result_.driver_reserve_bytes = target_.profile->driver_reserve_bytes;
  for (uint32_t i = 0; i < trace_.events.size(); ++i) {
    const trace::Event& event = trace_.events[i];
    switch (event.kind) {
      case EventKind::kAllocation:
        allocate(i, trace_.allocations[event.index]);
        break;
      case EventKind::kFree:
        free(i, trace_.frees[event.index]);
        break;
      case EventKind::kAllocationFailure:
        failed_in_run(i, trace_.allocation_failures[event.index]);
        break;
      case EventKind::kModule: {
        const proto::ModuleLoad& module = trace_.modules[event.index];
        if (module.charged_bytes() == 0) break;
        ensure_context(i, module.device());
        if (module.unload()) {
          release(i, module.device(), proto::LAYER_MODULES, module.charged_bytes());
        } else {
          charge(i, module.device(), proto::LAYER_MODULES, module.charged_bytes(), "cuModuleLoadData",
                 module.charged_bytes());
        }
        break;
      }
      case EventKind::kLaunch:
      case EventKind::kOperation:
        ensure_context(i, 0);
        break;
      default:
        break;
    }
  }
  conclude();
  return std::move(result_);
}

}  // namespace

uint64_t sum(const LayerBytes& layers) {
  uint64_t total = 0;
  for (const uint64_t bytes : layers) total = saturating_add(total, bytes);
  return total;
}

MemoryReplay replay_memory(const trace::LoadedTrace& trace, const MemoryTarget& target, const OperationNames& names) {
  return Replay(trace, target, names).run();
}

}  // namespace maya::predictor
