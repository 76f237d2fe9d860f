// Names of the built-in devices, for messages that list them.
#pragma once

#include <string>

namespace maya::device {

// In the order of builtin_profiles(), one space between them.
std::string known_device_names();

}  // namespace maya::device
