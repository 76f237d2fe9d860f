#include <cstdio>

#include "cli/common.h"
#include "cli/trace/commands.h"
#include "predictor/kineto/convert.h"
#include "predictor/output_file.h"
#include "predictor/target.h"

namespace maya::cli::trace {
namespace {

using predictor::Failure;
using predictor::FailureKind;

struct Options {
  std::string input;
  std::string output;
  std::string device;
};

int report(const Failure& failure) {
  complain(kTool, failure.text);
  return failure.kind == FailureKind::kUsage ? kUsage : failure.kind == FailureKind::kOutput ? kOutput : kInput;
}

int import_trace(const Options& options) {
  if (!options.device.empty()) {  // usage errors come before those of the input
    device::DeviceProfile profile;
    if (const Failure failure = predictor::named_profile(options.device, &profile)) return report(failure);
  }
  predictor::kineto::KinetoTrace trace;
  if (const Failure failure = predictor::kineto::read_kineto(options.input, &trace)) return report(failure);
  predictor::kineto::Conversion conversion;
  if (const Failure failure = predictor::kineto::convert(trace, options.device, &conversion)) return report(failure);
  predictor::OutputFile file(options.output);
  file.write(conversion.bytes);
  if (const Failure failure = file.close()) return report(failure);
  std::printf(
      "%s: %llu kernels, copies and fills on %s, %llu of them enqueued before the profile began; waits between "
      "streams: %llu recorded, %llu inferred\n",
      options.output.c_str(), static_cast<unsigned long long>(conversion.work), conversion.device.c_str(),
      static_cast<unsigned long long>(conversion.work_without_call),
      static_cast<unsigned long long>(conversion.waits_recorded),
      static_cast<unsigned long long>(conversion.waits_inferred));
  if (trace.left_out != 0)
    complain(kTool, std::to_string(trace.left_out) + " events without a usable time were left out: " + options.input +
                        "; the rest was converted");
  return kDone;
}

}  // namespace

void add_import(CLI::App& app, std::function<int()>* run) {
  auto* command = app.add_subcommand(
      "import", "Turns a trace of PyTorch's profiler (Chrome JSON) into one of ours, with measured durations");
  const auto options = std::make_shared<Options>();
  command->add_option("KINETO", options->input, "Profiler's trace: *.json or *.json.gz")->required();
  command->add_option("--out,-o", options->output, "Trace to write (*.pb)")->required();
  command->add_option("--device", options->device,
                      "Device that it was measured on: a known name or a profile file; default: the one named in it");
  command->callback([options, run] { *run = [options] { return import_trace(*options); }; });
}

}  // namespace maya::cli::trace
