// Replays profiler traces: converts each into one of ours, simulates it with measured and with estimated durations, and
// prints the spans beside the real one. README.md in this folder says how to read the figures.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "predictor/kineto/convert.h"
#include "predictor/predict.h"
#include "trace_proto/loaded_trace.h"

namespace {

using maya::predictor::CallKind;
using maya::predictor::Durations;
using maya::predictor::RankPrediction;
using maya::trace::Event;
using maya::trace::LoadedTrace;

struct Arguments {
  std::vector<std::string> files;
  std::string device;           // for traces of devices without a profile of ours
  std::string fallback_device;  // likewise, only where needed
  size_t drift_every = 0;       // print real and simulated start of every n-th piece of work
};

int64_t real_start_ns(const Event& event) { return static_cast<int64_t>(event.time_ns) + event.start_ns; }
int64_t real_end_ns(const Event& event) { return real_start_ns(event) + static_cast<int64_t>(event.measured_ns); }

struct Spans {
  double whole_ms = 0;  // from the first start to the last end on the device
  double step_ms = 0;   // median over the steps that count; 0: fewer than two steps
};

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// `end_ns(i)` and `start_ns(i)` of the work of event i.
template <class Start, class End>
Spans spans_of(const LoadedTrace& trace, const RankPrediction& rank, Start start_ns, End end_ns) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].measured_ns == 0) continue;
    first = std::min(first, start_ns(i));
    last = std::max(last, end_ns(i));
  }
  std::vector<double> steps;
  for (size_t k = std::max<size_t>(1, rank.steps.warm_up); k < rank.steps.steps.size(); ++k)
    steps.push_back(
        static_cast<double>(end_ns(rank.steps.steps[k].last_work) - end_ns(rank.steps.steps[k - 1].last_work)) / 1e6);
  return {static_cast<double>(last - first) / 1e6, median_of(steps)};
}

Spans real_spans(const LoadedTrace& trace, const RankPrediction& rank) {
  return spans_of(
      trace, rank, [&](size_t i) { return real_start_ns(trace.events[i]); },
      [&](size_t i) { return real_end_ns(trace.events[i]); });
}

Spans simulated_spans(const LoadedTrace& trace, const RankPrediction& rank) {
  return spans_of(
      trace, rank, [&](size_t i) { return static_cast<int64_t>(rank.simulation.work_start_ns[i]); },
      [&](size_t i) { return static_cast<int64_t>(rank.simulation.work_end_ns[i]); });
}

double error_percent(double predicted, double real) { return real == 0 ? 0 : (predicted / real - 1) * 100; }

void print_drift(const LoadedTrace& trace, const RankPrediction& rank, size_t every) {
  std::vector<size_t> order;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (trace.events[i].measured_ns != 0) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return real_start_ns(trace.events[a]) < real_start_ns(trace.events[b]); });
  if (order.empty()) return;
  const int64_t real_zero = real_start_ns(trace.events[order.front()]);
  const auto simulated_zero = static_cast<int64_t>(rank.simulation.work_start_ns[order.front()]);
  std::printf("    %12s %12s %10s  stream  name\n", "real us", "simulated", "drift");
  for (size_t n = 0; n < order.size(); n += every) {
    const size_t i = order[n];
    const double real = static_cast<double>(real_start_ns(trace.events[i]) - real_zero) / 1e3;
    const double simulated =
        static_cast<double>(static_cast<int64_t>(rank.simulation.work_start_ns[i]) - simulated_zero) / 1e3;
    std::printf("    %12.1f %12.1f %+10.1f  %6u  %.70s\n", real, simulated, simulated - real, trace.events[i].stream,
                rank.costs.costs[rank.costs.of_event[i]].name.c_str());
  }
}

bool replay(const std::string& path, const Arguments& arguments) {
  namespace predictor = maya::predictor;
  const std::string name = std::filesystem::path(path).filename().string();
  const auto failed = [&](const std::string& why) {
    std::fprintf(stderr, "replay: %s\n", why.c_str());
    return false;
  };
  predictor::kineto::KinetoTrace kineto;
  if (const auto failure = read_kineto(path, &kineto)) return failed(failure.text);
  predictor::kineto::Conversion conversion;
  if (auto failure = convert(kineto, arguments.device, &conversion)) {
    if (arguments.fallback_device.empty()) return failed(failure.text);
    conversion = {};
    if (failure = convert(kineto, arguments.fallback_device, &conversion)) return failed(failure.text);
  }
  maya::trace::LoadResult loaded = maya::trace::load_trace(conversion.bytes.data(), conversion.bytes.size());
  if (loaded.traces.size() != 1) return failed(name + ": converted trace does not load: " + loaded.error);
  Spans spans[2];
  Spans real;
  for (const Durations durations : {Durations::kMeasured, Durations::kEstimated}) {
    predictor::Options options;
    options.durations = durations;
    predictor::Prediction prediction;
    if (const auto failure = predict(loaded.traces, options, &prediction)) return failed(name + ": " + failure.text);
    const RankPrediction& rank = prediction.ranks.front();
    spans[durations == Durations::kMeasured ? 0 : 1] = simulated_spans(loaded.traces.front(), rank);
    if (durations == Durations::kMeasured) real = real_spans(loaded.traces.front(), rank);
    if (durations == Durations::kMeasured && arguments.drift_every != 0)
      print_drift(loaded.traces.front(), rank, arguments.drift_every);
  }
  const auto line = [&](const char* what, double Spans::*span) {
    if (real.*span == 0) return;
    std::printf("%-44.44s %-12s %-5s %10.3f %10.3f %+7.2f %10.3f %+7.2f\n", name.c_str(), conversion.device.c_str(),
                what, real.*span, spans[0].*span, error_percent(spans[0].*span, real.*span), spans[1].*span,
                error_percent(spans[1].*span, real.*span));
  };
  line("whole", &Spans::whole_ms);
  line("step", &Spans::step_ms);
  return true;
}

bool is_kineto(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--device") == 0 && has_value) {
      arguments.device = argv[++i];
    } else if (std::strcmp(argv[i], "--fallback-device") == 0 && has_value) {
      arguments.fallback_device = argv[++i];
    } else if (std::strcmp(argv[i], "--drift") == 0 && has_value) {
      arguments.drift_every = std::strtoul(argv[++i], nullptr, 10);
    } else if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file() && is_kineto(entry.path())) arguments.files.push_back(entry.path().string());
    } else {
      arguments.files.emplace_back(argv[i]);
    }
  }
  if (arguments.files.empty()) {
    std::fprintf(stderr,
                 "usage: replay [--device NAME] [--fallback-device NAME] [--drift N] FOLDER|KINETO.json[.gz]...\n");
    return 2;
  }
  std::sort(arguments.files.begin(), arguments.files.end());
  std::printf("%-44s %-12s %-5s %10s %10s %7s %10s %7s\n", "trace", "device", "span", "real ms", "measured", "error %",
              "estimated", "error %");
  bool good = true;
  for (const std::string& file : arguments.files) good &= replay(file, arguments);
  return good ? 0 : 3;
}
