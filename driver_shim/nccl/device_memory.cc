#include "driver_shim/nccl/device_memory.h"

#include <string.h>

#include <set>

#include "driver_shim/nccl/memory_model.h"

namespace maya::nccl {
namespace {

std::mutex charge_mutex;
// Devices on which this process has made a communicator.
std::set<int>& used_devices() {
  static auto* const all = new std::set<int>;
  return *all;
}

Platform platform_of(int device) {
  Platform platform;
  const auto attribute = MAYA_DRIVER(cuDeviceGetAttribute);
  const auto name = MAYA_DRIVER(cuDeviceGetName);
  char text[128] = {};
  if (attribute != nullptr) attribute(&platform.compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (name != nullptr && name(text, sizeof text - 1, device) == CUDA_SUCCESS)
    platform.nvlink = strstr(text, "PCIe") == nullptr && strstr(text, "L40") == nullptr;
  return platform;
}

MemorySettings settings_of(const Communicator& c) {
  MemorySettings settings = memory_settings();
  if (c.configuration.max_channels > 0) settings.max_channels = c.configuration.max_channels;
  if (c.configuration.min_channels > 0) settings.min_channels = c.configuration.min_channels;
  return settings;
}

// With charge_mutex held.
ncclResult_t charge(Communicator& c, uint64_t bytes, const char* api) {
  if (bytes == 0) return ncclSuccess;
  if (shim::driver()->charge_communicator(c.device, c.charged_bytes, c.charged_bytes + bytes, api) != CUDA_SUCCESS)
    return failed(ncclUnhandledCudaError, std::string(api) + ": out of device memory for " + std::to_string(bytes) +
                                              " bytes of communication buffers");
  c.charged_bytes += bytes;
  return ncclSuccess;
}

bool uses_peers(CollectiveKind kind) {
  return is_point_to_point(kind) || kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather ||
         kind == CollectiveKind::kScatter;
}

}  // namespace

int nodes_of(const Communicator& c, const CollectiveCall& call) {
  if (!is_point_to_point(call.kind)) return c.nodes;
  const int per_node = gpus_per_node();
  if (per_node <= 0 || c.world_ranks.empty()) return 0;
  const int32_t own = c.world_ranks[static_cast<size_t>(c.rank)], peer = c.world_ranks[static_cast<size_t>(call.root)];
  return own < 0 || peer < 0 ? 0 : own / per_node == peer / per_node ? 1 : 2;
}

ncclResult_t charge_communicator(Communicator& c, const char* api) {
  std::lock_guard<std::mutex> lock(charge_mutex);
  // Kernels and queues stay with the process.
  if (used_devices().count(c.device) == 0) {
    if (shim::driver()->charge_communicator(c.device, 0, kFirstCommunicator_bytes, api) != CUDA_SUCCESS)
      return failed(ncclUnhandledCudaError, std::string(api) + ": out of device memory");
    used_devices().insert(c.device);
  }
  uint64_t bytes = kCommunicator_bytes;
  const MemorySettings settings = settings_of(c);
  if (settings.connect_at_once && !c.shares_memory) {
    const Platform platform = platform_of(c.device);
    bytes += ring_bytes(platform, settings, c.ranks, c.nodes) + tree_bytes(platform, settings, c.ranks, c.nodes);
    c.ring_connected = true;
  }
  return charge(c, bytes, api);
}

ncclResult_t charge_for(Communicator& c, const CollectiveCall& call) {
  if (c.ranks == 1 || c.shares_memory || call.count == 0) return ncclSuccess;
  std::lock_guard<std::mutex> lock(charge_mutex);
  if (!uses_peers(call.kind)) {
    if (c.ring_connected) return ncclSuccess;
    const ncclResult_t result =
        charge(c, ring_bytes(platform_of(c.device), settings_of(c), c.ranks, c.nodes), call.api);
    c.ring_connected = result == ncclSuccess;
    return result;
  }
  const bool is_root = call.root == c.rank;
  const bool everyone = call.kind == CollectiveKind::kAllToAll || (!is_point_to_point(call.kind) && is_root);
  bool sends = false, receives = false;
  switch (call.kind) {
    case CollectiveKind::kSend:
      sends = true;
      break;
    case CollectiveKind::kRecv:
      receives = true;
      break;
    case CollectiveKind::kScatter:
      (is_root ? sends : receives) = true;
      break;
    case CollectiveKind::kGather:
      (is_root ? receives : sends) = true;
      break;
    default:
      sends = receives = true;
  }
  std::vector<int> new_sends, new_receives;
  for (int peer = everyone ? 0 : call.root; peer < (everyone ? c.ranks : call.root + 1); ++peer) {
    if (peer == c.rank) continue;
    if (sends && c.send_connected.count(peer) == 0) new_sends.push_back(peer);
    if (receives && c.receive_connected.count(peer) == 0) new_receives.push_back(peer);
  }
  if (new_sends.empty() && new_receives.empty()) return ncclSuccess;
  const Platform platform = platform_of(c.device);
  const MemorySettings settings = settings_of(c);
  const ncclResult_t result = charge(c,
                                     new_sends.size() * send_bytes(platform, settings, c.nodes) +
                                         new_receives.size() * receive_bytes(platform, settings, c.nodes),
                                     call.api);
  if (result != ncclSuccess) return result;
  c.send_connected.insert(new_sends.begin(), new_sends.end());
  c.receive_connected.insert(new_receives.begin(), new_receives.end());
  return ncclSuccess;
}

void release_communicator(Communicator& c) {
  std::lock_guard<std::mutex> lock(charge_mutex);
  if (c.charged_bytes == 0) return;
  shim::driver()->charge_communicator(c.device, c.charged_bytes, 0, "ncclCommDestroy");
  c.charged_bytes = 0;
}

void suspend_memory(Communicator& c) {
  std::lock_guard<std::mutex> lock(charge_mutex);
  c.suspended_bytes = c.charged_bytes.exchange(0);
  shim::driver()->charge_communicator(c.device, c.suspended_bytes, 0, "ncclCommSuspend");
}

ncclResult_t resume_memory(Communicator& c) {
  std::lock_guard<std::mutex> lock(charge_mutex);
  const ncclResult_t result = charge(c, c.suspended_bytes, "ncclCommResume");
  if (result == ncclSuccess) c.suspended_bytes = 0;
  return result;
}

}  // namespace maya::nccl
