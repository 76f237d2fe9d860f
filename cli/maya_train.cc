// maya-train: learned runtime tables from measurements.
#include <cstdio>
#include <fstream>

#include "cli/common.h"
#include "cli/train/collectives.h"
#include "predictor/kineto/measurements.h"
#include "predictor/target.h"
#include "predictor/training/parameters.h"
#include "predictor/training/sources/registry.h"
#include "predictor/training/train.h"

namespace {

using maya::training::ModelScore;
using maya::training::Score;

constexpr char kTool[] = "maya-train";
constexpr char kExamples[] = R"(Examples:
  maya-train --device h100-sxm --data measurements --out h100-sxm.table
  maya-train --device h200-sxm --data measurements --holdout 0.1 --seed 2       only the error on shapes kept back
  maya-train --device a100-sxm-80 --data measurements --split unseen            kept back by (columns, depth), heads, ...
  maya-train --device h100-sxm --from-traces profile.json.gz --out mine.table   what a profiler measured on your machine
  maya-train --collectives --data measurements --out collectives.txt            timings of NCCL on all devices and networks

Measurements are CSV files, one schema a family (predictor/training/SCHEMA.md).
Exit status: 0 done; 2 wrong usage; 3 the measurements cannot be used; 4 the table cannot be written.)";

struct Arguments {
  std::string device;
  std::vector<std::string> data;
  std::vector<std::string> traces;
  std::string out;
  maya::training::TrainOptions options;
  std::vector<std::string> siblings;
  bool no_siblings = false;
  bool json = false;
  bool quiet = false;
  std::string parameters;
  bool sources = false;
  bool lines = false;
  bool collectives = false;
};

void print_scores(const maya::training::Trained& trained, const std::string& device) {
  std::printf("%-12s %-24s %7s  %7s %7s %7s %7s %9s   %9s %9s\n", "device", "model", "rows", "median", "mean", "p95",
              "bias", "in 80 %", "roofline", "constant");
  for (const ModelScore& score : trained.scores) {
    const Score& learned = score.learned;
    std::printf("%-12s %-24s %7zu  %6.2f%% %6.2f%% %6.2f%% %+6.2f%% %8.1f%%   %8.2f%% %8.2f%%\n", device.c_str(),
                text_of(score.name).c_str(), learned.rows, 100 * learned.median, 100 * learned.mean, 100 * learned.p95,
                100 * learned.bias, 100 * learned.coverage, 100 * score.roofline.median,
                100 * score.constant_efficiency.median);
  }
  for (const std::string& line : trained.left_out) std::printf("left out: %s\n", line.c_str());
  for (const maya::TableParameter& parameter : trained.table.parameters)
    std::printf("parameter %s = %.4f (standard error %.4f)\n", parameter.name, parameter.value, parameter.error);
}

const char* pattern_text(uint16_t pattern) {
  switch (static_cast<maya::AccessPattern>(pattern)) {
    case maya::AccessPattern::kStrided:
      return " strided";
    case maya::AccessPattern::kBroadcast:
      return " broadcast";
    case maya::AccessPattern::kInOrder:
      break;
  }
  return "";
}

// The straight lines of streaming operators: what a reader can check against a datasheet.
void print_lines(const maya::training::Trained& trained) {
  std::printf("%-16s %-22s %-9s %6s %10s %18s %22s\n", "family", "operator", "direction", "rows", "floor us",
              "share of bandwidth", "bytes");
  for (const auto& model : trained.table.models)
    for (const maya::StreamingLine& line : model.lines) {
      const std::string_view name = maya::operator_name(static_cast<maya::Operator>(line.op));
      const std::string shown = line.op == 0     ? "(all)"
                                : line.op >= 256 ? "copy " + std::to_string(line.op - 256)
                                                 : std::string(name);
      std::printf("%-16s %-22s %-9s %6u %10.2f %18.3f %10.3g to %9.3g\n",
                  std::string(maya::family_name(static_cast<maya::Family>(model.head.family))).c_str(),
                  (shown + pattern_text(line.pattern)).c_str(), line.direction != 0 ? "backward" : "forward", line.rows,
                  static_cast<double>(line.floor_ns) * 1e-3, static_cast<double>(line.share),
                  static_cast<double>(line.least_bytes), static_cast<double>(line.most_bytes));
    }
}

void print_json(const maya::training::Trained& trained, const std::string& device) {
  std::printf("{\"format\": 1, \"device\": \"%s\", \"models\": [", device.c_str());
  const char* separator = "";
  for (const ModelScore& score : trained.scores) {
    const Score& learned = score.learned;
    std::printf(
        "%s\n  {\"model\": \"%s\", \"held_out\": %zu, \"median\": %.5f, \"mean\": %.5f, \"p95\": %.5f, "
        "\"bias\": %.5f, \"coverage\": %.4f, \"roofline_median\": %.5f, \"constant_median\": %.5f}",
        separator, text_of(score.name).c_str(), learned.rows, learned.median, learned.mean, learned.p95, learned.bias,
        learned.coverage, score.roofline.median, score.constant_efficiency.median);
    separator = ",";
  }
  std::printf("\n], \"parameters\": {");
  separator = "";
  for (const maya::TableParameter& parameter : trained.table.parameters) {
    std::printf("%s\"%s\": %.6g", separator, parameter.name, parameter.value);
    separator = ", ";
  }
  std::printf("}}\n");
}

