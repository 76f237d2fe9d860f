// Device memory of all emulated devices of a process: addresses, accounting by layer, and which bytes are known.
//
// Addresses come from one reserved range and are unique over devices. Bytes have one of two states: known (they came
// from a copy, a fill or a computed small kernel) or unknown (a kernel may have written them, or nobody did), and
// unknown reads as zero. All members are thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "virtual_device/memory_filter.h"

namespace maya::device {

using Address = uint64_t;

enum class Layer : uint8_t {
  kAllocations = 0,
  kDriver = 1,
  kContext = 2,
  kModules = 3,
  kWorkspaces = 4,
  kCommunication = 5
};
inline constexpr int kLayerCount = 6;

enum class AllocationKind : uint8_t {
  kDevice = 0,
  kHost = 1,
  kManaged = 2,
  kRegistered = 3,
  kPhysical = 4,
  kReserved = 5,
  kStreamOrdered = 6,
  kPoolGrowth = 7
};

struct Allocation {
  Address base = 0;
  uint64_t bytes = 0;          // as asked for
  uint64_t charged_bytes = 0;  // what the device's free memory went down by
  int device = 0;
  Layer layer = Layer::kAllocations;
  AllocationKind kind = AllocationKind::kDevice;
  uint64_t id = 0;          // never reused: CU_POINTER_ATTRIBUTE_BUFFER_ID
  void* context = nullptr;  // owner, opaque here
  uint64_t host_alias = 0;  // host address of pinned or managed memory, 0 otherwise
  uint32_t flags = 0;       // of host memory: as the program gave them
};

enum class MemoryStatus : uint8_t { kOk = 0, kOutOfMemory, kInvalidValue, kNotFound, kNoAddressSpace, kInUse };

// Free memory by layer of one device, for reports.
struct DeviceMemoryUse {
  uint64_t capacity_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t layer_bytes[kLayerCount] = {};
};

class Memory {
 public:
  struct Options {
    int devices = 1;
    uint64_t capacity_bytes = 0;  // per device; UINT64_MAX = unlimited
    uint64_t host_budget_bytes =
        1ull << 30;  // known bytes kept in host memory; beyond it the largest ranges become unknown
    std::vector<std::atomic<uint64_t>*> published = {};  // by device, follow its bytes used; fewer than devices: none
  };
  // nullptr when the address range cannot be reserved.
  static std::unique_ptr<Memory> create(const Options& options);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // --- accounting and addresses ---
  // Plain allocation (cuMemAlloc): 256-byte aligned, at least 512-byte granules; charged in 2 MiB steps as the driver
  // does (small requests share a 2 MiB block).
  MemoryStatus allocate(int device, uint64_t bytes, Layer layer, void* context, Allocation* out);
  MemoryStatus free(Address base, Allocation* freed);
  // Charges a layer without an address (context, modules).
  MemoryStatus charge(int device, Layer layer, uint64_t bytes);
  void release(int device, Layer layer, uint64_t bytes);
  // The allocation that holds `address`; false when none.
  bool find(Address address, Allocation* out) const;
  // True when the address lies in the reserved device range, allocated or not. Two instructions.
  bool in_device_range(Address address) const { return address - range_base_ < range_bytes_; }
  DeviceMemoryUse use(int device) const;
  // An allocation without charge: memory that another process owns and has charged (IPC).
  MemoryStatus adopt(int device, uint64_t bytes, void* context, Allocation* out);
  // Every live allocation (not mappings, not host memory) whose owner is `context`, for its destruction.
  std::vector<Allocation> allocations_of(const void* context) const;

  // --- chunks of stream-ordered pools: charged as one, carved into allocations by their pool (memory_pool.h) ---
  MemoryStatus allocate_chunk(int device, uint64_t bytes, void* context,
                              Allocation* out);              // bytes: multiple of kGranularity_bytes
  MemoryStatus free_chunk(Address base, Allocation* freed);  // kInUse while parts of it are allocated
  // Makes [base, base + bytes) of a chunk an allocation of kind kStreamOrdered without charge; free() takes it back.
  MemoryStatus place(Address base, uint64_t bytes, void* context, Allocation* out);

