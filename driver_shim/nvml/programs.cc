#include "driver_shim/nvml/programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "virtual_device/process_use.h"

namespace maya::nvml {
namespace {

using device::ProcessUse;

constexpr uint64_t kLook_ns = 100'000'000;
constexpr uint64_t kShortestWindow_ns = 1'000'000'000 / 6;

uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// What was read at one time, all figures since the program started.
struct Sample {
  uint64_t elapsed_ns = 0, busy_ns = 0, copied_bytes[2] = {};
};

// The two latest samples of a device: the window lies between them.
struct Window {
  Sample from, to;
};

struct Found {
  int process;
  int descriptor;  // in that process
  dev_t file_system;
  ino_t file;
  const ProcessUse* use;
  Window windows[ProcessUse::kDevices];
};

class Programs {
 public:
  static Programs& get() {
    static Programs* const all = new Programs;
    return *all;
  }

  std::vector<Program> on(const Device& device) {
    std::lock_guard<std::mutex> lock(mutex_);
    look();
    std::vector<Program> list;
    for (Found& program : found_)
      if (counts(*program.use, device)) list.push_back(describe(program, static_cast<size_t>(device.ordinal)));
    std::sort(list.begin(), list.end(), [](const Program& a, const Program& b) { return a.process < b.process; });
    return list;
  }

 private:
  void look() {
    const int self = getpid();
    if (std::none_of(found_.begin(), found_.end(), [&](const Found& known) { return known.process == self; }))
      look_into(self);
    const uint64_t now_ns = monotonic_ns();
    if (looked_ns_ != 0 && now_ns - looked_ns_ < kLook_ns) return;
    looked_ns_ = now_ns;
    std::erase_if(found_, [](const Found& known) {
      if (holds(known)) return false;
      munmap(const_cast<ProcessUse*>(known.use), sizeof(ProcessUse));
      return true;
    });
    DIR* const all = opendir("/proc");
    if (all == nullptr) return;
    const uid_t user = geteuid();
    while (const dirent* entry = readdir(all)) {
      const int process = atoi(entry->d_name);
      struct stat status;
      if (process <= 0 || fstatat(dirfd(all), entry->d_name, &status, 0) != 0 || status.st_uid != user) continue;
      if (std::none_of(found_.begin(), found_.end(), [&](const Found& known) { return known.process == process; }))
        look_into(process);
    }
    closedir(all);
  }

  static std::string path_of(int process, int descriptor) {
    return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  }

  static bool holds(const Found& known) {
    struct stat status;
    return stat(path_of(known.process, known.descriptor).c_str(), &status) == 0 && status.st_dev == known.file_system &&
           status.st_ino == known.file;
  }

  void look_into(int process) {
    const std::string folder = "/proc/" + std::to_string(process) + "/fd";
    DIR* const descriptors = opendir(folder.c_str());
    if (descriptors == nullptr) return;
    const std::string wanted = std::string("/memfd:") + ProcessUse::kName + " (deleted)";
    char target[64];
    while (const dirent* entry = readdir(descriptors)) {
      const ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target);
      if (length < 0 || std::string_view(target, static_cast<size_t>(length)) != wanted) continue;
      if (add(process, atoi(entry->d_name))) break;
    }
    closedir(descriptors);
  }

  bool add(int process, int descriptor) {
    const int opened = open(path_of(process, descriptor).c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) return false;
    struct stat status;
    void* page = MAP_FAILED;
    if (fstat(opened, &status) == 0 && status.st_size == sizeof(ProcessUse))
      page = mmap(nullptr, sizeof(ProcessUse), PROT_READ, MAP_SHARED, opened, 0);
    close(opened);
    if (page == MAP_FAILED) return false;
    const auto* use = static_cast<const ProcessUse*>(page);
    if (use->magic.load(std::memory_order_acquire) != ProcessUse::kMagic || use->process != process) {
      munmap(page, sizeof(ProcessUse));
      return false;
    }
    found_.push_back({process, descriptor, status.st_dev, status.st_ino, use, {}});
    return true;
  }

  static bool counts(const ProcessUse& use, const Device& device) {
    if (static_cast<uint32_t>(device.ordinal) >= std::min(use.devices, ProcessUse::kDevices)) return false;
    if (device.profile.name != std::string_view(use.profile, strnlen(use.profile, sizeof use.profile))) return false;
    const char* const own_run = getenv("MAYA_RUN_ID");
    return own_run == nullptr || *own_run == '\0' || strncmp(own_run, use.run, sizeof use.run) == 0;
  }

  static Program describe(Found& found, size_t ordinal) {
    const ProcessUse& use = *found.use;
    const device::DeviceUse& device = use.device[ordinal];
    Sample now;
    const uint64_t host_ns = monotonic_ns();
    now.elapsed_ns = (host_ns > use.started_ns ? host_ns - use.started_ns : 0) + use.waited_ns.load();
    now.busy_ns = device.busy_ns.load();
    for (int i = 0; i < 2; ++i) now.copied_bytes[i] = device.copied_bytes[i].load();
    Window& window = found.windows[ordinal];
    if (now.elapsed_ns - window.to.elapsed_ns >= kShortestWindow_ns || window.to.elapsed_ns == 0)
      window = {window.to, now};

    Program program;
    program.process = static_cast<unsigned int>(found.process);
    program.started_ns = use.started_ns;
    const uint64_t used = device.used_bytes.load();
    program.used_bytes = used > use.driver_reserve_bytes ? used - use.driver_reserve_bytes : 0;
    program.busy_ns = now.busy_ns;
    program.elapsed_ns = now.elapsed_ns;
    program.window_ns = std::max<uint64_t>(window.to.elapsed_ns - window.from.elapsed_ns, 1);
    const double share =
        static_cast<double>(window.to.busy_ns - window.from.busy_ns) / static_cast<double>(program.window_ns);
    program.utilization_percent = static_cast<unsigned int>(std::min(share, 1.0) * 100 + 0.5);
    for (int i = 0; i < 2; ++i) {
      program.copied_bytes[i] = now.copied_bytes[i];
      program.window_copied_bytes[i] = window.to.copied_bytes[i] - window.from.copied_bytes[i];
    }
    return program;
  }

  std::mutex mutex_;
  std::vector<Found> found_;
  uint64_t looked_ns_ = 0;
};

}  // namespace

std::vector<Program> programs_on(const Device& device) { return Programs::get().on(device); }

unsigned int utilization_percent(const std::vector<Program>& programs) {
  unsigned int sum = 0;
  for (const Program& program : programs) sum += program.utilization_percent;
  return std::min(sum, 100u);
}

}  // namespace maya::nvml
