#include "trace_proto/pack.h"

#include <algorithm>
#include <cstdio>

#include "cli/common.h"
#include "cli/trace/commands.h"

namespace maya::cli::trace {
namespace {

using maya::trace::ReadStatus;

struct Options {
  std::vector<std::string> paths;
  std::string output;
};

int pack_one(const std::string& path, const std::string& output) {
  const maya::trace::PackResult result = maya::trace::pack(path, output, false);
  if (result.input != ReadStatus::kOk) return complain_unusable(path, result.input, result.error);
  if (result.damaged) {
    complain(kTool,
             result.error + ": " + path + "; maya-trace check tells what can be read, only whole traces are packed");
    return kInput;
  }
  if (!result.written) {
    complain(kTool, result.error + "; choose another place with --output");
    return kOutput;
  }
  std::printf("%s: %llu -> %llu bytes, %llu packets\n", output.c_str(),
              static_cast<unsigned long long>(result.input_bytes), static_cast<unsigned long long>(result.output_bytes),
              static_cast<unsigned long long>(result.packets));
  return kDone;
}

int pack_all(const Options& options) {
  if (!options.output.empty() && options.paths.size() > 1) {
    complain(kTool, "--output takes one trace: " + std::to_string(options.paths.size()) +
                        " are given; leave it out to pack each in its place");
    return kUsage;
  }
  int status = kDone;
  for (const std::string& path : options.paths)
    status = std::max(status, pack_one(path, options.output.empty() ? path : options.output));
  return status;
}

}  // namespace

void add_pack(CLI::App& app, std::function<int()>* run) {
  auto* command = app.add_subcommand(
      "pack", "Compresses traces without loss. Every command reads packed traces as it reads others");
  const auto options = std::make_shared<Options>();
  command->add_option("TRACE", options->paths, "Trace files; each is replaced by its packed form")->required();
  command->add_option("--output,-o", options->output, "Write here and keep the trace as it is");
  command->callback([options, run] { *run = [options] { return pack_all(*options); }; });
}

}  // namespace maya::cli::trace