  std::vector<uint64_t> largest_allocations(int device, int count) const;

  // --- virtual memory management (cuMemAddressReserve, cuMemCreate, cuMemMap) ---
  // `hint`: where the range should be, if that is free; 0: anywhere. alignment: a power of two, 0 or less than the
  // granularity: the granularity.
  MemoryStatus reserve(uint64_t bytes, uint64_t alignment, Address* out, Address hint = 0);
  MemoryStatus unreserve(Address base, uint64_t bytes);
  // Memory without an address, charged to kAllocations. It lives until its last reference is released and its last
  // mapping unmapped: the call that does so reports it in *freed (kind kPhysical, base = handle; bytes 0 otherwise).
  // Its known bytes outlive its mappings.
  MemoryStatus create_physical(int device, uint64_t bytes, uint64_t* handle);
  MemoryStatus retain_physical(uint64_t handle);
  MemoryStatus release_physical(uint64_t handle, Allocation* freed = nullptr);
  MemoryStatus physical_of(Address address, uint64_t* handle) const;
  MemoryStatus physical_size(uint64_t handle, uint64_t* bytes, int* device) const;
  MemoryStatus map(Address base, uint64_t bytes, uint64_t offset, uint64_t handle, void* context);
  // The range must be whole mappings, without gaps. `freed` gets what lost its last mapping and reference.
  MemoryStatus unmap(Address base, uint64_t bytes, std::vector<Allocation>* freed = nullptr);
  // The address reservation around `address`, mapped or not.
  bool find_reservation(Address address, Address* base, uint64_t* bytes) const;
  // True when all of [base, base + bytes) is mapped.
  bool mapped(Address base, uint64_t bytes) const;
  static constexpr uint64_t kGranularity_bytes = 2ull << 20;
  // Plain allocations below this share a 2 MiB block; others are rounded up to the granularity.
  static constexpr uint64_t kSharedBelow_bytes = 1ull << 20;
  static constexpr uint64_t kSmallGranule_bytes = 512;

  // --- host memory known to the driver (pinned, registered, managed): only for look-ups and pointer attributes ---
  MemoryStatus add_host(const Allocation& allocation);  // base = host address
  MemoryStatus remove_host(Address base, Allocation* removed);
  // Removes one entry that overlaps [base, base + bytes); false when there is none.
  bool remove_host_overlap(Address base, uint64_t bytes, Allocation* removed);
  std::vector<Allocation> host_memory_of(const void* context) const;
  // Fast filter: false means that the address never was in any of it. No lock.
  bool maybe_host(Address address) const {
    const Address low = host_low_.load(std::memory_order_relaxed);
    return address - low < host_high_.load(std::memory_order_relaxed) - low;
  }

