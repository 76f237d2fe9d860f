// The texts of virtual_device/profiles/, embedded at build time by profiles.cmake. Internal to profile.cc.
#pragma once

#include <cstddef>
#include <string_view>

namespace maya::device {

struct EmbeddedProfile {
  std::string_view name;
  std::string_view text;
  bool is_device;  // false: a part that profiles name as their parent, no device of its own
};

extern const EmbeddedProfile kEmbeddedProfiles[];
extern const size_t kEmbeddedProfileCount;

}  // namespace maya::device
