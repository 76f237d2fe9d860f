// Events a second of processor time of the simulator of many ranks, on worlds made up here: every rank computes and
// communicates in tensor-parallel groups of eight and data-parallel groups across, or is one of 16 pipeline stages.
//
//   simulator [ranks calls]   without arguments, a list of worlds
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "predictor/simulator.h"

namespace {

using namespace maya;
using namespace maya::predictor;

constexpr uint32_t kGroupRanks = 8;
constexpr uint32_t kKernelsBetween = 6;  // between two collectives of a tensor-parallel layer
constexpr uint32_t kLayers = 8;          // between two data-parallel collectives

uint32_t enqueue(Program* program, uint32_t stream, uint64_t duration_ns) {
  HostCall call;
  call.kind = CallKind::kEnqueue;
  call.stream = stream;
  call.gap_ns = 1'000;
  call.cost_ns = 2'000;
  call.duration_ns = duration_ns;
  call.width_permille = kWholeDevice_permille;
  program->calls.push_back(call);
  return static_cast<uint32_t>(program->calls.size() - 1);
}

void communicate(Program* program, uint32_t stream, uint64_t duration_ns, uint32_t match, CollectiveKind kind) {
  const uint32_t index = enqueue(program, stream, duration_ns);
  program->calls[index].engine = Engine::kCommunication;
  program->calls[index].communication = static_cast<uint32_t>(program->communications.size());
  Communication communication;
  communication.call = communication.leader = index;
  communication.match = match;
  communication.kind = kind;
  communication.fabric = Fabric::kNvlink;
  communication.sends = kind != CollectiveKind::kRecv;
  communication.receives = kind != CollectiveKind::kSend;
  program->communications.push_back(communication);
}

// Holds `later` until what is on `earlier` has ended.
void order(Program* program, uint32_t earlier, uint32_t later) {
  HostCall record;
  record.kind = CallKind::kEventRecord;
  record.stream = earlier;
  record.cost_ns = 500;
  program->calls.push_back(record);
  HostCall wait = record;
  wait.kind = CallKind::kStreamWait;
  wait.stream = later;
  wait.record = static_cast<uint32_t>(program->calls.size() - 1);
  program->calls.push_back(wait);
}

Program empty_program() {
  Program program;
  program.threads = 1;
  program.launch_latency_ns = 5'000;
  program.queued_gap_ns = 1'000;
  program.streams.resize(2);
  for (SimulatedStream& stream : program.streams) stream.blocking = false;
  return program;
}

struct SyntheticWorld {
  std::vector<Program> programs;
  std::vector<uint32_t> sizes;
};

// Every rank is a class of its own.
SyntheticWorld parallel_world(uint32_t ranks, uint32_t calls) {
  SyntheticWorld world;
  const uint32_t group = std::min(ranks, kGroupRanks);
  const uint32_t groups = ranks / group;
  const uint32_t rounds = std::max(calls / (kKernelsBetween + 1), 1u);
  // Matches: by round, one for each group; every kLayers rounds, one for each position in the groups.
  std::vector<uint32_t> first_of_group(rounds), first_across(rounds);
  for (uint32_t round = 0; round < rounds; ++round) {
    first_of_group[round] = static_cast<uint32_t>(world.sizes.size());
    world.sizes.insert(world.sizes.end(), groups, group);
    first_across[round] = static_cast<uint32_t>(world.sizes.size());
    if (round % kLayers == 0) world.sizes.insert(world.sizes.end(), group, groups);
  }
  for (uint32_t rank = 0; rank < groups * group; ++rank) {
    Program program = empty_program();
    for (uint32_t round = 0; round < rounds; ++round) {
      for (uint32_t k = 0; k < kKernelsBetween; ++k) enqueue(&program, 0, 20'000 + (rank * 37 + k * 101) % 1'000);
      communicate(&program, 0, 50'000, first_of_group[round] + rank / group, CollectiveKind::kAllReduce);
      if (round % kLayers == 0)
        communicate(&program, 1, 400'000, first_across[round] + rank % group, CollectiveKind::kReduceScatter);
    }
    world.programs.push_back(std::move(program));
  }
  return world;
}

// One class for each of the stages of a 1F1B pipeline, which stand for all ranks of a step of Llama 3 405B (126
// layers, 16 stages): 8 layers of 14 kernels forward and 28 backward with 4 tensor-parallel collectives each way.
SyntheticWorld pipeline_world(uint32_t stages, uint32_t micro_batches) {
  SyntheticWorld world;
  world.sizes.assign(size_t{stages} * micro_batches * 2, 2);
  const auto match = [&](uint32_t stage, uint32_t batch, bool back) {
    return (stage * micro_batches + batch) * 2 + (back ? 1 : 0);
  };
  for (uint32_t stage = 0; stage < stages; ++stage) {
    Program program = empty_program();
    const auto layers = [&](uint32_t kernels, uint64_t duration_ns) {
      for (uint32_t layer = 0; layer < 8; ++layer)
        for (uint32_t k = 0; k < kernels; ++k) {
          enqueue(&program, 0, duration_ns);
          if (k % (kernels / 4 + 1) == 0) communicate(&program, 0, 200'000, kNone, CollectiveKind::kAllGather);
        }
    };
    uint32_t forward = 0, backward = 0;
    const auto go_forward = [&] {
      if (stage > 0) communicate(&program, 0, 100'000, match(stage - 1, forward, false), CollectiveKind::kRecv);
      layers(14, 150'000);
      if (stage + 1 < stages) {
        order(&program, 0, 1);
        communicate(&program, 1, 100'000, match(stage, forward, false), CollectiveKind::kSend);
      }
      ++forward;
    };
    const auto go_backward = [&] {
      if (stage + 1 < stages) communicate(&program, 0, 100'000, match(stage, backward, true), CollectiveKind::kRecv);
      layers(28, 150'000);
      if (stage > 0) {
        order(&program, 0, 1);
        communicate(&program, 1, 100'000, match(stage - 1, backward, true), CollectiveKind::kSend);
      }
      ++backward;
    };
    for (uint32_t i = 0; i < std::min(stages - stage - 1, micro_batches); ++i) go_forward();
    while (forward < micro_batches) {
      go_forward();
      go_backward();
    }
    while (backward < micro_batches) go_backward();
    world.programs.push_back(std::move(program));
  }
  return world;
}

// Of this process: other work on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void measure(const char* name, const SyntheticWorld& world, const Overlap& overlap) {
  std::vector<const Program*> programs;
  uint64_t calls = 0;
  for (const Program& program : world.programs) {
    programs.push_back(&program);
    calls += program.calls.size();
  }
  const double begin = cpu_seconds();
  const WorldSimulation result = simulate_world(programs, world.sizes, overlap);
  const double seconds = cpu_seconds() - begin;
  uint64_t end_ns = 0;
  for (const Simulation& program : result.programs)
    for (const uint64_t ns : program.work_end_ns)
      if (ns != kNever_ns) end_ns = std::max(end_ns, ns);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-34s %8zu %10llu %11llu %8.2f s %9.2f M/s %9.1f ms %8.0f MB%s\n", name, programs.size(),
              static_cast<unsigned long long>(calls), static_cast<unsigned long long>(result.events), seconds,
              static_cast<double>(result.events) / seconds / 1e6, static_cast<double>(end_ns) / 1e6,
              static_cast<double>(usage.ru_maxrss) / 1e3, result.deadlocks == 0 ? "" : "  DEADLOCK");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-34s %8s %10s %11s %10s %13s %12s %11s\n", "world", "programs", "calls", "events", "time", "events",
              "simulated", "memory");
  const Overlap overlap{1.1, 1.05};
  if (argc == 3) {
    measure("given",
            parallel_world(static_cast<uint32_t>(std::atoi(argv[1])), static_cast<uint32_t>(std::atoi(argv[2]))),
            overlap);
    return 0;
  }
  measure("1 rank", parallel_world(1, 1'000'000), overlap);
  measure("8 ranks", parallel_world(8, 200'000), overlap);
  measure("64 ranks", parallel_world(64, 20'000), overlap);
  measure("1,024 ranks", parallel_world(1'024, 2'000), overlap);
  measure("16,384 ranks", parallel_world(16'384, 200), overlap);
  measure("16,384 of 405B by 16 classes", pipeline_world(16, 64), overlap);
  return 0;
}