bool read_all(const Arguments& arguments, const std::string& device, bool report_sources,
              std::vector<maya::training::Measurement>* measurements, std::string* error) {
  maya::training::Report report;
  for (const std::string& path : arguments.data)
    if (!read_measurements(path, device, measurements, &report, error)) return false;
  if (report_sources) std::fputs(report.text().c_str(), stderr);
  return true;
}

int run(Arguments& arguments) {
  if (arguments.collectives)
    return maya::cli::train_collectives(kTool, {arguments.data, arguments.out, arguments.parameters,
                                                arguments.options.seed, arguments.sources, arguments.json});
  if (arguments.device.empty()) maya::cli::fail(kTool, maya::cli::kUsage, "no device; give --device, or --collectives");
  if (arguments.data.empty() && arguments.traces.empty())
    maya::cli::fail(kTool, maya::cli::kUsage, "nothing to learn from; give --data or --from-traces");
  const maya::device::DeviceProfile* profile = maya::device::find_builtin_profile(arguments.device);
  maya::device::DeviceProfile own;
  if (profile == nullptr) {
    if (const auto failure = maya::predictor::named_profile(arguments.device, &own))
      maya::cli::fail(kTool, maya::cli::kUsage, failure.text);
    profile = &own;
  }
  std::string error;
  std::vector<maya::training::Measurement> measurements;
  if (!read_all(arguments, profile->name, arguments.sources, &measurements, &error))
    maya::cli::fail(kTool, maya::cli::kInput, error);
  for (const std::string& path : arguments.traces)
    if (const auto failure = maya::predictor::kineto::read_measurements(path, profile->name, &measurements))
      maya::cli::fail(kTool, maya::cli::kInput, failure.text);
  std::vector<std::string> names = arguments.siblings;
  if (names.empty() && !arguments.no_siblings) names = maya::training::siblings_of(profile->name);
  std::vector<maya::training::Sibling> siblings;
  for (const std::string& name : names) {
    const maya::device::DeviceProfile* sibling = maya::device::find_builtin_profile(name);
    if (sibling == nullptr)
      maya::cli::fail(kTool, maya::cli::kUsage, "unknown device: " + name + "; --borrow takes built-in names");
    siblings.push_back({sibling, {}});
    if (!read_all(arguments, name, false, &siblings.back().measurements, &error))
      maya::cli::fail(kTool, maya::cli::kInput, error);
  }
  if (!arguments.quiet)
    arguments.options.progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  arguments.options.final_fit = !arguments.out.empty() || arguments.lines;
  maya::training::Trained trained;
  if (!train(*profile, measurements, siblings, arguments.options, &trained, &error))
    maya::cli::fail(kTool, maya::cli::kInput, error);
  if (!arguments.parameters.empty() &&
      !maya::training::read_parameters(arguments.parameters, profile->name, &trained.table.parameters, &error))
    maya::cli::fail(kTool, maya::cli::kInput, error);
  if (arguments.json)
    print_json(trained, profile->name);
  else
    print_scores(trained, profile->name);
  if (arguments.lines && !arguments.json) print_lines(trained);
  if (!arguments.out.empty()) {
    const std::string bytes = table_bytes(trained.table);
    std::ofstream file(arguments.out, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) maya::cli::fail(kTool, maya::cli::kOutput, "table cannot be written: " + arguments.out);
    if (!arguments.json)
      std::printf("%s: %zu models, %.2f MB\n", arguments.out.c_str(), trained.table.models.size(),
                  static_cast<double>(bytes.size()) * 1e-6);
  }
  return maya::cli::finish_output(kTool, maya::cli::kDone);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Learns runtime tables from measurements of a device.", kTool);
  app.footer(kExamples);
  maya::cli::add_version(app);
  Arguments arguments;
  app.add_option("--device", arguments.device, "Device that was measured: a known name or a profile file");
  app.add_option("--data", arguments.data, "Files or folders of measurements");
  app.add_option(
      "--from-traces", arguments.traces,
      "Profiler traces of the device (Kineto or Chrome JSON, *.json[.gz]) or traces with measured durations (*.pb)");
  app.add_option("--out", arguments.out, "Table file to write; without it only the held-out error is printed");
  app.add_option("--holdout", arguments.options.holdout, "Share of the shapes kept back for the error")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  app.add_option("--seed", arguments.options.seed, "Seed of the split and of the fit")->capture_default_str();
  std::string split = "random";
  app.add_option("--split", split,
                 "random: shapes at random; unseen: whole (columns, depth) pairs, head counts, row lengths")
      ->check(CLI::IsMember({"random", "unseen"}));
  app.add_option("--only", arguments.options.only, "Only models whose name contains this");
  app.add_option("--borrow", arguments.siblings, "Devices whose measurements fill gaps, the most alike first");
  app.add_flag("--no-borrow", arguments.no_siblings, "Use no measurements of other devices");
  app.add_flag("--json", arguments.json, "Write the errors as JSON");
  app.add_flag("--quiet", arguments.quiet, "No progress on standard error");
  app.add_flag("--lines", arguments.lines, "Print the straight line of each streaming operator");
  app.add_option("--parameters", arguments.parameters,
                 "File of further named parameters, one `device name value` a line; they replace fitted ones");
  app.add_flag("--collectives", arguments.collectives,
               "Learn timings of collectives, of all devices and networks at once, and print their held-out error");
  app.add_flag("--sources", arguments.sources, "Say what was read from each file, and what was left out");
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;
  if (split == "unseen") arguments.options.split = maya::training::Split::kUnseenShape;
  return run(arguments);
}
