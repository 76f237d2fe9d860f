#include "virtual_device/device_names.h"

#include "virtual_device/profile.h"

namespace maya::device {

std::string known_device_names() {
  std::string names;
  for (const BuiltinProfile& builtin : builtin_profiles()) {
    if (!names.empty()) names += ' ';
    names += builtin.name;
  }
  return names;
}

}  // namespace maya::device
