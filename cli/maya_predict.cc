// maya-predict: step time, breakdown and memory of a traced program on a device.
#include <algorithm>
#include <cstdio>

#include "cli/common.h"
#include "cli/predict/options.h"
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

int run(const maya::cli::PredictOptions& options) {
  maya::device::DeviceProfile profile;
  if (!options.prediction.device.empty())  // usage errors come before those of the input
    if (const Failure failure = maya::predictor::named_profile(options.prediction.device, &profile))
      return report_failure(failure);
  maya::Cluster cluster;
  if (!options.prediction.cluster.empty())
    if (const Failure failure = maya::predictor::named_cluster(options.prediction.cluster, &cluster))
      return report_failure(failure);
  maya::predictor::Input input;
  if (const Failure failure = load_input(options.traces, &input)) return report_failure(failure);
  maya::predictor::Prediction prediction;
  prediction.warnings = input.warnings;
  if (const Failure failure = predict(input.traces, options.prediction, &prediction)) return report_failure(failure);
  if (!options.timeline.empty()) {
    std::vector<size_t> ranks;
    if (!options.timeline_ranks.empty())
      if (const Failure failure = choose_ranks(prediction, options.timeline_ranks, &ranks))
        return report_failure(failure);
    if (const Failure failure = write_timeline(prediction, options.timeline, ranks)) return report_failure(failure);
  }
  if (!options.memory_timeline.empty())
    if (const Failure failure = write_memory_timeline(prediction, options.memory_timeline))
      return report_failure(failure);
  const std::string report = options.json ? report_json(prediction) : report_text(prediction);
  std::fwrite(report.data(), 1, report.size(), stdout);
  const bool negative = std::any_of(options.fail_on.begin(), options.fail_on.end(), [&](const std::string& what) {
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
  maya::cli::PredictOptions options;
  maya::cli::add_predict_options(app, &options);
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;
  if (const std::string wrong = maya::cli::check_predict_options(&options); !wrong.empty()) {
    maya::cli::complain(kTool, wrong);
    return maya::cli::kUsage;
  }
  if (options.list_clusters) {
    std::fputs(maya::cluster_list().c_str(), stdout);
    return maya::cli::finish_output(kTool, maya::cli::kDone);
  }
  return run(options);
}
