// nvidia-smi for emulated devices: the queries that people script, over Maya's NVML. maya-run puts it into PATH.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/nvidia_smi/query.h"
#include "cli/nvidia_smi/report.h"

using namespace maya::smi;

namespace {

// Options of nvidia-smi that have one dash and more than one letter.
std::vector<std::string> with_long_options(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "-lms")
      arguments.push_back("--loop-ms");
    else if (argument.rfind("-lms=", 0) == 0)
      arguments.push_back("--loop-ms=" + argument.substr(5));
    else
      arguments.push_back(argument);
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  return arguments;
}

struct Options {
  std::string ids, file, format, gpu_fields, app_fields;
  double seconds = 0;
  long milliseconds = 0;
  bool list = false, query = false;
};

std::string report(const Options& options, const CsvFormat& format) {
  const std::vector<Gpu> chosen = gpus(options.ids);
  if (!options.gpu_fields.empty()) return query_gpus(chosen, options.gpu_fields, format);
  if (!options.app_fields.empty()) return query_apps(chosen, options.app_fields, format);
  if (options.list) return device_list(chosen);
  return options.query ? details(chosen) : table(chosen);
}

void print(const Options& options, const std::string& text, bool first) {
  FILE* const file = options.file.empty() ? stdout : fopen(options.file.c_str(), first ? "w" : "a");
  if (file == nullptr) fail(kInvalidArgument, "-f: cannot be written: " + options.file);
  const bool written = fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool flushed = (options.file.empty() ? fflush(file) : fclose(file)) == 0;
  if (!written || !flushed)
    fail(kOther, "output cannot be written" + (options.file.empty() ? "" : ": " + options.file));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("nvidia-smi of Maya: shows the emulated devices and the programs that use them.", "nvidia-smi");
  Options options;
  bool gpu_help = false, app_help = false, version = false;
  app.add_option("-i,--id", options.ids, "Index, UUID or bus id of the device, or several with commas");
  app.add_flag("-L,--list-gpus", options.list, "List the devices");
  app.add_flag("-q,--query", options.query, "All there is to say, in words");
  app.add_option("--query-gpu", options.gpu_fields, "Fields of each device; needs --format");
  app.add_option("--query-compute-apps", options.app_fields, "Fields of each program; needs --format");
  app.add_option("--format", options.format, "csv[,noheader][,nounits]");
  app.add_flag("--help-query-gpu", gpu_help, "Names for --query-gpu");
  app.add_flag("--help-query-compute-apps", app_help, "Names for --query-compute-apps");
  app.add_option("-l,--loop", options.seconds, "Again every so many seconds, until interrupted")
      ->check(CLI::PositiveNumber);
  app.add_option("--loop-ms", options.milliseconds, "The same in milliseconds, also -lms")->check(CLI::PositiveNumber);
  app.add_option("-f,--filename", options.file, "Write to this file");
  app.add_flag("--version", version, "Versions");
  CLI::App* const topology = app.add_subcommand("topo", "How the devices are connected");
  bool matrix = false;
  topology->add_flag("-m,--matrix", matrix, "As a matrix");
  CLI::App* const nvlink = app.add_subcommand("nvlink", "NVLinks of the devices");
  bool status = false;
  nvlink->add_flag("-s,--status", status, "Speed of each link");
  nvlink->add_option("-i,--id", options.ids, "Which devices");
  try {
    app.parse(with_long_options(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fail(kInvalidArgument, std::string(error.what()) + "; nvidia-smi --help lists what Maya's knows");
  }
  if (gpu_help || app_help) {
    print(options, gpu_help ? gpu_field_help() : app_field_help(), true);
    return kSuccess;
  }
  if (version) {
    char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE] = "";
    nvml().nvmlSystemGetNVMLVersion(text, sizeof text);
    printf(
        "NVIDIA-SMI version  : %s (Maya)\nNVML version        : %s\nDRIVER version      : %s\nCUDA Version        : "
        "%s\n",
        driver_version().c_str(), text, driver_version().c_str(), cuda_version().c_str());
    return kSuccess;
  }
  if (*topology || *nvlink) {
    if (*topology && !matrix) fail(kInvalidArgument, "topo: only -m is known");
    if (*nvlink && !status) fail(kInvalidArgument, "nvlink: only -s is known");
    print(options, *topology ? topology_matrix(gpus("")) : nvlink_status(gpus(options.ids)), true);
    return kSuccess;
  }
  CsvFormat format;
  const bool csv = !options.gpu_fields.empty() || !options.app_fields.empty();
  if (csv) {
    if (options.format.empty()) fail(kInvalidArgument, "a query needs --format=csv[,noheader][,nounits]");
    format = parse_csv_format(options.format);
  }
  const long pause_ms =
      options.milliseconds > 0 ? options.milliseconds : static_cast<long>(options.seconds * 1000 + 0.5);
  for (bool first = true;; first = false) {
    print(options, report(options, format), first);
    if (pause_ms == 0) return kSuccess;
    format.header = false;
    const timespec pause{pause_ms / 1000, pause_ms % 1000 * 1'000'000};
    nanosleep(&pause, nullptr);
  }
}
