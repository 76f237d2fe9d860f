#include "virtual_device/ptx/count.h"

#include <algorithm>
#include <cmath>

namespace maya::device::ptx {
namespace {

// Instructions of warps that are run for one launch: some tens of milliseconds. One block may take more, since
// persistent kernels do all their work in few.
constexpr uint64_t kBudget = 3u << 18;
constexpr uint64_t kBudgetOfBlock = 3u << 20;
constexpr uint64_t kLeastBlocks = 4;
constexpr uint64_t kMostBlocks = 64;
// What unknown numbers read as to see how long loops get that they bound: more than any number of tiles.
constexpr uint32_t kManyTiles = 1u << 20;

class Sampler {
 public:
  Sampler(const Program& program, const Launch& launch, const Surroundings& surroundings, uint32_t unknown_count)
      : launch_(launch), warp_(program, launch, surroundings, unknown_count) {
    warps_ = warps_of(launch);
    blocks_ = static_cast<uint64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  }

  // False when the budget does not suffice.
  bool run(Tally* tally) {
    uint64_t left = kBudgetOfBlock;
    if (blocks_ == 0 || warps_ == 0 || !run_first(&left, tally)) return false;
    const uint64_t block = std::max<uint64_t>(kBudgetOfBlock - left, 1);
    if (blocks_ <= kMostBlocks && blocks_ * block <= kBudget) {
      // Later blocks may do more than the first: then samples have to do.
      Tally all = *tally;
      left = kBudgetOfBlock;
      uint64_t other = 0;
      while (other < blocks_ && (other == first_block() || run_block(other, warps_, &left, &all))) ++other;
      if (other >= blocks_) {
        *tally = std::move(all);
        return true;
      }
    }
    const uint64_t count =
        std::min<uint64_t>(kBudget / std::max<uint64_t>(block / (alike_ ? warps_ : 1), 1), kMostBlocks);
    // The blocks at both ends show which addresses there are.
    Tally sampled, edges = *tally;
    for (const uint64_t end : {uint64_t{0}, blocks_ - 1}) {
      left = kBudgetOfBlock;
      run_block(end, warps_, &left, &edges);
    }
    const uint64_t wanted = std::min(std::max(count, kLeastBlocks), blocks_);
    uint64_t done = 0;
    for (left = kBudgetOfBlock; done < wanted; ++done) {
      Tally next = sampled;
      if (!run_block(wanted == blocks_ ? done : block_of(done, wanted), alike_ ? 1 : warps_, &left, &next)) break;
      sampled = std::move(next);
    }
    if (done == 0) {
      scale(static_cast<double>(blocks_), tally);
      return true;
    }
    scale(static_cast<double>(blocks_) / static_cast<double>(done), &sampled);
    if (alike_) to_all_warps(*tally, &sampled);
    for (auto footprints : {&Tally::reads, &Tally::writes}) {
      for (size_t i = 0; i < sampled.reads.size(); ++i) {
        Footprint& to = (sampled.*footprints)[i];
        const Footprint& from = (edges.*footprints)[i];
        to.begin = std::min(to.begin, from.begin);
        to.end = std::max(to.end, from.end);
        to.base = std::max(to.base, from.base);
      }
    }
    sampled.depends_on_data |= edges.depends_on_data;
    *tally = std::move(sampled);
    return true;
  }

 private:
  // The i-th of n, spread evenly over the first dimension, along which tiles of a triangle differ, and over the other
  // two at once by the additive recurrence of the plastic number (Roberts 2018, "The unreasonable effectiveness of
  // quasirandom sequences").
  uint64_t block_of(uint64_t i, uint64_t n) const {
    constexpr double kSteps[3] = {0, 0.7548776662, 0.5698402910};
    uint64_t at[3];
    for (int d = 0; d < 3; ++d) {
      const double place =
          d == 0 ? (static_cast<double>(i) + 0.5) / static_cast<double>(n) : 0.5 + static_cast<double>(i) * kSteps[d];
      at[d] =
          std::min<uint64_t>(static_cast<uint64_t>((place - std::floor(place)) * launch_.grid[d]), launch_.grid[d] - 1);
    }
    return at[0] + launch_.grid[0] * (at[1] + static_cast<uint64_t>(launch_.grid[1]) * at[2]);
  }

  // The one that is run first: those at the ends may have less to do.
  uint64_t first_block() const { return blocks_ / 2; }

  // All warps of it. When the first of them does its share of everything, it can stand for the others.
  bool run_first(uint64_t* budget, Tally* tally) {
    if (!run_block(first_block(), 1, budget, &first_)) return false;
    uint64_t again = kBudgetOfBlock;
    if (!run_block(first_block(), warps_, &again, tally)) return false;
    *budget = again;
    constexpr double kUnlike = 0.02;
    const auto share = [&](double part, double whole) {
      return std::abs(part * warps_ - whole) <= kUnlike * whole || whole == 0;
    };
    // Bytes may differ: masks cut off other parts for other warps, and one thread may copy for all.
    alike_ = warps_ > 1 && share(first_.instructions, tally->instructions);
    for (int i = 0; i < kMatrixTypes; ++i) alike_ = alike_ && share(first_.flops[i], tally->flops[i]);
    for (auto footprints : {&Tally::reads, &Tally::writes})
      for (size_t i = 0; i < first_.reads.size(); ++i)
        alike_ = alike_ && ((first_.*footprints)[i].bytes > 0) == (((*tally).*footprints)[i].bytes > 0);
    return true;
  }

