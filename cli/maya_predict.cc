// maya-predict: step time, breakdown and memory of a traced program on a device.
#include <algorithm>
#include <cstdio>

#include "cli/common.h"
#include "predictor/input.h"
#include "predictor/predict.h"
#include "predictor/report.h"
#include "predictor/target.h"
#include "predictor/timeline.h"

namespace {

using maya::predictor::Failure;
using maya::predictor::FailureKind;

constexpr char kTool[] = "maya-predict";
constexpr char kExamples[] = R"(Examples:
  maya-predict maya-trace                              the run traced into ./maya-trace, on the device it was traced for
  maya-predict trace.pb --device a100-sxm-80 --json    the same program on another device, for scripts
  maya-predict trace.pb --timeline step.json.gz        a timeline for https://ui.perfetto.dev or chrome://tracing
  maya-predict trace.pb --explain 'gemm'               why its matrix products are estimated as they are
  maya-predict trace.pb --fail-on oom                  exit status 1 when it does not fit
  maya-predict maya-trace --kernel-scale attention=0.8 what if attention took a fifth less time
  maya-predict maya-trace --cluster p5                 the ranks of a world on other nodes and another network

Exit status: 0 done; 1 --fail-on says so; 2 wrong usage; 3 a trace cannot be used; 4 a file cannot be written.)";

struct Arguments {
  std::vector<std::string> traces;
  maya::predictor::Options options;
  bool json = false;
  std::string timeline;
  std::string memory_timeline;
  std::string timeline_ranks;
  std::vector<std::string> fail_on;
};

int report_failure(const Failure& failure) {
  maya::cli::complain(kTool, failure.text);
  switch (failure.kind) {
    case FailureKind::kUsage:
      return maya::cli::kUsage;
    case FailureKind::kOutput:
      return maya::cli::kOutput;
    default:
      return maya::cli::kInput;
  }
}

int run(const Arguments& arguments) {
  maya::device::DeviceProfile profile;
  if (!arguments.options.device.empty())  // usage errors come before those of the input
    if (const Failure failure = maya::predictor::named_profile(arguments.options.device, &profile))
      return report_failure(failure);
  maya::Cluster cluster;
  if (!arguments.options.cluster.empty())
    if (const Failure failure = maya::predictor::named_cluster(arguments.options.cluster, &cluster))
      return report_failure(failure);
  maya::predictor::Input input;
  if (const Failure failure = load_input(arguments.traces, &input)) return report_failure(failure);
  maya::predictor::Prediction prediction;
  prediction.warnings = input.warnings;
  if (const Failure failure = predict(input.traces, arguments.options, &prediction)) return report_failure(failure);
  if (!arguments.timeline.empty()) {
    std::vector<size_t> ranks;
    if (!arguments.timeline_ranks.empty())
      if (const Failure failure = choose_ranks(prediction, arguments.timeline_ranks, &ranks))
        return report_failure(failure);
    if (const Failure failure = write_timeline(prediction, arguments.timeline, ranks)) return report_failure(failure);
  }
  if (!arguments.memory_timeline.empty())
    if (const Failure failure = write_memory_timeline(prediction, arguments.memory_timeline))
      return report_failure(failure);
  const std::string report = arguments.json ? report_json(prediction) : report_text(prediction);
  std::fwrite(report.data(), 1, report.size(), stdout);
  const bool negative = std::any_of(arguments.fail_on.begin(), arguments.fail_on.end(), [&](const std::string& what) {
    if (what == "oom") return memory_rank(prediction).memory.out_of_memory;
    return what == "deadlock" ? prediction.world.deadlocks != 0 : !prediction.world.mismatches.empty();
  });
  return maya::cli::finish_output(kTool, negative ? maya::cli::kNegative : maya::cli::kDone);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Predicts step time, breakdown and memory of a traced program.", kTool);
  app.footer(kExamples);
  maya::cli::add_version(app);
  Arguments arguments;
  app.add_option("TRACE", arguments.traces, "Trace files (*.pb), or folders of them, of one run");
  app.add_option("--device", arguments.options.device,
                 "Device to predict for: a known name or a profile file; default: the traced one");
  app.add_flag("--json", arguments.json, "Write the report as JSON");
  app.add_option("--timeline", arguments.timeline, "Write a timeline to FILE.json or FILE.json.gz");
  app.add_option("--memory-timeline", arguments.memory_timeline, "Write device memory over time to a CSV file");
  app.add_option(
         "--host-scale", arguments.options.host_scale,
         "Multiply the host's own time between calls: 0.5 is a host twice as fast; default: maya-run's --cpu-scale")
      ->check(CLI::Range(0.001, 1000.0));
  std::vector<std::string> kernel_scales;
  app.add_option(
         "--kernel-scale", kernel_scales,
         "What if: multiply the time of operations whose name or family matches a pattern, as PATTERN=FACTOR; may "
         "be given several times, all that match apply")
      ->allow_extra_args(false);
  bool list_clusters = false;
  app.add_flag("--list-clusters", list_clusters, "List the known clusters and end");
  app.add_option("--table", arguments.options.table,
                 "Learned table of the device (maya-train); default: the one that came with Maya");
  std::string durations = "estimated";
  app.add_option("--durations", durations,
                 "measured: take the durations that a profiler measured (maya-trace import), which tells errors of the "
                 "schedule from those of estimates; default: estimated")
      ->check(CLI::IsMember({"measured", "estimated"}));
  app.add_option("--fail-on", arguments.fail_on,
                 "Exit status 1 when so; a list of oom: out of memory, deadlock: ranks wait for each other, mismatch: "
                 "ranks do not call the same collectives")
      ->delimiter(',')
      ->allow_extra_args(false)  // the next word is a trace
      ->check(CLI::IsMember({"oom", "deadlock", "mismatch"}));
  app.add_option("--explain", arguments.options.explain,
                 "Explain the estimates of operations whose name or family matches PATTERN");
  app.add_option("--cluster", arguments.options.cluster,
                 "Nodes and network that connect the ranks: a name from --list-clusters or the path of a description; "
                 "default: the traced one, else what the device is usually found in");
  app.add_option("--timeline-ranks", arguments.timeline_ranks,
                 "Ranks in the timeline, such as 0,3,8-11; default: all that ran, up to 8");
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;
  if (list_clusters) {
    std::fputs(maya::cluster_list().c_str(), stdout);
    return maya::cli::finish_output(kTool, maya::cli::kDone);
  }
  if (arguments.traces.empty()) {
    maya::cli::complain(kTool, "TRACE is required: name a trace (*.pb) or a folder of traces");
    return maya::cli::kUsage;
  }
  for (const std::string& text : kernel_scales) {
    maya::predictor::KernelScale scale;
    if (const Failure failure = maya::predictor::parse_kernel_scale(text, &scale)) return report_failure(failure);
    arguments.options.kernel_scales.push_back(scale);
  }
  if (durations == "measured") arguments.options.durations = maya::predictor::Durations::kMeasured;
  return run(arguments);
}
