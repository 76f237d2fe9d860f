#include "cli/train/collectives.h"

#include <cstdio>
#include <fstream>
#include <map>

#include "cli/common.h"
#include "predictor/training/collectives/fit.h"
#include "predictor/training/collectives/score.h"
#include "predictor/training/parameters.h"

namespace maya::cli {
namespace {

using training::CollectiveResult;
using training::CollectiveSplit;
using training::Score;

constexpr int kParts = 5;  // every size is kept back once, a fifth at a time
constexpr CollectiveSplit kSplits[] = {CollectiveSplit::kSizes, CollectiveSplit::kRanks, CollectiveSplit::kKinds,
                                       CollectiveSplit::kFabrics};

struct Line {
  std::string split, fabric, kind;
  Score learned, line;
};

std::vector<Line> lines_of(CollectiveSplit split, const std::vector<CollectiveResult>& results) {
  std::map<std::pair<std::string, std::string>, std::vector<CollectiveResult>> groups;
  for (const CollectiveResult& result : results)
    groups[{result.fabric, std::string(collective_name(result.call.kind))}].push_back(result);
  const std::string name = split_name(split);
  std::vector<Line> lines = {{name, "all", "all", score_of(results), line_score_of(results)}};
  for (const auto& [group, part] : groups)
    lines.push_back({name, group.first, group.second, score_of(part), line_score_of(part)});
  return lines;
}

void print(const std::vector<Line>& lines) {
  std::printf("%-9s %-34s %-14s %6s  %8s %8s %9s   %8s %8s\n", "kept back", "links", "collective", "sizes", "median",
              "p95", "in 80 %", "line", "p95");
  for (const Line& line : lines) {
    std::printf("%-9s %-34s %-14s %6zu  %7.2f%% %7.2f%% %8.1f%%", line.split.c_str(), line.fabric.c_str(),
                line.kind.c_str(), line.learned.rows, 100 * line.learned.median, 100 * line.learned.p95,
                100 * line.learned.coverage);
    if (line.line.rows > 0)
      std::printf("   %7.2f%% %7.2f%%\n", 100 * line.line.median, 100 * line.line.p95);
    else
      std::printf("   %8s %8s\n", "", "");
  }
}

void print_json(const std::vector<Line>& lines) {
  std::printf("{\"format\": 1, \"collectives\": [");
  const char* separator = "";
  for (const Line& line : lines) {
    std::printf(
        "%s\n  {\"kept_back\": \"%s\", \"links\": \"%s\", \"collective\": \"%s\", \"sizes\": %zu, \"median\": %.5f, "
        "\"p95\": %.5f, \"coverage\": %.4f",
        separator, line.split.c_str(), line.fabric.c_str(), line.kind.c_str(), line.learned.rows, line.learned.median,
        line.learned.p95, line.learned.coverage);
    if (line.line.rows > 0) std::printf(", \"line_median\": %.5f, \"line_p95\": %.5f", line.line.median, line.line.p95);
    std::printf("}");
    separator = ",";
  }
  std::printf("\n]}\n");
}

}  // namespace

int train_collectives(std::string_view tool, const TrainCollectives& arguments) {
  if (arguments.data.empty()) fail(tool, kUsage, "nothing to learn from; give --data");
  std::vector<training::MeasuredFabric> fabrics;
  training::Report report;
  std::string error;
  for (const std::string& path : arguments.data)
    if (!read_collectives(path, &fabrics, &report, &error)) fail(tool, kInput, error);
  if (arguments.sources) std::fputs(report.text().c_str(), stderr);
  if (fabrics.empty()) fail(tool, kInput, "no timings of collectives that a model can learn from");
  CollectiveTable table = fit_collectives(fabrics);
  calibrate(fabrics, arguments.seed, &table);
  if (!arguments.parameters.empty()) {
    std::vector<TableParameter> parameters;
    if (!training::read_parameters(arguments.parameters, "all", &parameters, &error)) fail(tool, kInput, error);
    for (const TableParameter& parameter : parameters)
      table.set_parameter(parameter.name, parameter.value, parameter.error);
  }
  std::vector<Line> lines;
  // Another deal than the one that the intervals come from.
  for (CollectiveSplit split : kSplits) {
    std::vector<CollectiveResult> results = held_out_collectives(fabrics, split, kParts, arguments.seed + 1);
    for (CollectiveResult& result : results) table.apply_interval(result.distance, &result.estimate);
    for (Line& line : lines_of(split, results)) lines.push_back(std::move(line));
  }
  if (arguments.json)
    print_json(lines);
  else
    print(lines);
  if (!arguments.out.empty()) {
    std::ofstream file(arguments.out, std::ios::binary | std::ios::trunc);
    file << "# Made by maya-train --collectives; what the lines mean is in predictor/core/collective_table.h.\n"
         << table.text();
    file.close();
    if (!file) fail(tool, kOutput, "table cannot be written: " + arguments.out);
  }
  return finish_output(tool, kDone);
}

}  // namespace maya::cli
