// Worlds of real processes for tests: every rank is a forked child with a device of its own. The test process itself
// never touches the driver.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace maya::test {

// What a rank's body works with. expect() reports and lets the rank fail; it never throws.
struct Rank {
  int rank = 0;
  int ranks = 1;
  ncclUniqueId id;
  int failures = 0;

  void expect(bool good, const char* text, int line);
  // The communicator of all ranks.
  ncclComm_t join();
  template <typename T>
  T* upload(const std::vector<T>& values) {
    void* p = nullptr;
    expect(cudaMalloc(&p, values.size() * sizeof(T)) == cudaSuccess, "cudaMalloc", __LINE__);
    expect(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy",
           __LINE__);
    return static_cast<T*>(p);
  }
  template <typename T>
  std::vector<T> download(const T* p, size_t count) {
    std::vector<T> values(count);
    expect(cudaMemcpy(values.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy",
           __LINE__);
    return values;
  }
};
#define EXPECT(...) me.expect((__VA_ARGS__), #__VA_ARGS__, __LINE__)

struct World {
  explicit World(int ranks);
  ~World();  // ends children that are left
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // TEST_VISIBLE: every rank sees one device, another one each.
  void set(const std::string& name, const std::string& value) { environment.emplace_back(name, value); }
  void start(const std::function<void(Rank&)>& body);
  // Exit status of each rank, 128 + signal; -1 for ranks that did not end within the time: they are killed.
  std::vector<int> wait(double seconds);
  // Starts, waits two minutes, and tells whether every rank ended well.
  bool run(const std::function<void(Rank&)>& body);

  const int ranks;
  ncclUniqueId id;
  std::string folder;  // where the ranks meet
  std::vector<int> processes;
  std::vector<std::pair<std::string, std::string>> environment;
};

double seconds_now();
// Names in a folder, without . and ..
std::vector<std::string> names_in(const std::string& folder);

}  // namespace maya::test
