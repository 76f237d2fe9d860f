// One process of a world: started with the variables of PyTorch's launcher, watched, ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.h"

namespace maya::cli {

struct Failure {
  ExitStatus status;
  std::string text;
};
// Becomes the program, found in PATH. Returns only when that cannot be: 126 or 127, as `env` does.
Failure execute(const std::vector<std::string>& program);

using Variables = std::vector<std::pair<std::string, std::string>>;

// What torchrun sets for rank `rank` (PyTorch documentation, "torchrun (Elastic Launch)", environment variables), with
// the store at 127.0.0.1:`port` as the agent's, so that no rank serves one.
Variables launcher_variables(int rank, int size, int gpus_per_node, int port);

struct RankProcess {
  int rank = 0;
  pid_t pid = -1;        // also of its process group; -1 once it has ended
  int status = 0;        // exit status; 128 + signal
  std::string log_path;  // empty: its output goes where maya-run's goes
};

// Forks and executes `program`. Output goes to `log_path` where that is not empty. The process dies with maya-run.
// False, with one line printed, when the process cannot be made; a program that cannot be executed ends it with 126 or
// 127, as in maya-run.
bool start_rank(const std::vector<std::string>& program, const Variables& variables, RankProcess* process);

// Waits until one of `processes` has ended or `timeout_ms` (negative: no limit) have passed. The index of the process
// whose status has been set, -1 after the time, -2 when SIGINT, SIGTERM or SIGHUP came (blocked by block_signals),
// which `signal` names then.
int wait_any(std::vector<RankProcess>& processes, int timeout_ms, int* signal);

// Blocks the signals that wait_any takes.
void block_signals();

// SIGTERM to all that still run and their descendants, SIGKILL after `grace_ms`; returns when all have ended.
void end_all(std::vector<RankProcess>& processes, int grace_ms);

// What a log says at its end, for an error message: the last line with an error of Python and its text, else the last
// line.
std::string log_tail(const std::string& path);

}  // namespace maya::cli
