// The worlds of ../simulator.cc in SimGrid (https://simgrid.org, Debian package libsimgrid-dev), for comparison: a host
// and an actor for each rank, kernels are computations, a collective is a barrier and a computation as long. Without
// host threads, launches and streams, which ours has: for each operation here it handles three events. Not part of the
// build:
//
//   g++ -std=c++17 -O2 simgrid.cc -o simgrid -lsimgrid && ./simgrid RANKS CALLS --log=root.thres:error
//   simulator RANKS CALLS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

namespace {

constexpr int kGroupRanks = 8, kKernelsBetween = 6, kLayers = 8;  // as ../simulator.cc

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[1]), rounds = std::atoi(argv[2]) / (kKernelsBetween + 1);
  const int group = std::min(ranks, kGroupRanks), groups = ranks / group;
  sg::NetZone* zone = sg::create_full_zone("world");
  std::vector<sg::Host*> hosts;
  for (int i = 0; i < ranks; ++i) hosts.push_back(zone->create_host("rank" + std::to_string(i), 1e9)->seal());
  zone->seal();
  std::vector<sg::BarrierPtr> inside, across;
  for (int i = 0; i < groups; ++i) inside.push_back(sg::Barrier::create(static_cast<unsigned>(group)));
  for (int i = 0; i < group; ++i) across.push_back(sg::Barrier::create(static_cast<unsigned>(groups)));
  long operations = 0;
  const auto compute = [&](double ns) {
    sg::this_actor::execute(ns);
    ++operations;
  };
  for (int rank = 0; rank < ranks; ++rank)
    sg::Actor::create("rank" + std::to_string(rank), hosts[static_cast<size_t>(rank)], [&, rank] {
      for (int round = 0; round < rounds; ++round) {
        for (int k = 0; k < kKernelsBetween; ++k) compute(20'000 + (rank * 37 + k * 101) % 1'000);
        inside[static_cast<size_t>(rank / group)]->wait();
        compute(50'000);
        if (round % kLayers != 0) continue;
        across[static_cast<size_t>(rank % group)]->wait();
        compute(400'000);
      }
    });
  const double begin = cpu_seconds();
  engine.run();
  const double seconds = cpu_seconds() - begin;
  std::printf("%d ranks, %ld operations, %.2f s, %.3f M operations/s, %.1f ms simulated\n", ranks, operations, seconds,
              static_cast<double>(operations) / seconds / 1e6, sg::Engine::get_clock() * 1e3);
  return 0;
}
