#include "cli/run/world.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "cli/common.h"
#include "cli/run/options.h"
#include "cli/run/rank_process.h"
#include "cli/run/store_server.h"
#include "cli/run/twin_store.h"
#include "predictor/world/roles.h"

namespace maya::cli {
namespace {

constexpr const char* kTool = "maya-run";
// Others get the documented error of a dead peer within seconds; then they are ended.
constexpr int kGraceAfterFailure_ms = 10'000, kGraceAfterTerm_ms = 5'000;
constexpr int32_t kChecks = 2, kMostAutomaticRuns = 16;

std::unique_ptr<StoreServer> serve(StoreServer::Absent absent) {
  std::string error;
  std::unique_ptr<StoreServer> server = StoreServer::start(std::move(absent), &error);
  if (server == nullptr)
    fail(kTool, kRunFailed, "cannot serve the store that ranks meet at: 127.0.0.1: " + error + "; free a port");
  return server;
}

[[noreturn]] void end_with_signal(std::vector<RankProcess>& processes, int signal) {
  end_all(processes, kGraceAfterTerm_ms);
  exit(128 + signal);
}

// All ranks live. The status of the first that failed, else 0.
int run_living(const WorldOptions& options) {
  const std::unique_ptr<StoreServer> store = serve(nullptr);
  std::vector<RankProcess> processes(static_cast<size_t>(options.size));
  for (int rank = 0; rank < options.size; ++rank) {
    RankProcess& process = processes[static_cast<size_t>(rank)];
    process.rank = rank;
    if (!start_rank(options.program, launcher_variables(rank, options.size, options.gpus_per_node, store->port()),
                    &process)) {
      end_all(processes, kGraceAfterTerm_ms);
      return kRunFailed;
    }
  }
  int failed = 0, signal = 0;
  for (int left = options.size; left > 0; --left) {
    const int ended = wait_any(processes, failed != 0 ? kGraceAfterFailure_ms : -1, &signal);
    if (ended == -2) end_with_signal(processes, signal);
    if (ended == -1) {
      end_all(processes, kGraceAfterTerm_ms);
      break;
    }
    const RankProcess& process = processes[static_cast<size_t>(ended)];
    if (process.status == 0 || failed != 0) continue;
    failed = process.status;
    complain(kTool, "rank " + std::to_string(process.rank) + " ended with status " + std::to_string(failed) +
                        ": the others are ended in " + std::to_string(kGraceAfterFailure_ms / 1000) + " s");
  }
  return failed;
}

// Where ranks that run alone leave what later ones must know of them (run/python/maya_pipeline.py,
// driver_shim/nccl/kept_sends.h); gone when maya-run ends.
const std::string& twin_folder() {
  static const std::string* const folder = [] {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "maya-world-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
      fail(kTool, kRunFailed, "cannot make a folder: " + name + "; check TMPDIR");
    return new std::string(name);
  }();
  static const int registered = atexit([] {
    std::error_code ignored;
    std::filesystem::remove_all(twin_folder(), ignored);
  });
  (void)registered;
  return *folder;
}

std::string running_mark(int rank) { return twin_folder() + "/running-" + std::to_string(rank); }

// `ended`: the ranks that had ended when this one was chosen, in ascending order, with commas.
Variables lone_variables(const WorldOptions& options, int rank, int port, const std::string& ended) {
  Variables variables = launcher_variables(rank, options.size, options.gpus_per_node, port);
  const char* path = getenv("PYTHONPATH");
  variables.emplace_back("PYTHONPATH",
                         options.python_folder + (path != nullptr && *path != '\0' ? std::string(":") + path : ""));
  variables.emplace_back("MAYA_TWINS", "1");
  variables.emplace_back("MAYA_TWIN_FOLDER", twin_folder());
  variables.emplace_back("MAYA_TWINS_BEFORE", ended);
  return variables;
}

// Runs these ranks alone, at most `jobs` at a time, after those of `before` have ended. The first rank of the world
// prints where maya-run prints, the others into rank<R>.log in the trace folder.
int run_alone(const WorldOptions& options, const std::vector<int>& ranks, const std::set<int>& before) {
  const bool shown = before.empty();
  std::string ended_before;
  for (const int rank : before) ended_before += (ended_before.empty() ? "" : ",") + std::to_string(rank);
  std::vector<RankProcess> processes;
  std::vector<std::unique_ptr<StoreServer>> stores;
  size_t next = 0, running = 0;
  int signal = 0;
  while (next < ranks.size() || running > 0) {
    if (next < ranks.size() && running < static_cast<size_t>(options.jobs)) {
      const int rank = ranks[next++];
      stores.push_back(serve(twin_value));
      RankProcess& process = processes.emplace_back();
      process.rank = rank;
      if (!shown || rank != ranks[0])
        process.log_path =
            options.trace_folder.empty() ? "/dev/null" : options.trace_folder + "/rank" + std::to_string(rank) + ".log";
      std::ofstream(running_mark(rank)).flush();
      if (!start_rank(options.program, lone_variables(options, rank, stores.back()->port(), ended_before), &process)) {
        end_all(processes, kGraceAfterTerm_ms);
        return kRunFailed;
      }
      ++running;
      continue;
    }
    const int ended = wait_any(processes, -1, &signal);
    if (ended == -2) end_with_signal(processes, signal);
    --running;
    const RankProcess& process = processes[static_cast<size_t>(ended)];
    std::error_code ignored;
    std::filesystem::remove(running_mark(process.rank), ignored);
    if (process.status == 0) continue;
    const bool logged = !process.log_path.empty() && !options.trace_folder.empty();
    const std::string tail = logged ? log_tail(process.log_path) : "";
    complain(kTool, "rank " + std::to_string(process.rank) + ", run alone, ended with status " +
                        std::to_string(process.status) + (tail.empty() ? "" : ": " + tail) +
                        (logged ? "; see " + process.log_path : ""));
    end_all(processes, kGraceAfterTerm_ms);
    return process.status;
  }
  return 0;
}

std::set<std::string> trace_files(const std::string& folder) {
  std::set<std::string> files;
  DIR* const directory = opendir(folder.c_str());
  if (directory == nullptr) return files;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".pb") == 0) files.insert(folder + "/" + name);
  }
  closedir(directory);
  return files;
}

