// nvidia-smi --query-gpu and --query-compute-apps: comma-separated values by the names of NVIDIA's manual page.
#pragma once

#include <string>
#include <vector>

#include "cli/nvidia_smi/nvml.h"

namespace maya::smi {

struct CsvFormat {
  bool header = true;
  bool units = true;
};
// "csv[,noheader][,nounits]"; kInvalidArgument for anything else.
CsvFormat parse_csv_format(const std::string& text);

// The lines of a query. kInvalidArgument when a field is not known, by name. `with_header` false: only values.
std::string query_gpus(const std::vector<Gpu>& gpus, const std::string& fields, const CsvFormat& format);
std::string query_apps(const std::vector<Gpu>& gpus, const std::string& fields, const CsvFormat& format);

// The names that the two know, a line each.
std::string gpu_field_help();
std::string app_field_help();

}  // namespace maya::smi
