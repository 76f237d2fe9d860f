// Faults of the file system at every call: the program goes on, one warning line is printed, and what was written
// before stays readable.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>

#include "test/trace/trace_files.h"
#include "trace_proto/trace_file.h"

using namespace maya::test;
using maya::trace::file_system_calls;
using maya::trace::FileSystemCalls;
using maya::trace::Writer;

namespace {

// The fault at hand: the call with this index, counted over all calls, fails with this error; from there on all when
// `sticks`.
const FileSystemCalls real = file_system_calls;
int fault_index = -1;
int fault_error = 0;
bool fault_sticks = false;
int calls_made = 0;

bool fails() {
  const int index = calls_made++;
  if (fault_index < 0 || index < fault_index || (index > fault_index && !fault_sticks)) return false;
  errno = fault_error;
  return true;
}

FileSystemCalls faulty() {
  return {[](const char* path, int flags, mode_t mode) { return fails() ? -1 : real.open(path, flags, mode); },
          [](int file, off_t offset, off_t bytes) { return fails() ? -1 : real.fallocate(file, offset, bytes); },
          [](int file, const void* data, size_t bytes, off_t offset) {
            return fails() ? ssize_t{-1} : real.pwrite(file, data, bytes, offset);
          },
          [](int file, off_t bytes) { return fails() ? -1 : real.ftruncate(file, bytes); },
          [](size_t bytes, int file, off_t offset) { return fails() ? MAP_FAILED : real.mmap(bytes, file, offset); },
          [](const char* path, mode_t mode) { return fails() ? -1 : real.mkdir(path, mode); },
          [](int file) {
            real.close(file);
            return fails() ? -1 : 0;
          }};
}

// Standard error while it lives, as text.
class CapturedErrors {
 public:
  CapturedErrors() : saved_(dup(STDERR_FILENO)), file_(open("/tmp", O_TMPFILE | O_RDWR, 0600)) {
    dup2(file_, STDERR_FILENO);
  }
  ~CapturedErrors() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(file_);
  }
  std::string text() const {
    std::string text(65536, '\0');
    const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
    text.resize(std::max<ssize_t>(bytes, 0));
    return text;
  }

 private:
  int saved_;
  int file_;
};

struct Outcome {
  bool created = false;
  std::string error;
  std::string warnings;
  uint64_t lost = 0;
  uint64_t written = 0;
  std::string path;
};

// A traced run: 5 MB of records, more than the first two windows, then the end.
Outcome traced_run(const std::string& folder) {
  Outcome outcome;
  CapturedErrors errors;
  auto writer = Writer::create({folder, "run", 32 << 10}, &outcome.error);
  if (writer == nullptr) return outcome;
  outcome.created = true;
  writer->packet(header_fields(), 1);
  const std::string text(4000, 't');
  for (uint32_t i = 1; i <= 1300; ++i) writer->packet(string_fields(i, text), i);
  outcome.lost = writer->packets_lost();
  outcome.written = 1300 - outcome.lost;
  writer->packet(end_fields(writer->packets_lost()), 2000);
  outcome.path = writer->path();
  writer->finish();
  outcome.warnings = errors.text();
  return outcome;
}

void check_outcome(const Outcome& outcome, bool may_be_untidy) {
  const std::string& warnings = outcome.warnings;
  CHECK(std::count(warnings.begin(), warnings.end(), '\n') == (outcome.lost > 0 ? 1 : 0));
  if (outcome.lost > 0) {
    CHECK(warnings.rfind("maya: trace stopped: " + outcome.path + ": ", 0) == 0);
  }
  const ReadResult read = read_all_of_file(outcome.path);
  CHECK(read.status == maya::trace::ReadStatus::kOk);
  CHECK(read.damage.empty());
  CHECK((read.complete || may_be_untidy));
  const uint64_t strings = std::count_if(read.packets.begin(), read.packets.end(),
                                         [](const ReadPacket& packet) { return packet.packet.has_string(); });
  CHECK(strings == outcome.written);
  // The room for the last words was kept back.
  REQUIRE(read.packets.back().packet.has_end());
  CHECK(read.packets.back().packet.end().packets_lost() == outcome.lost);
}

}  // namespace

TEST_CASE("every file system call fails once, and from there on for ever, with each error") {
  file_system_calls = faulty();
  fault_index = -1;
  int total = 0;
  {
    TemporaryFolder folder;
    calls_made = 0;
    const Outcome outcome = traced_run(folder.path() + "/new");
    total = calls_made;
    CHECK(outcome.lost == 0);
    check_outcome(outcome, false);
  }
  REQUIRE(total >= 10);
  for (const int error : {ENOSPC, EINTR, EROFS, EFBIG, EDQUOT, EIO, ENOMEM, EOPNOTSUPP}) {
    for (const bool sticks : {false, true}) {
      for (int index = 0; index < total; ++index) {
        INFO("error " << strerror(error) << " at call " << index << (sticks ? " and after" : ""));
        TemporaryFolder folder;
        fault_index = index;
        fault_error = error;
        fault_sticks = sticks;
        calls_made = 0;
        const Outcome outcome = traced_run(folder.path() + "/new");
        fault_index = -1;
        if (!outcome.created) {
          CHECK(!outcome.error.empty());
          CHECK(outcome.error.find('\n') == std::string::npos);
          CHECK(outcome.error.find(folder.path()) != std::string::npos);
          continue;
        }
        // The cut at the end may fail: then zeros stay behind the last record.
        check_outcome(outcome, index + 3 >= total || sticks);
      }
    }
  }
  file_system_calls = real;
}

TEST_CASE("a file size limit stops the trace and does not kill the program") {
  TemporaryFolder folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit = {3 << 20, 3 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Outcome outcome = traced_run(folder.path());
    _exit(outcome.created && outcome.lost > 0 && outcome.warnings.find("File too large") != std::string::npos ? 42 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
  const ReadResult read = read_all_of_file(folder.path() + "/run.pb");
  CHECK(read.complete);
  CHECK(read.packets.size() > 600);
}

TEST_CASE("a full disk stops the trace and uses the space there was") {
  TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=2500k") != 0) {
    std::cout << "skipped: mounting a small tmpfs needs root\n";
    return;
  }
  const Outcome outcome = traced_run(folder.path());
  CHECK(outcome.lost > 0);
  CHECK(outcome.warnings.find("No space left on device") != std::string::npos);
  check_outcome(outcome, false);
  CHECK(outcome.written * 4000 > 2'000'000);
  umount(folder.path().c_str());
}
