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
      : launch_(launch), waiting_(waiting_loops(program)), warp_(program, launch, surroundings, unknown_count) {
    warp_.wait_once(&waiting_);
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
    const uint64_t done = alike_ ? sample_warps(wanted, &sampled) : sample_blocks(wanted, &sampled);
    if (done == 0) {
      scale(static_cast<double>(blocks_), tally);
      return true;
    }
    scale(static_cast<double>(blocks_) / static_cast<double>(done), &sampled);
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
  // Runs blocks spread over the grid; returns how many.
  uint64_t sample_blocks(uint64_t wanted, Tally* sampled) {
    uint64_t left = kBudgetOfBlock, done = 0;
    for (; done < wanted; ++done) {
      Tally next = *sampled;
      if (!run_block(wanted == blocks_ ? done : block_of(done, wanted), warps_, &left, &next)) break;
      *sampled = std::move(next);
    }
    return done;
  }

  // One warp of each, in turn, so that masks which cut off other parts for other warps, and threads that copy for all,
  // count for what they are. Returns how many blocks the runs stand for.
  uint64_t sample_warps(uint64_t wanted, Tally* sampled) {
    const uint64_t turns = (wanted + warps_ - 1) / warps_;
    uint64_t left = kBudgetOfBlock, done = 0;
    for (; done < turns; ++done) {
      Tally next = *sampled;
      bool ended = true;
      for (uint32_t warp = 0; ended && warp < warps_; ++warp)
        ended = warp_.run(block_of(done * warps_ + warp, turns * warps_), warp, &left, &next);
      if (!ended) break;
      *sampled = std::move(next);
    }
    return done;
  }

  // The i-th of n, spread over the first dimension, along which tiles of a triangle differ: one in each n-th part of
  // it, not at the same place of each, since what blocks do may repeat (rows of a matrix, modulo its length). Over the
  // other two at once. Places by the golden ratio and by the plastic number (Roberts 2018, "The unreasonable
  // effectiveness of quasirandom sequences").
  uint64_t block_of(uint64_t i, uint64_t n) const {
    constexpr double kSteps[3] = {0.6180339887, 0.7548776662, 0.5698402910};
    uint64_t at[3];
    for (int d = 0; d < 3; ++d) {
      double place = 0.5 + static_cast<double>(i) * kSteps[d];
      place -= std::floor(place);
      if (d == 0) place = (static_cast<double>(i) + place) / static_cast<double>(n);
      at[d] = std::min<uint64_t>(static_cast<uint64_t>(place * launch_.grid[d]), launch_.grid[d] - 1);
    }
    return at[0] + launch_.grid[0] * (at[1] + static_cast<uint64_t>(launch_.grid[1]) * at[2]);
  }

  // The one that is run first: those at the ends may have less to do.
  uint64_t first_block() const { return blocks_ / 2; }

  // All warps of it. When the first of them does its share of the work, one warp of a block can stand for the others.
  bool run_first(uint64_t* budget, Tally* tally) {
    Tally first;
    if (!run_block(first_block(), 1, budget, &first)) return false;
    uint64_t again = kBudgetOfBlock;
    if (!run_block(first_block(), warps_, &again, tally)) return false;
    *budget = again;
    constexpr double kUnlike = 0.02;
    const auto share = [&](double part, double whole) {
      return std::abs(part * warps_ - whole) <= kUnlike * whole || whole == 0;
    };
    // Bytes may differ.
    alike_ = warps_ > 1 && share(first.instructions, tally->instructions);
    for (int i = 0; i < kMatrixTypes; ++i) alike_ = alike_ && share(first.flops[i], tally->flops[i]);
    return true;
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
  const std::vector<Leaving> waiting_;
  Warp warp_;
  uint32_t warps_ = 0;
  uint64_t blocks_ = 0;
  bool alike_ = false;
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