  // --- bytes ---
  // All take device addresses inside live allocations; a range that leaves its allocation gives kInvalidValue.
  MemoryStatus write(Address destination, const void* source, uint64_t bytes);  // becomes known
  MemoryStatus read(void* destination, Address source, uint64_t bytes) const;   // unknown bytes read as zero
  // As read(); known[i] becomes 1 when byte i is known, else 0.
  MemoryStatus read(void* destination, uint8_t* known, Address source, uint64_t bytes) const;
  MemoryStatus fill(Address destination, uint32_t value, uint32_t width_bytes,
                    uint64_t count);                                       // kept as a range, no pages touched
  MemoryStatus copy(Address destination, Address source, uint64_t bytes);  // known and unknown states travel along
  void make_unknown(Address destination, uint64_t bytes);                  // clipped to the allocation; never fails
  // As make_unknown, for a range of which only a bound is known: leaves separate small values alone, that is at most
  // kSeparateValue_bytes that begin at a multiple of kSeparateAlignment_bytes behind `destination` and were set apart
  // from what follows: by a fill, or with nothing known behind them. Frameworks keep loss scales and counters so, each
  // in its own block of memory.
  void make_unknown_around_values(Address destination, uint64_t bytes);
  static constexpr uint64_t kSeparateValue_bytes = 64;
  static constexpr uint64_t kSeparateAlignment_bytes = 512;
  bool known(Address source, uint64_t bytes) const;      // every byte known
  bool any_known(Address source, uint64_t bytes) const;  // at least one
  // Fast filter of the launch path: false means that no byte of the allocation around `address` is known. No lock.
  bool maybe_known(Address address) const {
    return in_device_range(address) && filter_->maybe_known(address - range_base_);
  }
  // The same for several addresses at a time.
  class KnownProbe {
   public:
    explicit KnownProbe(const Memory& memory)
        : base_(memory.range_base_), bytes_(memory.range_bytes_), view_(memory.filter_->view()), memory_(memory) {}
    bool maybe_known(Address address) const { return address - base_ < bytes_ && view_.maybe_known(address - base_); }
    // Also true of host memory that kernels may use, all of whose bytes are known.
    bool maybe_readable(Address address) const {
      return address - base_ < bytes_ ? view_.maybe_known(address - base_) : memory_.maybe_host(address);
    }

   private:
    Address base_;
    uint64_t bytes_;
    Filter::View view_;
    const Memory& memory_;
  };
  // As read(); *runs gets the known parts as (offset, bytes), ascending, without neighbours that touch.
  using Runs = std::vector<std::pair<uint64_t, uint64_t>>;
  MemoryStatus read_known(void* destination, Address source, uint64_t bytes, Runs* runs) const;

  // --- bytes on their way ---
  // Bytes that another process sends become known later. Until then they are expected under a tag (not 0, never used
  // twice): whoever overwrites or frees them takes them out, and whoever reads them has them settled first.
  // [destination, destination + bytes) is expected from now on.
  void expect(uint32_t tag, Address destination, uint64_t bytes);
  // Makes known what of [destination, destination + bytes) is still expected under the tag.
  void arrive(uint32_t tag, Address destination, const void* source, uint64_t bytes);
  // What is still expected under the tag becomes unknown.
  void end_expecting(uint32_t tag);
  // Called without a lock when expected bytes are about to be read; returns when their tag has ended or cannot. Bytes
  // of a tag that did not end become unknown.
  void set_settle(void (*settle)(uint32_t tag)) { settle_.store(settle, std::memory_order_release); }

  // --- bytes that several processes hold in common ---
  // A window: from now on [base, base + bytes) of one allocation is what lies at `area`, which other processes change
  // too. It is taken over before each use and passed on after each change; programs see to the order, as on a device.
  // `area` has window_bytes(bytes), all zero when the first process shares it: what is known there then goes in.
  // unshare() comes before the memory is freed.
  static uint64_t window_bytes(uint64_t bytes);
  void share(Address base, uint64_t bytes, unsigned char* area, bool first);
  void unshare(Address base);

  // Bytes from `address` to the end of its allocation (or mapped run); 0 when not allocated.
  uint64_t bytes_to_end(Address address) const;

  uint64_t host_bytes_used() const;     // host memory that holds known bytes now
  uint64_t host_bytes_dropped() const;  // known bytes given up because of the budget, total

 private:
  Memory();
  // To be called before the lock is taken for reading.
  void settle(Address source, uint64_t bytes) const {
    if (expected_tags_.load(std::memory_order_acquire) != 0) settle_expected(source, bytes);
  }
  void settle_expected(Address source, uint64_t bytes) const;

  std::atomic<uint32_t> expected_tags_{0};
  std::atomic<void (*)(uint32_t)> settle_{nullptr};
  Address range_base_ = 0;
  uint64_t range_bytes_ = 0;
  // All host memory that was ever added lies in [low, high).
  std::atomic<Address> host_low_{0}, host_high_{0};
  struct Impl;
  std::unique_ptr<Impl> impl_;
  const Filter* filter_ = nullptr;  // impl_'s, in reach of the launch path
};

}  // namespace maya::device
