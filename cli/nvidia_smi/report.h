// The reports of nvidia-smi for people: the default table, the list of devices, -q, the topology matrix, NVLink status.
#pragma once

#include <string>
#include <vector>

#include "cli/nvidia_smi/nvml.h"

namespace maya::smi {

std::string table(const std::vector<Gpu>& gpus);
std::string device_list(const std::vector<Gpu>& gpus);
std::string details(const std::vector<Gpu>& gpus);
std::string topology_matrix(const std::vector<Gpu>& gpus);
std::string nvlink_status(const std::vector<Gpu>& gpus);

}  // namespace maya::smi
