// The beginning of a trace: file name, process header, devices.
#include <dlfcn.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/fork_guard.h"
#include "driver_shim/cuda/program_name.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

namespace fields = trace::fields;
using trace::Encoder;

constexpr size_t kMostArguments = 64;
constexpr size_t kMostArgument_bytes = 128;

std::string host_cpu() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    return colon == std::string::npos ? std::string() : line.substr(colon + 2);
  }
  return {};
}

uint64_t unix_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// int32 fields are sign-extended to ten bytes on the wire.
void signed_integer(Encoder& body, uint32_t field, int value) {
  body.integer(field, static_cast<uint64_t>(int64_t{value}));
}

}  // namespace

void Recorder::start(Driver& driver) {
  std::unique_ptr<trace::Writer> made;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (started_) return;
    started_ = true;
    const Configuration& chosen = driver.configuration();
    // A setuid program's trace would be written with rights that its user does not have.
    if (!chosen.trace || getauxval(AT_SECURE) != 0) return;
    trace::Writer::Options options;
    options.directory = chosen.trace_directory;
    options.base_name = program_name(command_line()) + "-" + std::to_string(getpid());
    options.records_delays = true;
    if (chosen.rank >= 0) options.base_name += "-rank" + std::to_string(chosen.rank);
    std::string error;
    made = trace::Writer::create(options, &error);
    if (made == nullptr) {
      print_line(error + "; the program runs on without a trace");
      return;
    }
  }
  driver_.store(&driver, std::memory_order_release);
  write_header(driver, *made);
  writer_.store(made.release(), std::memory_order_release);  // stays for ever: see Driver
  process_.store(getpid(), std::memory_order_release);
  // What maya-run preloads calls back before the process ends by _exit().
  using CallAtEnd = void (*)(void (*)());
  if (const auto call_at_end = reinterpret_cast<CallAtEnd>(dlsym(RTLD_DEFAULT, "maya_call_at_end"));
      call_at_end != nullptr)
    call_at_end([] { Recorder::get().finish_at_exit(); });
  for (int ordinal = 0; ordinal < driver.device_count(); ++ordinal) {
    device::Allocation reserve;
    reserve.bytes = reserve.charged_bytes = driver.profile(ordinal).driver_reserve_bytes;
    reserve.device = ordinal;
    reserve.layer = device::Layer::kDriver;
    allocation(reserve);
  }
}

void Recorder::write_header(Driver& driver, trace::Writer& writer) {
  const Configuration& chosen = driver.configuration();
  const std::vector<std::string> arguments = command_line();
  const uint64_t start_ns = trace::now_ns();
  Encoder body;
  using F = fields::ProcessHeader;
  body.integer(F::kFormat, fields::kFormatVersion);
  body.text(F::kMayaVersion, MAYA_VERSION);
  body.text(F::kProgram, program_name(arguments));
  for (size_t i = 1; i < arguments.size() && i <= kMostArguments; ++i)
    body.text(F::kArguments, std::string_view(arguments[i]).substr(0, kMostArgument_bytes));
  body.integer(F::kPid, static_cast<uint64_t>(getpid()));
  body.text(F::kRunId, chosen.run_id);
  signed_integer(body, F::kRank, chosen.rank);
  signed_integer(body, F::kWorldSize, chosen.world_size);
  body.text(F::kDeviceName, chosen.profile->name);
  body.integer(F::kDeviceCount, static_cast<uint64_t>(chosen.devices));
  body.integer(F::kStartTimeNs, start_ns);
  body.integer(F::kStartUnixNs, unix_ns());
  body.text(F::kHostCpu, host_cpu());
  body.text(F::kCluster, chosen.cluster);
  body.integer(F::kMemoryLimitBytes, chosen.memory_limit_bytes);
  body.number(F::kCpuScale, chosen.cpu_scale);
  body.text(F::kDeviceProfile, chosen.profile_text);
  signed_integer(body, F::kLocalRank, chosen.local_rank);
  body.integer(F::kGpusPerNode, static_cast<uint64_t>(chosen.gpus_per_node));
  body.integer(F::kTwins, chosen.twins ? 1 : 0);
  body.text(F::kClusterProfile, chosen.cluster_text);
  Encoder packet;
  packet.message(fields::Packet::kProcess, body);
  writer.packet(packet, start_ns);
  for (int ordinal = 0; ordinal < driver.device_count(); ++ordinal) {
    Encoder device, device_packet;
    device.integer(fields::DeviceDescriptor::kOrdinal, static_cast<uint64_t>(ordinal));
    device.text(fields::DeviceDescriptor::kName, driver.profile(ordinal).product_name);
    device.integer(fields::DeviceDescriptor::kCapacityBytes, driver.capacity_bytes());
    device_packet.message(fields::Packet::kDevice, device);
    writer.packet(device_packet, start_ns);
  }
}

}  // namespace maya::cuda