// Summaries of the ranks whose traces appeared since `before`. The files of helper processes of a rank, without device
// work, say nothing and are left out.
void read_summaries(const std::string& folder, const std::string& run_id, std::set<std::string>* before,
                    std::vector<predictor::RankSummary>* summaries) {
  for (const std::string& path : trace_files(folder)) {
    if (!before->insert(path).second) continue;
    const trace::LoadResult loaded = trace::load_trace(path);
    for (const trace::LoadedTrace& trace : loaded.traces) {
      if (trace.process.run_id() != run_id || trace.process.rank() < 0 || trace.communicators.empty()) continue;
      summaries->push_back(predictor::summarize(trace));
    }
  }
}

int run_automatic(const WorldOptions& options) {
  if (options.trace_folder.empty())
    fail(kTool, kUsage,
         "--ranks auto needs traces to tell which ranks differ; leave out --no-trace, or give --ranks all");
  const char* run_id = getenv("MAYA_RUN_ID");
  std::set<std::string> seen = trace_files(options.trace_folder);
  std::vector<predictor::RankSummary> summaries;
  std::set<int> ran;
  for (std::vector<int> ranks = {0}; !ranks.empty();) {
    if (const int status = run_alone(options, ranks, ran); status != 0) return status;
    ran.insert(ranks.begin(), ranks.end());
    read_summaries(options.trace_folder, run_id == nullptr ? "" : run_id, &seen, &summaries);
    if (summaries.empty()) {
      complain(kTool,
               "rank 0 made no communicator: its other ranks are taken to do the same; give --ranks all to run them");
      return 0;
    }
    std::vector<int> more;
    for (const int32_t rank : predictor::next_ranks(summaries, options.size, kChecks, kMostAutomaticRuns))
      if (ran.count(rank) == 0) more.push_back(rank);
    ranks = std::move(more);
  }
  fprintf(stderr, "maya-run: %zu of %d ranks ran%s\n", ran.size(), options.size,
          ran.size() == static_cast<size_t>(options.size)
              ? ", each alone"
              : ", the others are inferred; maya-predict tells which stand for which");
  return 0;
}

}  // namespace

int run_world(const WorldOptions& options) {
  block_signals();
  if (options.ranks == "all") return run_living(options);
  if (options.ranks == "auto") return options.size == 1 ? run_living(options) : run_automatic(options);
  std::vector<int> ranks;
  parse_ranks(options.ranks, options.size, &ranks);
  return static_cast<int>(ranks.size()) == options.size ? run_living(options) : run_alone(options, ranks, {});
}

}  // namespace maya::cli
