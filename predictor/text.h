// Names of operations as people read and match them.
#pragma once

#include <string>
#include <string_view>

namespace maya::predictor {

// Fits a name into `width` columns: return type, parameters and well-known namespaces go first, then the end, marked by
// "...".
std::string shorten(std::string_view name, size_t width);

// Case-insensitive: `pattern` with * or ? must match the whole name, without them be part of it.
bool matches(std::string_view name, std::string_view pattern);

}  // namespace maya::predictor
