// Cost of one trace record, beside its lower bound (the stores of the same bytes into memory that is there) and rivals
// (write and fwrite of a record); size of a launch in the file before and after packing; speed of the reader. All in
// one run; medians of repeated batches.
//
//   build/release/bench/trace_writer
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "trace_proto/loaded_trace.h"
#include "trace_proto/maya_trace_fields.h"
#include "trace_proto/pack.h"
#include "trace_proto/writer.h"

namespace {

using namespace maya::trace;

constexpr int kCalls = 10'000;  // short enough to fall between two preemptions
constexpr int kBatches = 101;

double median_ns(const std::function<void()>& batch, int calls, int batches = kBatches) {
  std::vector<double> times;
  batch();
  for (int i = 0; i < batches; ++i) {
    const uint64_t begin = now_ns();
    batch();
    times.push_back(static_cast<double>(now_ns() - begin) / calls);
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[batches / 2];
}

double bound_ns = 0;

void show(const char* name, double ns) { printf("%-58s %8.1f ns  %6.1fx\n", name, ns, ns / bound_ns); }

std::unique_ptr<Writer> new_writer(const std::string& folder) {
  std::string error;
  auto writer = Writer::create({folder, "bench"}, &error);
  if (writer == nullptr) {
    fprintf(stderr, "trace_writer: %s\n", error.c_str());
    exit(1);
  }
  return writer;
}

// A training loop's rhythm: 400 configurations, 2 to 20 us apart.
std::string training_trace(const std::string& folder, int launches) {
  auto writer = new_writer(folder);
  std::mt19937 random(1);
  uint64_t time_ns = now_ns();
  for (int i = 0; i < launches; ++i) writer->launch(1 + i % 400, 7, time_ns += 2000 + random() % 18000);
  Encoder end, packet;
  end.text(fields::ProcessEnd::kReason, "exit");
  packet.message(fields::Packet::kEnd, end);
  writer->packet(packet, time_ns);
  const std::string path = writer->path();
  writer->finish();
  return path;
}

}  // namespace

int main() {
  char pattern[] = "/tmp/maya-bench-XXXXXX";
  if (mkdtemp(pattern) == nullptr) return 1;
  const std::string folder = pattern;

  const double clock_ns = median_ns(
      [] {
        for (int i = 0; i < kCalls; ++i) asm volatile("" : : "r"(now_ns()));
      },
      kCalls);
  bound_ns = clock_ns;
  show("lower bound: one clock read", clock_ns);
  {
    std::vector<uint8_t> memory(kCalls * 10);
    show("clock read and 9 bytes stored", median_ns(
                                              [&] {
                                                uint8_t* out = memory.data();
                                                for (int i = 0; i < kCalls; ++i, out += 9) {
                                                  const uint64_t now = now_ns();
                                                  memcpy(out, &now, 8);
                                                  out[8] = 1;
                                                  asm volatile("" : : "r"(out) : "memory");
                                                }
                                              },
                                              kCalls));
  }
  {
    auto writer = new_writer(folder);
    show("traced launch: clock read and record", median_ns(
                                                     [&] {
                                                       for (int i = 0; i < kCalls; ++i)
                                                         writer->launch(300, 7, now_ns());
                                                     },
                                                     kCalls));
    uint64_t time_ns = now_ns();
    show("record of a launch alone", median_ns(
                                         [&] {
                                           for (int i = 0; i < kCalls; ++i) writer->launch(300, 7, time_ns += 5000);
                                         },
                                         kCalls));
    show("packet with an allocation (6 fields), clock read",
         median_ns(
             [&] {
               for (int i = 0; i < kCalls; ++i) {
                 Encoder allocation, packet;
                 allocation.integer(fields::Allocation::kAddress, 0x700000000000 + static_cast<uint64_t>(i) * 512);
                 allocation.integer(fields::Allocation::kBytes, 1'000'000);
                 allocation.integer(fields::Allocation::kChargedBytes, 2'097'152);
                 packet.message(fields::Packet::kAllocation, allocation);
                 writer->packet(packet, now_ns());
               }
             },
             kCalls));
    const unsigned threads = std::max(2u, std::thread::hardware_concurrency());
    show("traced launch, a thread on every core, wall time a launch", median_ns(
                                                                          [&] {
                                                                            std::vector<std::thread> running;
                                                                            for (unsigned t = 0; t < threads; ++t)
                                                                              running.emplace_back([&] {
                                                                                for (int i = 0; i < kCalls; ++i)
                                                                                  writer->launch(300, 7, now_ns());
                                                                              });
                                                                            for (std::thread& thread : running)
                                                                              thread.join();
                                                                          },
                                                                          kCalls));
  }
  {
    const std::string path = folder + "/rival";
    FILE* file = fopen(path.c_str(), "wb");
    if (file == nullptr) return 1;
    struct {
      uint64_t time;
      uint32_t configuration, stream;
    } record = {0, 300, 7};
    show("rival: clock read and fwrite of 16 bytes", median_ns(
                                                         [&] {
                                                           for (int i = 0; i < kCalls; ++i) {
                                                             record.time = now_ns();
                                                             fwrite(&record, sizeof record, 1, file);
                                                           }
                                                         },
                                                         kCalls));
    show("rival: clock read and write of 16 bytes", median_ns(
                                                        [&] {
                                                          for (int i = 0; i < kCalls / 10; ++i) {
                                                            record.time = now_ns();
                                                            if (write(fileno(file), &record, sizeof record) < 0)
                                                              exit(1);
                                                          }
                                                        },
                                                        kCalls / 10));
    fclose(file);
  }

  constexpr int kLaunches = 2'000'000;
  const std::string path = training_trace(folder, kLaunches);
  printf("%-58s %8.2f bytes\n", "a launch in the file",
         static_cast<double>(std::filesystem::file_size(path)) / kLaunches);
  const uint64_t pack_begin = now_ns();
  const PackResult packed = pack(path, folder + "/packed.pb", true);
  printf("%-58s %8.2f bytes, at %.0f MB/s\n", "a launch in the packed file",
         static_cast<double>(packed.output_bytes) / kLaunches,
         static_cast<double>(packed.input_bytes) * 1e3 / static_cast<double>(now_ns() - pack_begin));
  for (const std::string& input : {path, folder + "/packed.pb"}) {
    const double read_ns = median_ns(
        [&] {
          const auto reader = Reader::open(input);
          PacketView packet;
          while (reader->next(&packet)) {
          }
        },
        kLaunches, 5);
    printf("%-58s %8.1f million packets/s\n", input == path ? "reader" : "reader, packed file", 1e3 / read_ns);
  }
  const uint64_t load_begin = now_ns();
  const LoadResult loaded = load_trace(path);
  printf("%-58s %8.1f million packets/s\n", "loader",
         static_cast<double>(loaded.traces[0].events.size()) * 1e3 / static_cast<double>(now_ns() - load_begin));
  std::filesystem::remove_all(folder);
  return 0;
}
