// nvidia-smi topo -m and nvlink --status.
#include <stdio.h>
#include <unistd.h>

#include "cli/nvidia_smi/report.h"

namespace maya::smi {
namespace {

unsigned int active_links(nvmlDevice_t device) {
  unsigned int links = 0;
  for (unsigned int link = 0; link < NVML_NVLINK_MAX_LINKS; ++link)
    if (ask(nvml().nvmlDeviceGetNvLinkState, device, link) == NVML_FEATURE_ENABLED) ++links;
  return links;
}

// How two devices are connected, in the words of the legend.
std::string connection(const Gpu& a, const Gpu& b) {
  if (a.handle == b.handle) return " X ";
  if (ask(nvml().nvmlDeviceGetP2PStatus, a.handle, b.handle, NVML_P2P_CAPS_INDEX_NVLINK) == NVML_P2P_STATUS_OK)
    return "NV" + std::to_string(active_links(a.handle));
  switch (ask(nvml().nvmlDeviceGetTopologyCommonAncestor, a.handle, b.handle).value_or(NVML_TOPOLOGY_SYSTEM)) {
    case NVML_TOPOLOGY_SINGLE:
      return "PIX";
    case NVML_TOPOLOGY_MULTIPLE:
      return "PXB";
    case NVML_TOPOLOGY_HOSTBRIDGE:
      return "PHB";
    case NVML_TOPOLOGY_NODE:
      return "NODE";
    default:
      return "SYS";
  }
}

}  // namespace

std::string topology_matrix(const std::vector<Gpu>& gpus) {
  std::string text = "\t";
  for (const Gpu& gpu : gpus) text += "GPU" + std::to_string(gpu.index) + "\t";
  text += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  const std::string cpus = "0-" + std::to_string(sysconf(_SC_NPROCESSORS_CONF) - 1);
  for (const Gpu& row : gpus) {
    text += "GPU" + std::to_string(row.index) + "\t";
    for (const Gpu& column : gpus) text += connection(row, column) + "\t";
    text += cpus + "\t0\t\tN/A\n";
  }
  return text +
         "\nLegend:\n\n"
         "  X    = Self\n"
         "  SYS  = PCIe and the interconnect between NUMA nodes\n"
         "  NODE = PCIe and the interconnect between PCIe host bridges of a NUMA node\n"
         "  PHB  = PCIe and a host bridge\n"
         "  PXB  = several PCIe bridges, no host bridge\n"
         "  PIX  = at most one PCIe bridge\n"
         "  NV#  = a bonded set of # NVLinks\n";
}

std::string nvlink_status(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    text += "GPU " + std::to_string(gpu.index) + ": " + ask_text(nvml().nvmlDeviceGetName, gpu.handle).value_or("") +
            " (UUID: " + ask_text(nvml().nvmlDeviceGetUUID, gpu.handle).value_or("") + ")\n";
    const unsigned int links = active_links(gpu.handle);
    for (unsigned int link = 0; link < links; ++link) {
      nvmlFieldValue_t speed{};
      speed.fieldId = NVML_FI_DEV_NVLINK_GET_SPEED;
      speed.scopeId = link;
      nvml().nvmlDeviceGetFieldValues(gpu.handle, 1, &speed);
      char line[64];
      snprintf(line, sizeof line, "\t Link %u: %.3f GB/s\n", link, speed.value.uiVal / 1000.0);
      text += line;
    }
  }
  return text;
}

}  // namespace maya::smi
