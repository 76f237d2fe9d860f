#include "predictor/training/device_name.h"

#include "virtual_device/profile.h"

namespace maya::training {
namespace {

struct Alias {
  std::string_view name, profile;
};
// Beside the product names of the profiles themselves.
constexpr Alias kAliases[] = {
    {"NVIDIA A100-SXM4-40GB", "a100-sxm-40"},
    {"A100-SXM4-40GB", "a100-sxm-40"},
    {"NVIDIA A100-SXM4-80GB", "a100-sxm-80"},
    {"A100-SXM4-80GB", "a100-sxm-80"},
    {"NVIDIA A100-SXM-80GB", "a100-sxm-80"},
    {"A100 80GB SXM4", "a100-sxm-80"},
    {"NVIDIA A100-PCIE-40GB", "a100-pcie-40"},
    {"A100-PCIE-40GB", "a100-pcie-40"},
    {"NVIDIA A100 80GB PCIe", "a100-pcie-80"},
    {"A100 80GB PCIe", "a100-pcie-80"},
    // Meta's own board: 40 GB of HBM2 at SXM clocks, as the memory totals in its traces show.
    {"NVIDIA A100-PG509-200", "a100-sxm-40"},
    {"A100-PG509-200", "a100-sxm-40"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"H100 80GB SXM5", "h100-sxm"},
    {"NVIDIA H100 PCIe", "h100-pcie"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA L40S", "l40s"},
    {"NVIDIA B200", "b200-sxm"},
    {"a100_sxm", "a100-sxm-80"},
    {"h100_sxm", "h100-sxm"},
    {"h200_sxm", "h200-sxm"},
    {"b200_sxm", "b200-sxm"},
    {"a100", "a100-sxm-80"},
    {"h100", "h100-sxm"},
};

}  // namespace

std::string_view profile_of(std::string_view name) {
  for (const Alias& alias : kAliases)
    if (alias.name == name) return alias.profile;
  for (const device::BuiltinProfile& builtin : device::builtin_profiles())
    if (builtin.name == name) return builtin.name;
  return {};
}

}  // namespace maya::training
