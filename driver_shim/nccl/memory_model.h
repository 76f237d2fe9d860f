// How much device memory NCCL takes for itself: a model of buffers per connection, channel and communicator, with the
// measurements that it was checked against. Pure functions.
//
// A connection of one channel to one peer keeps one first-in-first-out buffer per protocol on the receiving GPU:
//   LL      8 lines x 512 threads x 8 steps x 16 bytes            =   524,288
//   LL128   120 words x 640 threads x 8 steps x 8 bytes           = 4,915,200
//   Simple  NCCL_BUFFSIZE (NCCL user guide: 4194304 by default)   = 4,194,304
// together 9,633,792, which in granules of 2 MiB is the 10,485,760 that NCCL_DEBUG_SUBSYS=ALLOC shows (NCCL issue
// 1685), and granules of 2,097,152 for its control words. In that issue the first all-to-all of 8 H100 takes 3.28 GB
// more: 7 peers x 32 channels x (10,485,760 + 2 x 2,097,152) = 3.288e9.
//
// Since NCCL 2.22 connections are made when the first call needs them (NCCL_RUNTIME_CONNECT=0 makes those of rings and
// trees when the communicator is made, as older versions do).
//
// Not modelled, for want of figures: NVLS buffers, the network's buffers beside the connection's own, and what a
// communicator with one rank takes on B300 (NCCL issue 2363).
#pragma once

#include <cstdint>

namespace maya::nccl {

struct Platform {
  int compute_major = 9;
  bool nvlink = true;
};

struct MemorySettings {
  uint64_t buffer_bytes = 4 << 20;  // NCCL_BUFFSIZE
  int max_channels = 0;             // NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS or ncclConfig_t.maxCTAs; 0: not set
  int min_channels = 0;             // NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS or ncclConfig_t.minCTAs; 0: not set
  bool connect_at_once = false;     // NCCL_RUNTIME_CONNECT=0
};
// From the environment.
MemorySettings memory_settings();

// Channels of rings and trees, and of one peer's sends and receives.
//   8 H100 in one node: 24 and 32 (NCCL issue 1685 for the latter); several nodes: 16 and 2 ("16 coll channels, 16 p2p
//   channels, 2 p2p channels per peer" of 24 H100, NCCL issue 1453).
//   2 to 4 A100: 12 (NCCL issue 964: 144 MB between 2 and 3 ranks are 12 more pairs of 12 MB), 8 A100: 24.
//   Without NVLink: 4 and 2, one or two of each per PCIe direction.
int collective_channels(const Platform& platform, const MemorySettings& settings, int ranks, int nodes);
int peer_channels(const Platform& platform, const MemorySettings& settings, int nodes);

// Bytes of one connection on the sending and on the receiving GPU.
uint64_t sender_bytes(const MemorySettings& settings);
uint64_t receiver_bytes(const MemorySettings& settings);

// What a communicator takes when it is made: its own structures, and for the first one of a process on a device also
// NCCL's kernels and queues. The sum of both is what is left of NCCL issue 1685's 1.06 GB before the all-to-all, after
// a context of 613 MiB and one ring.
inline constexpr uint64_t kCommunicator_bytes = 4 << 20;
inline constexpr uint64_t kFirstCommunicator_bytes = 58 << 20;

// One ring; and what trees take beside it: none with two ranks, where they use the ring's connections, otherwise one
// more pair a channel.
uint64_t ring_bytes(const Platform& platform, const MemorySettings& settings, int ranks, int nodes);
uint64_t tree_bytes(const Platform& platform, const MemorySettings& settings, int ranks, int nodes);
// The first send to a peer, the first receive from one.
uint64_t send_bytes(const Platform& platform, const MemorySettings& settings, int nodes);
uint64_t receive_bytes(const Platform& platform, const MemorySettings& settings, int nodes);

}  // namespace maya::nccl
