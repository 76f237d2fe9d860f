#include "cli/run/rank_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cli/common.h"

namespace maya::cli {
namespace {

constexpr const char* kTool = "maya-run";

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void redirect(int from, const char* path, int flags) {
  const int file = open(path, flags | O_CLOEXEC, 0666);
  if (file >= 0) dup2(file, from);
}

// Takes the status of one that has ended; its index, -1 when none has.
int reap(std::vector<RankProcess>& processes) {
  for (size_t i = 0; i < processes.size(); ++i) {
    RankProcess& process = processes[i];
    int status = 0;
    if (process.pid < 0 || waitpid(process.pid, &status, WNOHANG) != process.pid) continue;
    process.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    kill(-process.pid, SIGKILL);  // what it started and left behind
    process.pid = -1;
    return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Failure execute(const std::vector<std::string>& program) {
  std::vector<char*> arguments;
  for (const std::string& argument : program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  if (error == ENOENT) return {kNotFound, "program not found: " + program[0] + "; give its path, or check PATH"};
  return {kNotExecutable,
          "cannot execute the program: " + program[0] + ": " + strerror(error) + "; check its permissions and format"};
}

Variables launcher_variables(int rank, int size, int gpus_per_node, int port) {
  const auto text = [](int number) { return std::to_string(number); };
  const int nodes = size / gpus_per_node, node = rank / gpus_per_node;
  return {{"RANK", text(rank)},
          {"WORLD_SIZE", text(size)},
          {"LOCAL_RANK", text(rank % gpus_per_node)},
          {"LOCAL_WORLD_SIZE", text(gpus_per_node)},
          {"GROUP_RANK", text(node)},
          {"GROUP_WORLD_SIZE", text(nodes)},
          {"NODE_RANK", text(node)},
          {"ROLE_RANK", text(rank)},
          {"ROLE_WORLD_SIZE", text(size)},
          {"ROLE_NAME", "default"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", text(port)},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {"TORCHELASTIC_MAX_RESTARTS", "0"},
          {"TORCHELASTIC_RUN_ID", "maya"}};
}

bool start_rank(const std::vector<std::string>& program, const Variables& variables, RankProcess* process) {
  const pid_t parent = getpid();
  const pid_t made = fork();
  if (made < 0) {
    complain(kTool, "cannot start rank " + std::to_string(process->rank) + ": " + strerror(errno) +
                        "; end other programs, or run fewer ranks");
    return false;
  }
  if (made > 0) {
    setpgid(made, made);
    process->pid = made;
    return true;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kRunFailed);  // maya-run ended before the line above
  const sigset_t set = watched();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  if (!process->log_path.empty()) {
    redirect(STDOUT_FILENO, process->log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    dup2(STDOUT_FILENO, STDERR_FILENO);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const Failure failure = execute(program);
  complain(kTool, failure.text);
  _exit(failure.status);
}

void block_signals() {
  const sigset_t set = watched();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

int wait_any(std::vector<RankProcess>& processes, int timeout_ms, int* signal) {
  const int64_t end = now_ms() + timeout_ms;
  const sigset_t set = watched();
  for (;;) {
    if (const int ended = reap(processes); ended >= 0) return ended;
    int64_t left = 1000;  // a lost SIGCHLD costs at most this
    if (timeout_ms >= 0) left = std::min<int64_t>(left, end - now_ms());
    if (left < 0) return -1;
    const timespec wait{static_cast<time_t>(left / 1000), static_cast<long>(left % 1000 * 1'000'000)};
    const int came = sigtimedwait(&set, nullptr, &wait);
    if (came > 0 && came != SIGCHLD) {
      *signal = came;
      return -2;
    }
  }
}

void end_all(std::vector<RankProcess>& processes, int grace_ms) {
  const auto running = [&] {
    return std::any_of(processes.begin(), processes.end(), [](const RankProcess& p) { return p.pid >= 0; });
  };
  const auto send = [&](int signal) {
    for (const RankProcess& process : processes)
      if (process.pid >= 0) kill(-process.pid, signal);
  };
  if (!running()) return;
  send(SIGTERM);
  const int64_t end = now_ms() + grace_ms;
  int ignored = 0;
  while (running() && now_ms() < end)
    wait_any(processes, static_cast<int>(std::max<int64_t>(0, end - now_ms())), &ignored);
  send(SIGKILL);
  while (running()) wait_any(processes, -1, &ignored);
}

std::string log_tail(const std::string& path) {
  constexpr size_t kLongest = 400;
  static constexpr std::string_view kError = "Error: ";
  std::ifstream file(path);
  std::string line, last, error;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t") != std::string::npos) last = line;
    const size_t at = line.find(kError);
    if (at != std::string::npos && line.find_first_not_of(' ', at + kError.size()) != std::string::npos) error = line;
  }
  return (error.empty() ? last : error).substr(0, kLongest);
}

}  // namespace maya::cli
