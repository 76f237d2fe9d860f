// The commands of maya-trace. Each adds itself to the application; the function that it leaves in *run carries it out
// and returns the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "trace_proto/reader.h"

namespace maya::cli::trace {

constexpr const char* kTool = "maya-trace";

void add_dump(CLI::App& app, std::function<int()>* run);
void add_stats(CLI::App& app, std::function<int()>* run);
void add_check(CLI::App& app, std::function<int()>* run);
void add_pack(CLI::App& app, std::function<int()>* run);
void add_import(CLI::App& app, std::function<int()>* run);

// Complains about an input that cannot be used; returns kInput.
int complain_unusable(const std::string& path, maya::trace::ReadStatus status, const std::string& error);

}  // namespace maya::cli::trace
