// maya-estimate: durations of operations given as a table.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/common.h"
#include "predictor/collective_file.h"
#include "predictor/core/operation_columns.h"
#include "predictor/json_writer.h"
#include "predictor/nearest.h"
#include "predictor/target.h"

namespace {

constexpr char kTool[] = "maya-estimate";
constexpr char kExamples[] = R"(Examples:
  maya-estimate --families
  printf 'm,n,k,dtype\n4096,4096,4096,bfloat16\n' | maya-estimate --device h100-sxm --family gemm
  maya-estimate --device a100-sxm-80 --family attention --input shapes.csv --json
  printf 'operation,bytes,ranks,nodes\nall_reduce,1073741824,64,8\n' | maya-estimate --family collective --cluster p5

Exit status: 0 done; 2 wrong usage; 3 the table cannot be used; 4 output cannot be written.)";

struct Arguments {
  std::string device = "h100-sxm";
  std::string family;
  std::string input = "-";
  std::string table;
  std::string cluster;
  std::string collectives;
  bool sustained = false;
  bool json = false;
  bool families = false;
};

// Cells of one comma-separated line. Quoted cells may hold commas; two quotes in a quoted cell are one.
std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) {
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
  }
  return cells;
}

class Row : public maya::ColumnSource {
 public:
  Row(const std::vector<std::string>& header, const std::vector<std::string>& cells) : header_(header), cells_(cells) {}
  std::string_view value_of(std::string_view column) const override {
    for (size_t i = 0; i < header_.size() && i < cells_.size(); ++i)
      if (header_[i] == column) return cells_[i];
    return {};
  }

 private:
  const std::vector<std::string>& header_;
  const std::vector<std::string>& cells_;
};

int list_families() {
  for (const maya::FamilyColumns& family : maya::estimable_families()) {
    std::string line(family.name);
    line += ": ";
    for (std::string_view column : family.required)
      line += (column == family.required.front() ? "" : ",") + std::string(column);
    for (std::string_view column : family.optional) line += "[," + std::string(column) + "]";
    std::printf("%s\n    %s\n", line.c_str(), std::string(family.note).c_str());
  }
  return maya::cli::finish_output(kTool, maya::cli::kDone);
}

std::string known_families() {
  std::string names;
  for (const maya::FamilyColumns& family : maya::estimable_families()) names += " " + std::string(family.name);
  return names;
}

bool read_line(std::istream& in, std::string* line) {
  if (!std::getline(in, *line)) return false;
  if (!line->empty() && line->back() == '\r') line->pop_back();
  return true;
}

constexpr double kNanosecondsPerMicrosecond = 1000;

void write_json_row(maya::predictor::JsonWriter* json, const std::vector<std::string>& header,
                    const std::vector<std::string>& cells, const maya::Estimate& estimate) {
  json->begin_object();
  for (size_t i = 0; i < header.size(); ++i) json->key(header[i]).text(i < cells.size() ? cells[i] : "");
  json->key("median_us").number(estimate.median_ns / kNanosecondsPerMicrosecond, 3);
  json->key("low_us").number(estimate.low_ns / kNanosecondsPerMicrosecond, 3);
  json->key("high_us").number(estimate.high_ns / kNanosecondsPerMicrosecond, 3);
  json->key("provenance").text(maya::provenance_name(estimate.provenance));
  json->end_object();
}

int bad_table(const std::string& name, int line_number, const std::string& what) {
  maya::cli::complain(kTool, name + ": line " + std::to_string(line_number) + ": " + what + "; see --families");
  return maya::cli::kInput;
}

// Once for a table: what has no model, and what has.
void say_without_model(const maya::FamilyColumns& family, const maya::Estimator& estimator) {
  std::string models;
  if (estimator.table() != nullptr)
    for (const maya::TableModel& model : estimator.table()->models())
      models += (models.empty() ? "" : ", ") + maya::predictor::model_name(model);
  maya::cli::complain(kTool, "no model for some rows of family " + std::string(family.name) + " on " +
                                 estimator.profile().name + ": their estimates are analytic; " +
                                 (models.empty() ? "there is no learned table of this device" : "models: " + models));
}

