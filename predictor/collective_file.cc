#include "predictor/collective_file.h"

#include <fstream>
#include <iterator>

namespace maya::predictor {

Failure read_collective_table(const std::string& path, CollectiveTable* table) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || file.bad())
    return {FailureKind::kInput, "table of collectives cannot be read: " + path + "; check its name and permissions"};
  std::string error;
  if (!table->parse(text, &error)) return {FailureKind::kInput, path + ": " + error};
  return {};
}

}  // namespace maya::predictor
