// What data sets call devices.
#pragma once

#include <string_view>

namespace maya::training {

// Name of the built-in profile for a product name as CUDA gives it ("NVIDIA H100 80GB HBM3"), a data set's short name
// ("h100_sxm") or a profile's own name; empty for devices without a profile.
std::string_view profile_of(std::string_view name);

}  // namespace maya::training
