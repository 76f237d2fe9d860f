#include "test/nccl/world.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace maya::test {

double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  closedir(directory);
  return names;
}

void Rank::expect(bool good, const char* text, int line) {
  if (good) return;
  ++failures;
  fprintf(stderr, "rank %d of %d, line %d: %s (%s)\n", rank, ranks, line, text, ncclGetLastError(nullptr));
}

ncclComm_t Rank::join() {
  ncclComm_t comm = nullptr;
  expect(ncclCommInitRank(&comm, ranks, id, rank) == ncclSuccess, "ncclCommInitRank", __LINE__);
  return comm;
}

World::World(int count) : ranks(count) {
  char name[] = "/tmp/maya-test-XXXXXX";
  folder = mkdtemp(name);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  ncclGetUniqueId(&id);
}

World::~World() {
  for (const int process : processes)
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  for (const std::string& name : names_in(folder + "/maya")) unlink((folder + "/maya/" + name).c_str());
  rmdir((folder + "/maya").c_str());
  rmdir(folder.c_str());
}

void World::start(const std::function<void(Rank&)>& body) {
  fflush(nullptr);
  for (int rank = 0; rank < ranks; ++rank) {
    const int child = fork();
    if (child == 0) {
      setenv("MAYA_DEVICES", "8", 1);
      setenv("MAYA_TRACE", "0", 0);
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      Rank me;
      me.rank = rank;
      me.ranks = ranks;
      me.id = id;
      const bool one_visible = getenv("TEST_VISIBLE") != nullptr;
      if (one_visible) setenv("CUDA_VISIBLE_DEVICES", std::to_string(rank).c_str(), 1);
      if (cudaSetDevice(one_visible ? 0 : rank % 8) != cudaSuccess) _exit(99);
      body(me);
      exit(me.failures == 0 ? 0 : 1);
    }
    processes.push_back(child);
  }
}

std::vector<int> World::wait(double seconds) {
  const double end = seconds_now() + seconds;
  std::vector<int> statuses(processes.size(), -1);
  for (size_t left = processes.size(); left > 0;) {
    left = 0;
    for (size_t i = 0; i < processes.size(); ++i) {
      if (processes[i] <= 0) continue;
      int status = 0;
      if (waitpid(processes[i], &status, WNOHANG) == processes[i]) {
        statuses[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        processes[i] = 0;
      } else if (seconds_now() > end) {
        kill(processes[i], SIGKILL);
        waitpid(processes[i], nullptr, 0);
        processes[i] = 0;
      } else {
        ++left;
      }
    }
    if (left > 0) usleep(2000);
  }
  return statuses;
}

bool World::run(const std::function<void(Rank&)>& body) {
  start(body);
  return wait(120) == std::vector<int>(static_cast<size_t>(ranks), 0);
}

}  // namespace maya::test
