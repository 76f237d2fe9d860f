#include "trace_proto/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "test/trace/trace_files.h"

using namespace maya::test;
using maya::trace::ReadStatus;
using maya::trace::Writer;

namespace {

std::unique_ptr<Writer> make_writer(const TemporaryFolder& folder, uint64_t chunk_bytes = 64 << 10) {
  std::string error;
  auto writer = Writer::create({folder.path(), "program-1", chunk_bytes}, &error);
  INFO(error);
  REQUIRE(writer != nullptr);
  return writer;
}

}  // namespace

TEST_CASE("a finished file is one Trace message of libprotobuf's, with absolute times") {
  TemporaryFolder folder;
  auto writer = make_writer(folder);
  writer->packet(header_fields(), 1000);
  writer->launch(7, 0, 1500);
  writer->launch(300, 5, 1501);
  writer->operation(2, 1, 4'000'000'000);
  writer->packet(string_fields(9, "name"), 4'000'000'000);
  writer->packet(end_fields(), 4'000'000'100);
  const std::string path = writer->path();
  writer->finish();
  CHECK(path == folder.path() + "/program-1.pb");

  const std::string bytes = read_file(path);
  maya::proto::Trace trace;
  REQUIRE(trace.ParseFromString(bytes));
  REQUIRE(trace.packet_size() == 7);
  CHECK(trace.packet(0).chunk().magic() == 0x4159414d);
  CHECK(trace.packet(0).chunk().time_ns() == 1000);
  CHECK(trace.packet(0).chunk().chunk_bytes() == 65536);
  CHECK(trace.packet(2).launch() == 7);
  CHECK(trace.packet(2).delta_ns() == 500);

  const ReadResult read = read_all_of_file(path);
  CHECK(read.complete);
  REQUIRE(read.packets.size() == 7);
  const uint64_t times[] = {1000, 1000, 1500, 1501, 4'000'000'000, 4'000'000'000, 4'000'000'100};
  for (size_t i = 0; i < 7; ++i) CHECK(read.packets[i].view.time_ns == times[i]);
  CHECK(read.packets[3].view.launch == 300);
  CHECK(read.packets[3].view.stream == 5);
  CHECK(read.packets[4].view.operation == 2);
  CHECK(read.packets[5].packet.string().text() == "name");
}

TEST_CASE("a launch takes 8 to 10 bytes") {
  // 0a, length, 08 and 2 bytes of id, 10 and 2 bytes of delta below 16 us, stream 18 and 1 byte.
  TemporaryFolder folder;
  auto writer = make_writer(folder);
  uint64_t time_ns = 1000;
  for (int i = 0; i < 5000; ++i) writer->launch(300, 3, time_ns += 5000);
  const std::string path = writer->path();
  writer->finish();
  CHECK(read_file(path).size() < 5000 * 10 + 64);
  CHECK(read_file(path).size() > 5000 * 8);
}

TEST_CASE("time that goes back counts as standing still; long pauses keep their length") {
  TemporaryFolder folder;
  auto writer = make_writer(folder);
  const uint64_t hour_ns = 3'600'000'000'000;
  writer->launch(1, 0, 10'000);
  writer->launch(2, 0, 9'000);
  writer->launch(3, 0, 10'000 + 10'000'000'000);  // 10 s: more than delta_ns holds
  writer->launch(4, 0, 10'000 + 5 * hour_ns);
  writer->packet(end_fields(), 10'000 + 6 * hour_ns);
  const std::string path = writer->path();
  writer->finish();
  std::map<uint32_t, uint64_t> times;
  const ReadResult read = read_all_of_file(path);
  for (const ReadPacket& packet : read.packets) times[packet.view.launch] = packet.view.time_ns;
  CHECK(times[1] == 10'000);
  CHECK(times[2] == 10'000);
  CHECK(times[3] == 10'000 + 10'000'000'000);
  CHECK(times[4] == 10'000 + 5 * hour_ns);
  CHECK(read.packets.back().view.time_ns == 10'000 + 6 * hour_ns);
  CHECK(read.complete);
}

TEST_CASE("threads write side by side over many chunks and windows; nothing is lost or torn") {
  TemporaryFolder folder;
  auto writer = make_writer(folder, 32 << 10);
  constexpr int kThreads = 8;
  constexpr uint32_t kRecords = 20'000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 1; i <= kRecords; ++i) {
        if (i % 1000 == 0)
          writer->packet(string_fields(i, std::string(i % 3000, 'a' + t)), maya::trace::now_ns());
        else
          writer->launch(i, t + 1, maya::trace::now_ns());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string path = writer->path();
  CHECK(writer->packets_lost() == 0);
  writer->finish();
  maya::proto::Trace whole;
  CHECK(whole.ParseFromString(read_file(path)));
  const ReadResult read = read_all_of_file(path);
  CHECK(read.damage.empty());
  CHECK(read.unfinished_chunks == 0);
  std::map<uint32_t, uint32_t> next;  // by stream, which tells the thread
  std::map<uint32_t, uint64_t> last_ns;
  uint64_t strings = 0;
  for (const ReadPacket& packet : read.packets) {
    if (packet.packet.has_string()) ++strings;
    if (packet.view.launch == 0) continue;
    uint32_t& expected = next[packet.view.stream];
    ++expected;
    if (expected % 1000 == 0) ++expected;
    CHECK(packet.view.launch == expected);
    CHECK(packet.view.time_ns >= last_ns[packet.view.stream]);
    last_ns[packet.view.stream] = packet.view.time_ns;
  }
  CHECK(next.size() == kThreads);
  CHECK(strings == kThreads * kRecords / 1000);
}

TEST_CASE("a thread that ends leaves its chunk to the next one") {
  TemporaryFolder folder;
  auto writer = make_writer(folder);
  for (uint32_t i = 1; i <= 200; ++i) std::thread([&] { writer->launch(i, 0, maya::trace::now_ns()); }).join();
  const std::string path = writer->path();
  writer->finish();
  CHECK(read_file(path).size() < 3 * 65536);  // 200 chunks would be 13 MB
  const ReadResult read = read_all_of_file(path);
  std::map<uint32_t, uint32_t> by_thread;
  for (const ReadPacket& packet : read.packets) {
    if (packet.view.launch != 0) by_thread[packet.view.thread] = packet.view.launch;
  }
  REQUIRE(by_thread.size() == 200);
  for (const auto& [thread, configuration] : by_thread) CHECK(configuration == thread + 1);
  CHECK(read.damage.empty());
}

TEST_CASE("finish() while other threads write: the file is whole and nothing is written after it") {
  for (int round = 0; round < 20; ++round) {
    TemporaryFolder folder;
    auto writer = make_writer(folder, 32 << 10);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!stop) writer->launch(1, 2, maya::trace::now_ns());
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::string path = writer->path();
    writer->finish();
    const std::string bytes = read_file(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    writer->launch(9, 9, maya::trace::now_ns());
    writer->packet(end_fields(), maya::trace::now_ns());
    writer->finish();
    CHECK(read_file(path) == bytes);
    maya::proto::Trace whole;
    CHECK(whole.ParseFromString(bytes));
  }
}

TEST_CASE("a packet larger than a chunk is counted as lost, the largest that fits is kept") {
  TemporaryFolder folder;
  auto writer = make_writer(folder, 32 << 10);
  const std::string large(40'000, 'x');
  writer->packet(reinterpret_cast<const uint8_t*>(large.data()), large.size(), 1);
  CHECK(writer->packets_lost() == 1);
  maya::trace::Encoder full;
  full.text(2, std::string(maya::trace::Encoder::kCapacity_bytes, 'y'));
  maya::trace::Encoder packet;
  packet.message(11, full);
  for (int i = 0; i < 10; ++i) writer->packet(string_fields(1, std::string(16'000, 'y')), 1);
  const std::string path = writer->path();
  writer->finish();
  const ReadResult read = read_all_of_file(path);
  CHECK(std::count_if(read.packets.begin(), read.packets.end(),
                      [](const ReadPacket& p) { return p.packet.has_string(); }) == 10);
}

TEST_CASE("the file is private, new, not followed through links, and closed on exec") {
  TemporaryFolder folder;
  umask(0);
  write_file(folder.path() + "/program-1.pb", "taken");
  REQUIRE(symlink("/nonexistent/target", (folder.path() + "/program-1-2.pb").c_str()) == 0);
  auto writer = make_writer(folder);
  CHECK(writer->path() == folder.path() + "/program-1-3.pb");
  CHECK(read_file(folder.path() + "/program-1.pb") == "taken");
  struct stat status {};
  REQUIRE(stat(writer->path().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  bool found = false;
  for (int file = 0; file < 256; ++file) {
    char link[64], target[4096] = {};
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (readlink(link, target, sizeof target - 1) > 0 && writer->path() == target) {
      found = true;
      CHECK((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
    }
  }
  CHECK(found);
}

TEST_CASE("a file that cannot be created gives one line with path and reason") {
  std::string error;
  CHECK(Writer::create({"/proc/nowhere", "x"}, &error) == nullptr);
  CHECK(error.find("/proc/nowhere") != std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
  CHECK(error.find("No such file") != std::string::npos);
}

TEST_CASE("a forked child writes nothing, with and without abandon(), and the parent goes on") {
  TemporaryFolder folder;
  auto writer = make_writer(folder);
  writer->launch(1, 0, 1);
  const std::string path = writer->path();
  for (const bool tells : {true, false}) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (tells) writer->abandon();
      for (int i = 0; i < 100'000; ++i) writer->launch(99, 99, 2);
      writer->packet(end_fields(), 3);
      std::thread([&] { writer->launch(98, 98, 4); }).join();
      writer->finish();
      writer.reset();
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  writer->launch(2, 0, 5);
  writer->packet(end_fields(), 6);
  writer->finish();
  const ReadResult read = read_all_of_file(path);
  CHECK(read.complete);
  CHECK(read.packets.size() == 4);
}

TEST_CASE("forks while 8 threads write never hang the child or hurt the trace") {
  TemporaryFolder folder;
  auto writer = make_writer(folder, 32 << 10);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while (!stop)
        std::thread([&] {
          for (int i = 0; i < 2000; ++i) writer->launch(1, 2, maya::trace::now_ns());
        }).join();
    });
  }
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(20);
      writer->launch(1, 2, 3);
      writer->finish();
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  writer->packet(end_fields(), maya::trace::now_ns());
  const std::string path = writer->path();
  writer->finish();
  const ReadResult read = read_all_of_file(path);
  CHECK(read.complete);
}

TEST_CASE("two writers in one process do not mix") {
  TemporaryFolder folder;
  auto a = make_writer(folder);
  auto b = make_writer(folder);
  for (uint32_t i = 1; i <= 1000; ++i) {
    a->launch(i, 1, i);
    b->launch(i, 2, i);
  }
  for (Writer* writer : {a.get(), b.get()}) {
    const std::string path = writer->path();
    writer->finish();
    const ReadResult read = read_all_of_file(path);
    CHECK(read.packets.size() == 1001);
    for (const ReadPacket& packet : read.packets)
      if (packet.view.launch != 0) CHECK(packet.view.stream == (writer == a.get() ? 1 : 2));
  }
}
