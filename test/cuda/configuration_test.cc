// MAYA_* variables, good and nonsense: each in a process of its own. Nonsense is one line that names variable, value
// and what is allowed, and cuInit fails.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "test/cuda/driver_helpers.h"

namespace {

struct Outcome {
  int status = -1;   // exit status of the child
  std::string text;  // what it wrote to standard error
};

// Runs `body` in a child with the variable set, and standard error read back.
Outcome with_variable(const char* name, const char* value, const std::function<int()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    setenv(name, value, 1);
    _exit(body());
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

int init_result() { return static_cast<int>(cuInit(0)); }

size_t total_bytes() {
  size_t bytes = 0;
  cuInit(0);
  cuDeviceTotalMem_v2(&bytes, 0);
  return bytes;
}

}  // namespace

TEST_CASE("Nonsense in a variable is one line, and no device") {
  const std::pair<const char*, const char*> nonsense[] = {
      {"MAYA_DEVICE", "h9000"},    {"MAYA_DEVICE", "/no/such/file.profile"},
      {"MAYA_DEVICES", "-1"},      {"MAYA_DEVICES", "two"},
      {"MAYA_DEVICES", "65"},      {"MAYA_MEMORY", "lots"},
      {"MAYA_MEMORY", "0"},        {"MAYA_MEMORY", "-5G"},
      {"MAYA_HOST_MEMORY", "1 x"}, {"MAYA_TRACE", "yes"},
  };
  for (const auto& [name, value] : nonsense) {
    INFO(name << "=" << value);
    const Outcome outcome = with_variable(name, value, init_result);
    CHECK(outcome.status == CUDA_ERROR_INVALID_VALUE);
    CHECK(outcome.text.find(name) != std::string::npos);
    CHECK(outcome.text.find(value) != std::string::npos);
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
  }
  // The known devices are listed.
  CHECK(with_variable("MAYA_DEVICE", "h9000", init_result).text.find("a100-sxm-80") != std::string::npos);
}

TEST_CASE("What a line names stays within it, whatever characters it has") {
  const Outcome outcome = with_variable("MAYA_DEVICE", "two\nlines\tand\x1b[31m\x7f", init_result);
  CHECK(outcome.status == CUDA_ERROR_INVALID_VALUE);
  CHECK(outcome.text.find("two?lines?and?[31m?") != std::string::npos);
  CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
}

TEST_CASE("Device, number of devices and memory limit are chosen by variables") {
  CHECK(with_variable("MAYA_DEVICE", "a100-sxm-40", [] {
          int multiprocessors = 0;
          cuInit(0);
          cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
          return multiprocessors;
        }).status == 108);  // NVIDIA A100 datasheet
  CHECK(with_variable("MAYA_DEVICES", "8", [] {
          int count = 0;
          cuInit(0);
          cuDeviceGetCount(&count);
          return count;
        }).status == 8);
  CHECK(with_variable("MAYA_DEVICES", "0", init_result).status == CUDA_ERROR_NO_DEVICE);
  CHECK(with_variable("MAYA_MEMORY", "40GiB", [] { return total_bytes() == size_t{40} << 30 ? 0 : 1; }).status == 0);
  CHECK(with_variable("MAYA_MEMORY", "512M", [] { return total_bytes() == size_t{512} << 20 ? 0 : 1; }).status == 0);
  CHECK(with_variable("MAYA_MEMORY", "unlimited", [] {
          CUcontext context = nullptr;
          CUdeviceptr address = 0;
          cuInit(0);
          cuDevicePrimaryCtxRetain(&context, 0);
          cuCtxSetCurrent(context);
          return total_bytes() == 85028896768u && cuMemAlloc_v2(&address, size_t{200} << 30) == CUDA_SUCCESS ? 0 : 1;
        }).status == 0);
}

// CUDA C++ programming guide, "CUDA environment variables". Of four devices; their identifiers end in 00 to 03.
TEST_CASE("CUDA_VISIBLE_DEVICES chooses and orders devices as the guide says") {
  struct Case {
    const char* value;
    std::vector<int> machine;  // in the process's order
  };
  const std::string id = "GPU-4d617961-5e0d-4e11-8c3b-70296af4d1";
  const std::string whole = id + "02", two = id + "03, " + id + "00", short_one = "GPU-4d", mixed = "1," + id + "02";
  const Case cases[] = {{"0,1,2,3", {0, 1, 2, 3}},
                        {"2", {2}},
                        {"3,1", {3, 1}},
                        {" 1, 2", {1, 2}},
                        {"1,9,2", {1}},  // only what stands before the first that is none
                        {"1,-1,2", {1}},
                        {"9", {}},
                        {"-1", {}},
                        {"", {}},
                        {"NoDevFiles", {}},
                        {"1,1", {}},  // twice: none
                        {whole.c_str(), {2}},
                        {two.c_str(), {3, 0}},
                        {short_one.c_str(), {}},  // begins all of them
                        {mixed.c_str(), {1, 2}}};
  for (const Case& one : cases) {
    INFO(one.value);
    const Outcome outcome = with_variable("CUDA_VISIBLE_DEVICES", one.value, [&] {
      setenv("MAYA_DEVICES", "4", 1);
      const CUresult status = cuInit(0);
      if (one.machine.empty()) return status == CUDA_ERROR_NO_DEVICE && cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1;
      int count = 0;
      if (status != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS) return 2;
      if (count != static_cast<int>(one.machine.size())) return 3;
      for (int i = 0; i < count; ++i) {
        CUuuid uuid;
        char bus[16], expected[16];
        int number = -1, back = -1;
        cuDeviceGetUuid_v2(&uuid, i);
        if (uuid.bytes[15] != one.machine[static_cast<size_t>(i)]) return 4;
        // One bus a device, 0x10 apart (virtual_device/identity.h).
        snprintf(expected, sizeof expected, "0000:%02X:00.0", 0x1b + 0x10 * one.machine[static_cast<size_t>(i)]);
        if (cuDeviceGetPCIBusId(bus, sizeof bus, i) != CUDA_SUCCESS || strcmp(bus, expected) != 0) return 5;
        if (cuDeviceGetByPCIBusId(&back, bus) != CUDA_SUCCESS || back != i) return 6;
        cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i);
        if (number != 0x1b + 0x10 * one.machine[static_cast<size_t>(i)]) return 7;
      }
      CUdevice none;
      return cuDeviceGet(&none, count) == CUDA_ERROR_INVALID_DEVICE ? 0 : 8;
    });
    CHECK(outcome.status == 0);
    // No device is worth one line, however often the program tries.
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == (one.machine.empty() ? 1 : 0));
  }
}

TEST_CASE("A context that does not fit is out of memory") {
  CHECK(with_variable("MAYA_MEMORY", "200M", [] {
          CUcontext context = nullptr;
          const CUresult init = cuInit(0);
          return init != CUDA_SUCCESS ? static_cast<int>(init)
                                      : static_cast<int>(cuDevicePrimaryCtxRetain(&context, 0));
        }).status == CUDA_ERROR_OUT_OF_MEMORY);
}