int estimate_table(const Arguments& arguments, const maya::FamilyColumns& family, const maya::Estimator& estimator,
                   std::istream& in) {
  const std::string name = arguments.input == "-" ? "standard input" : arguments.input;
  std::string line;
  if (!read_line(in, &line)) return bad_table(name, 1, "empty table: expected a header");
  const std::vector<std::string> header = split_line(line);
  const Row names(header, header);
  for (std::string_view column : family.required)
    if (names.value_of(column).empty()) return bad_table(name, 1, "missing column: " + std::string(column));
  maya::predictor::JsonWriter json(2);
  if (arguments.json) {
    json.begin_object().key("format").integer(1).key("device").text(estimator.profile().name);
    json.key("family").text(family.name).key("rows").begin_array();
  } else {
    std::printf("%s,median_us,low_us,high_us,provenance\n", line.c_str());
  }
  bool analytic = false;
  for (int line_number = 2; read_line(in, &line); ++line_number) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = split_line(line);
    maya::Estimate estimate;
    std::string error;
    if (!maya::estimate_row(estimator, family, Row(header, cells), &estimate, &error))
      return bad_table(name, line_number, error);
    analytic = analytic || estimate.provenance == maya::Provenance::kAnalytic;
    if (arguments.json) {
      write_json_row(&json, header, cells, estimate);
      continue;
    }
    std::printf("%s,%.3f,%.3f,%.3f,%s\n", line.c_str(), estimate.median_ns / kNanosecondsPerMicrosecond,
                estimate.low_ns / kNanosecondsPerMicrosecond, estimate.high_ns / kNanosecondsPerMicrosecond,
                std::string(maya::provenance_name(estimate.provenance)).c_str());
  }
  if (analytic) say_without_model(family, estimator);
  if (arguments.json) std::printf("%s\n", json.end_array().end_object().str().c_str());
  return maya::cli::finish_output(kTool, maya::cli::kDone);
}

int run(const Arguments& arguments) {
  if (arguments.families) return list_families();
  if (arguments.family.empty()) {
    maya::cli::complain(kTool, "no family given; choose one with --family:" + known_families());
    return maya::cli::kUsage;
  }
  const maya::FamilyColumns* family = maya::find_family_columns(arguments.family);
  if (family == nullptr) {
    maya::cli::complain(kTool, "unknown family: " + arguments.family + "; known are" + known_families());
    return maya::cli::kUsage;
  }
  maya::predictor::Target target;
  if (const maya::predictor::Failure failure = resolve_target(arguments.device, {}, arguments.table, &target)) {
    maya::cli::complain(kTool, failure.text);
    return failure.kind == maya::predictor::FailureKind::kInput ? maya::cli::kInput : maya::cli::kUsage;
  }
  maya::Estimator estimator(target.profile, target.learned(),
                            arguments.sustained ? maya::Clock::kSustained : maya::Clock::kBurst);
  maya::Cluster cluster;
  if (!arguments.cluster.empty()) {
    if (const maya::predictor::Failure failure = maya::predictor::named_cluster(arguments.cluster, &cluster)) {
      maya::cli::complain(kTool, failure.text);
      return maya::cli::kUsage;
    }
    estimator.set_cluster(&cluster);
  }
  maya::CollectiveTable collectives;
  if (!arguments.collectives.empty()) {
    if (const auto failure = maya::predictor::read_collective_table(arguments.collectives, &collectives)) {
      maya::cli::complain(kTool, failure.text);
      return maya::cli::kInput;
    }
    estimator.set_collectives(&collectives);
  }
  if (arguments.input == "-") return estimate_table(arguments, *family, estimator, std::cin);
  std::ifstream file(arguments.input);
  if (!file) {
    maya::cli::complain(kTool, "cannot read: " + arguments.input + "; give a CSV file, or - for standard input");
    return maya::cli::kInput;
  }
  return estimate_table(arguments, *family, estimator, file);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Estimates the duration of operations: reads a CSV table, writes it with the estimates appended.",
               kTool);
  app.footer(kExamples);
  maya::cli::add_version(app);
  Arguments arguments;
  app.add_option("--device", arguments.device, "A known device or a profile file")->capture_default_str();
  app.add_option("--family", arguments.family, "Family of the operations; --families lists them");
  app.add_option("--input", arguments.input, "CSV file with a header; - is standard input")->capture_default_str();
  app.add_option("--table", arguments.table, "Learned table of the device; default: the one that came with Maya");
  app.add_option("--cluster", arguments.cluster,
                 "Cluster that collectives run on, by name or description file; default: the usual one of the device");
  app.add_option("--collectives", arguments.collectives,
                 "Timings of collectives by maya-train --collectives; default: those that came with Maya");
  app.add_flag("--sustained", arguments.sustained,
               "At the power limit, as in a training run; default: in a short burst, as kernels are measured");
  app.add_flag("--json", arguments.json, "Write JSON");
  app.add_flag("--families", arguments.families, "List families and their columns");
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;
  return run(arguments);
}
