// Random operations against a model that keeps every byte's state on its own.
#include <map>
#include <random>

#include "memory_helpers.h"

using namespace maya::device;

namespace {

struct Byte {
  bool known = false;
  unsigned char value = 0;  // 0 when unknown
};

// Some plain allocations, large and small, and a window over the seam between two mappings.
class Model {
 public:
  explicit Model(uint32_t seed) : random_(seed), memory_(make_memory(64 * kMiB)) {
    REQUIRE(memory_->reserve(16 * kMiB, 0, &window_) == MemoryStatus::kOk);
    uint64_t handle[2];
    for (uint64_t i = 0; i < 2; ++i) {
      REQUIRE(memory_->create_physical(0, 2 * kMiB, &handle[i]) == MemoryStatus::kOk);
      REQUIRE(memory_->map(window_ + i * 2 * kMiB, 2 * kMiB, 0, handle[i], nullptr) == MemoryStatus::kOk);
    }
    window_bytes_.resize(kWindow);
  }

  void step() {
    switch (random_() % 10) {
      case 0:
        allocate_one();
        break;
      case 1:
        free_one();
        break;
      case 2:
      case 3:
        write();
        break;
      case 4:
      case 5:
        fill();
        break;
      case 6:
      case 7:
        copy();
        break;
      case 8:
        forget();
        break;
      default:
        check();
        break;
    }
  }
  void check_all() {
    for (const auto& [base, bytes] : blocks_) check_range(base, bytes, 0, bytes.size());
    check_range(window_ + kWindowOffset, window_bytes_, 0, window_bytes_.size());
  }
  Memory& memory() { return *memory_; }

 private:
  static constexpr uint64_t kWindow = 4096, kWindowOffset = 2 * kMiB - 2000;
  using Bytes = std::vector<Byte>;
  struct Range {
    Address address;
    Byte* bytes;
    uint64_t length;
  };

  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  Range pick(uint64_t longest) {
    Address base = window_ + kWindowOffset;
    Bytes* bytes = &window_bytes_;
    const uint64_t which = below(blocks_.size() + 1);
    if (which < blocks_.size()) {
      auto block = std::next(blocks_.begin(), static_cast<ptrdiff_t>(which));
      base = block->first;
      bytes = &block->second;
    }
    const uint64_t begin = below(bytes->size());
    const uint64_t length = std::min(longest, 1 + below(bytes->size() - begin));
    return {base + begin, bytes->data() + begin, length};
  }

  void allocate_one() {
    if (blocks_.size() > 6) return;
    const uint64_t bytes = random_() % 4 == 0 ? kMiB + below(100000) : 1 + below(9000);
    const Allocation a = allocate(*memory_, bytes);
    REQUIRE(blocks_.emplace(a.base, Bytes(bytes)).second);
  }
  void free_one() {
    if (blocks_.empty()) return;
    auto block = std::next(blocks_.begin(), static_cast<ptrdiff_t>(below(blocks_.size())));
    Allocation freed;
    REQUIRE(memory_->free(block->first, &freed) == MemoryStatus::kOk);
    blocks_.erase(block);
  }
  void write() {
    const Range to = pick(UINT64_MAX);
    std::vector<unsigned char> data(to.length);
    for (auto& b : data) b = static_cast<unsigned char>(random_());
    REQUIRE(memory_->write(to.address, data.data(), to.length) == MemoryStatus::kOk);
    for (uint64_t i = 0; i < to.length; ++i) to.bytes[i] = {true, data[i]};
  }
  void fill() {
    const uint32_t width = 1u << below(3);
    const Range to = pick(UINT64_MAX);
    const uint64_t count = to.length / width;
    const auto value = static_cast<uint32_t>(random_());
    REQUIRE(memory_->fill(to.address, value, width, count) == MemoryStatus::kOk);
    for (uint64_t i = 0; i < count * width; ++i)
      to.bytes[i] = {true, static_cast<unsigned char>(value >> (i % width * 8))};
  }
  void copy() {
    const Range from = pick(UINT64_MAX);
    const Range to = pick(from.length);
    REQUIRE(memory_->copy(to.address, from.address, to.length) == MemoryStatus::kOk);
    const Bytes moved(from.bytes, from.bytes + to.length);
    std::copy(moved.begin(), moved.end(), to.bytes);
  }
  void forget() {
    const Range at = pick(UINT64_MAX);
    memory_->make_unknown(at.address, at.length);
    for (uint64_t i = 0; i < at.length; ++i) at.bytes[i] = {};
  }
  void check() {
    const Range at = pick(3000);
    check_range(at.address, at.bytes, at.length);
  }
  void check_range(Address base, const Bytes& bytes, uint64_t begin, uint64_t end) {
    check_range(base + begin, bytes.data() + begin, end - begin);
  }
  void check_range(Address address, const Byte* bytes, uint64_t length) {
    const std::vector<unsigned char> seen = read(*memory_, address, length);
    bool all_known = true;
    bool any_known = false;
    for (uint64_t i = 0; i < length; ++i) {
      all_known = all_known && bytes[i].known;
      any_known = any_known || bytes[i].known;
      if (seen[i] != bytes[i].value)
        FAIL("byte " << i << " of " << length << ": " << int{seen[i]} << ", not " << int{bytes[i].value});
    }
    CHECK(memory_->known(address, length) == all_known);
    if (any_known) CHECK(memory_->maybe_known(address));
  }

  std::mt19937 random_;
  std::unique_ptr<Memory> memory_;
  Address window_ = 0;
  Bytes window_bytes_;
  std::map<Address, Bytes> blocks_;
};

}  // namespace

TEST_CASE("random operations agree with the byte-by-byte model") {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    Model model(seed);
    for (int i = 0; i < 400; ++i) model.step();
    model.check_all();
    CHECK(model.memory().host_bytes_dropped() == 0);
  }
}
