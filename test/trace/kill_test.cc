// Processes that end at any point: of each thread at most the record in flight is lost, and the trace says that it is
// incomplete. MAYA_KILL_ROUNDS sets the number of kill -9 rounds (100).
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "test/trace/trace_files.h"

using namespace maya::test;
using maya::trace::Writer;

namespace {

constexpr int kThreads = 3;

// Shared with the child: how many records each thread has written for certain.
struct Progress {
  std::atomic<uint32_t> records[kThreads];
};

Progress* new_progress() {
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Progress{};
}

void write_for_ever(Writer* writer, uint32_t thread, std::atomic<uint32_t>* done) {
  for (uint32_t i = 1;; ++i) {
    if (i % 50 == 0)
      writer->packet(string_fields(i, std::string(i % 4000, 'z')), maya::trace::now_ns());
    else
      writer->launch(i, thread, maya::trace::now_ns());
    done->store(i, std::memory_order_release);
  }
}

// Runs a traced child that ends as `end` says, and compares what the trace holds with what was written.
void check_child(const std::function<void(pid_t)>& end, const std::function<void()>& child_end) {
  TemporaryFolder folder;
  Progress* progress = new_progress();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGABRT}) signal(number, SIG_DFL);  // not the test framework's
    std::string error;
    auto writer = Writer::create({folder.path(), "killed", 32 << 10}, &error);
    if (writer == nullptr) _exit(1);
    writer->packet(header_fields(), maya::trace::now_ns());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(write_for_ever, writer.get(), t + 1, &progress->records[t]);
    if (child_end) {
      usleep(5000);
      child_end();
    }
    pause();
  }
  if (end) end(child);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const std::string path = folder.path() + "/killed.pb";
  const std::string bytes = read_file(path);
  if (bytes.empty() || read_all(bytes).packets.empty()) return;  // killed before the first record
  const ReadResult read = read_all_of_file(path);
  CHECK(read.status == maya::trace::ReadStatus::kOk);
  CHECK_FALSE(read.complete);
  CHECK(read.damage.empty());
  std::map<uint32_t, uint32_t> last;  // by thread id in the trace
  std::map<uint32_t, uint32_t> stream_of;
  for (const ReadPacket& packet : read.packets) {
    const uint32_t sequence = packet.view.launch != 0      ? packet.view.launch
                              : packet.packet.has_string() ? packet.packet.string().id()
                                                           : 0;
    if (sequence == 0) continue;
    CHECK(sequence == last[packet.view.thread] + 1);
    last[packet.view.thread] = sequence;
    if (packet.view.launch != 0) stream_of[packet.view.thread] = packet.view.stream;
  }
  std::map<uint32_t, uint32_t> by_stream;
  for (const auto& [thread, stream] : stream_of) by_stream[stream] = last[thread];
  for (int t = 0; t < kThreads; ++t) {
    const uint32_t certain = progress->records[t].load(std::memory_order_acquire);
    CHECK(by_stream[t + 1] >= certain);
    CHECK(by_stream[t + 1] <= certain + 1);
  }
  munmap(progress, sizeof(Progress));
}

}  // namespace

TEST_CASE("kill -9 at random points") {
  const char* option = std::getenv("MAYA_KILL_ROUNDS");
  const int rounds = option != nullptr ? std::atoi(option) : 100;
  std::mt19937 random(20261129);
  for (int round = 0; round < rounds; ++round) {
    const useconds_t after_us = std::uniform_int_distribution<useconds_t>(100, 6000)(random);
    check_child(
        [&](pid_t child) {
          usleep(after_us);
          kill(child, SIGKILL);
        },
        nullptr);
  }
}

TEST_CASE("SIGSEGV, abort, _exit and exec") {
  check_child(nullptr, [] { raise(SIGSEGV); });
  check_child(nullptr, [] { abort(); });
  check_child(nullptr, [] { _exit(0); });
  check_child(nullptr, [] { execl("/bin/true", "true", nullptr); });
}
