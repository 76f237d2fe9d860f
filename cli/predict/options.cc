#include "cli/predict/options.h"

#include <charconv>

namespace maya::cli {

void add_predict_options(CLI::App& app, PredictOptions* options) {
  app.add_option("TRACE", options->traces, "Trace files (*.pb), or folders of them, of one run");
  app.add_option("--device", options->prediction.device,
                 "Device to predict for: a known name or a profile file; default: the traced one");
  app.add_flag("--json", options->json, "Write the report as JSON");
  app.add_option("--timeline", options->timeline, "Write a timeline to FILE.json or FILE.json.gz");
  app.add_option("--memory-timeline", options->memory_timeline, "Write device memory over time to a CSV file");
  app.add_option(
         "--host-scale", options->prediction.host_scale,
         "Multiply the host's own time between calls: 0.5 is a host twice as fast; default: maya-run's --cpu-scale")
      ->check(CLI::Range(0.001, 1000.0));
  app.add_option(
         "--kernel-scale", options->kernel_scales,
         "What if: multiply the time of operations whose name or family matches a pattern, as PATTERN=FACTOR; may "
         "be given several times, all that match apply")
      ->allow_extra_args(false);
  app.add_option(
         "--device-spread", options->prediction.device_spread,
         "Standard deviation of kernel times between devices of a model, over their mean: where devices wait for "
         "each other, kernels take the time of the slowest; 0: all are alike; default: the table's")
      ->check([](const std::string& text) {
        double spread = -1;
        const char* const end = text.data() + text.size();
        const bool whole = std::from_chars(text.data(), end, spread).ptr == end;
        return whole && spread >= 0 && spread <= predictor::kMostDeviceSpread
                   ? std::string()
                   : "expected a share from 0 to 0.2, such as 0.015: " + text;
      });
  app.add_flag("--list-clusters", options->list_clusters, "List the known clusters and end");
  app.add_option("--table", options->prediction.table,
                 "Learned table of the device (maya-train); default: the one that came with Maya");
  app.add_option("--durations", options->durations,
                 "measured: take the durations that a profiler measured (maya-trace import), which tells errors of the "
                 "schedule from those of estimates; default: estimated")
      ->check(CLI::IsMember({"measured", "estimated"}));
  app.add_option("--fail-on", options->fail_on,
                 "Exit status 1 when so; a list of oom: out of memory, deadlock: ranks wait for each other, mismatch: "
                 "ranks do not call the same collectives")
      ->delimiter(',')
      ->allow_extra_args(false)  // the next word is a trace
      ->check(CLI::IsMember({"oom", "deadlock", "mismatch"}));
  app.add_option("--explain", options->prediction.explain,
                 "Explain the estimates of operations whose name or family matches PATTERN");
  app.add_option("--cluster", options->prediction.cluster,
                 "Nodes and network that connect the ranks: a name from --list-clusters or the path of a description; "
                 "default: the traced one, else what the device is usually found in");
  app.add_option("--timeline-ranks", options->timeline_ranks,
                 "Ranks in the timeline, such as 0,3,8-11; default: all that ran, up to 8");
}

std::string check_predict_options(PredictOptions* options) {
  if (options->list_clusters) return "";
  if (options->traces.empty()) return "TRACE is required: name a trace (*.pb) or a folder of traces";
  for (const std::string& text : options->kernel_scales) {
    predictor::KernelScale scale;
    if (const predictor::Failure failure = predictor::parse_kernel_scale(text, &scale)) return failure.text;
    options->prediction.kernel_scales.push_back(scale);
  }
  if (options->durations == "measured") options->prediction.durations = predictor::Durations::kMeasured;
  return "";
}

}  // namespace maya::cli
