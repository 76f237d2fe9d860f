#include "predictor/input.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

namespace maya::predictor {
namespace {

namespace fs = std::filesystem;

Failure expand(const std::string& path, std::vector<std::string>* files) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return {FailureKind::kInput, "no such file or folder: " + path + "; give a trace (*.pb) or a folder of traces"};
  if (!fs::is_directory(status)) {
    files->push_back(path);
    return {};
  }
  std::vector<std::string> found;
  fs::directory_iterator entry(path, error);
  if (error)
    return {FailureKind::kInput, "folder cannot be read: " + path + ": " + error.message() + "; check its permissions"};
  for (const fs::directory_iterator end; entry != end; entry.increment(error)) {
    if (error) break;
    if (entry->path().extension() == ".pb" && entry->is_regular_file(error)) found.push_back(entry->path().string());
  }
  if (found.empty())
    return {FailureKind::kInput,
            "no trace in folder: " + path + "; run a program with maya-run --trace-dir " + path + " first"};
  std::sort(found.begin(), found.end());
  files->insert(files->end(), found.begin(), found.end());
  return {};
}

// Traces with device work that come from more than one run cannot be one prediction.
Failure check_runs(const std::vector<trace::LoadedTrace>& traces) {
  std::map<std::string, std::string> first_file;  // by run id
  for (const trace::LoadedTrace& trace : traces)
    if (trace.has_process && has_device_work(trace)) first_file.try_emplace(trace.process.run_id(), trace.path);
  if (first_file.size() < 2) return {};
  std::string text = "traces of " + std::to_string(first_file.size()) + " different runs: ";
  size_t named = 0;
  for (const auto& [run, file] : first_file) {
    if (named == 4) {
      text += ", ...";
      break;
    }
    text += (named++ == 0 ? "" : ", ") + (run.empty() ? std::string("(no run id)") : run) + " (" + file + ")";
  }
  return {FailureKind::kInput, text + "; give the files of one run, or a --trace-dir of its own to every run"};
}

}  // namespace

bool has_device_work(const trace::LoadedTrace& trace) {
  return std::any_of(trace.events.begin(), trace.events.end(), [&](const trace::Event& event) {
    switch (event.kind) {
      case trace::EventKind::kLaunch:
      case trace::EventKind::kOperation:
      case trace::EventKind::kCopy:
      case trace::EventKind::kFill:
      case trace::EventKind::kAllocationFailure:
        return true;
      case trace::EventKind::kAllocation: {
        const proto::Allocation& allocation = trace.allocations[event.index];
        return allocation.charged_bytes() != 0 && allocation.layer() != proto::LAYER_CONTEXT;
      }
      default:
        return false;
    }
  });
}

Failure load_input(const std::vector<std::string>& paths, Input* input) {
  std::vector<std::string> files;
  for (const std::string& path : paths)
    if (Failure failure = expand(path, &files)) return failure;
  for (const std::string& file : files) {
    trace::LoadResult loaded = trace::load_trace(file);
    if (loaded.status != trace::ReadStatus::kOk) {
      std::string text = loaded.error.find(file) == std::string::npos ? file + ": " + loaded.error : loaded.error;
      // A process that was killed at once leaves an empty file; beside others it is no obstacle.
      if (loaded.status == trace::ReadStatus::kEmpty && files.size() > 1) {
        input->warnings.push_back("left out: " + text);
        continue;
      }
      return {FailureKind::kInput, std::move(text)};
    }
    for (trace::LoadedTrace& trace : loaded.traces) {
      if (trace.path.empty()) trace.path = file;
      input->traces.push_back(std::move(trace));
    }
  }
  if (input->traces.empty())
    return {FailureKind::kInput, "no usable trace: " + paths.front() + "; all files are empty"};
  if (Failure failure = check_runs(input->traces)) return failure;
  std::stable_sort(input->traces.begin(), input->traces.end(),
                   [](const trace::LoadedTrace& a, const trace::LoadedTrace& b) {
                     const bool work_a = has_device_work(a), work_b = has_device_work(b);
                     if (work_a != work_b) return work_a;
                     if (a.process.rank() != b.process.rank()) return a.process.rank() < b.process.rank();
                     return a.path < b.path;
                   });
  return {};
}

}  // namespace maya::predictor