  // What the first warps did, as much more as all warps of one block did than its first.
  void to_all_warps(const Tally& whole, Tally* tally) const {
    const auto grow = [this](double part, double all, double* value) { *value *= part > 0 ? all / part : warps_; };
    grow(first_.instructions, whole.instructions, &tally->instructions);
    grow(first_.functions, whole.functions, &tally->functions);
    for (int i = 0; i < kMatrixTypes; ++i) grow(first_.flops[i], whole.flops[i], &tally->flops[i]);
    grow(first_.expected_bytes, whole.expected_bytes, &tally->expected_bytes);
    grow(first_.boxed_bytes, whole.boxed_bytes, &tally->boxed_bytes);
    for (auto footprints : {&Tally::reads, &Tally::writes})
      for (size_t i = 0; i < first_.reads.size(); ++i) {
        Footprint& to = (tally->*footprints)[i];
        const Footprint &part = (first_.*footprints)[i], &all = (whole.*footprints)[i];
        grow(part.bytes, all.bytes, &to.bytes);
        grow(part.unknown_bytes, all.unknown_bytes, &to.unknown_bytes);
      }
  }

  bool run_block(uint64_t block, uint32_t warps, uint64_t* budget, Tally* tally) {
    for (uint32_t warp = 0; warp < warps; ++warp)
      if (!warp_.run(block, warp, budget, tally)) return false;
    return true;
  }

  static void scale(double by, Tally* tally) {
    tally->instructions *= by;
    tally->functions *= by;
    for (double& flops : tally->flops) flops *= by;
    tally->expected_bytes *= by;
    tally->boxed_bytes *= by;
    for (auto* footprints : {&tally->reads, &tally->writes})
      for (Footprint& footprint : *footprints) {
        footprint.bytes *= by;
        footprint.unknown_bytes *= by;
      }
  }

  const Launch& launch_;
  Warp warp_;
  uint32_t warps_ = 0;
  uint64_t blocks_ = 0;
  bool alike_ = false;
  Tally first_;  // of one warp of the block that is run first
};

double distinct_bytes(const Footprint& footprint, const Surroundings& surroundings) {
  double most = footprint.bytes;
  if (footprint.unknown_bytes == 0) {
    if (footprint.end > footprint.begin) most = std::min(most, static_cast<double>(footprint.end - footprint.begin));
  } else if (const uint64_t rest = surroundings.bytes_to_end(footprint.base); footprint.base != 0 && rest != 0) {
    most = std::min(most, static_cast<double>(rest));
  }
  return most;
}

KernelWork counted(const Tally& tally, const Surroundings& surroundings) {
  KernelWork count;
  for (const Footprint& footprint : tally.reads) {
    count.read_bytes += distinct_bytes(footprint, surroundings);
    count.requested_bytes += footprint.bytes;
  }
  for (const Footprint& footprint : tally.writes) {
    count.written_bytes += distinct_bytes(footprint, surroundings);
    count.requested_bytes += footprint.bytes;
  }
  // Copies through descriptors that were made on the device.
  const double unseen = std::max(tally.expected_bytes - tally.boxed_bytes, 0.0);
  count.read_bytes += unseen;
  count.requested_bytes += unseen;
  count.instructions = tally.instructions;
  count.functions = tally.functions;
  count.flops = tally.flops;
  return count;
}

double middle(double a, double b) { return (a + b) / 2; }

}  // namespace

std::optional<KernelWork> count_work(const Program& program, const Launch& launch, const Surroundings& surroundings) {
  Tally least;
  if (!Sampler(program, launch, surroundings, 0).run(&least)) return std::nullopt;
  KernelWork count = counted(least, surroundings);
  if (!least.depends_on_data) return count;
  Tally most;
  if (!Sampler(program, launch, surroundings, kManyTiles).run(&most)) {
    count.uncertainty = 1;
    return count;
  }
  const KernelWork other = counted(most, surroundings);
  const double low = std::min(count.instructions, other.instructions),
               high = std::max(count.instructions, other.instructions);
  count.uncertainty = high > 0 ? (high - low) / (high + low) : 0;
  count.read_bytes = middle(count.read_bytes, other.read_bytes);
  count.written_bytes = middle(count.written_bytes, other.written_bytes);
  count.requested_bytes = middle(count.requested_bytes, other.requested_bytes);
  count.instructions = middle(count.instructions, other.instructions);
  count.functions = middle(count.functions, other.functions);
  for (int i = 0; i < kMatrixTypes; ++i) count.flops[i] = middle(count.flops[i], other.flops[i]);
  return count;
}

}  // namespace maya::device::ptx
