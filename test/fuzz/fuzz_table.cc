// Learned tables from hostile bytes: opening refuses or gives a table that every estimate can follow. The input is a
// list of changes to a small valid table, 4 bytes of place and 4 of value each; the checksum is made right again, so
// that what lies behind it is reached. Without a whole change, the input itself is opened.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "predictor/core/estimator.h"
#include "predictor/core/operation_columns.h"
#include "predictor/training/model.h"

namespace {

using namespace maya;

std::string small_table() {
  training::FittedTable table;
  table.device = "h100-sxm";
  training::FittedModel products;
  products.head.family = static_cast<uint16_t>(Family::kGemm);
  products.head.type_class = static_cast<uint8_t>(TypeClass::kHalf);
  products.forest.trees = {{0, 2}, {5, 1}};
  products.forest.nodes = {{100, 0, 1},  {50, 1, 3}, {0.5f, 0, 2}, {0.1f, 0, 3},
                           {0.2f, 0, 4}, {10, 2, 1}, {0.3f, 0, 1}, {0.4f, 0, 2}};
  products.intervals = {{1e6f, 0.9f, 1.1f, 10}, {3e38f, 0.8f, 1.2f, 10}};
  products.axis[0] = {64, 128};
  products.axis[1] = {64, 256};
  products.axis[2] = {64};
  products.grid = {0.5f, 0.6f, NAN, 0.7f};
  products.grid_spread = {1, 2, 3, 4};
  table.models.push_back(products);
  training::FittedModel rows;
  rows.head.family = static_cast<uint16_t>(Family::kElementwise);
  rows.head.kind = static_cast<uint8_t>(ModelKind::kStreaming);
  rows.head.based_on_lines = 1;
  rows.lines = {{0, 0, 0, 9, 2000, 0.8f, 1e3f, 1e9f, 0.9f, 1.1f}, {1, 0, 0, 9, 2000, 0.9f, 1e3f, 1e9f, 0.9f, 1.1f}};
  rows.points = {{7, 1000, 1.1f}, {9, 2000, 1.2f}};
  table.models.push_back(rows);
  training::FittedModel copies;
  copies.head.family = static_cast<uint16_t>(Family::kCopy);
  copies.head.kind = static_cast<uint8_t>(ModelKind::kStreaming);
  copies.lines = {{262, 0, 0, 9, 2000, 0.8f, 1e3f, 1e9f, 0.9f, 1.1f}};
  table.models.push_back(copies);
  return table_bytes(table);
}

void estimate_all(const Table& table) {
  const Estimator estimator(*device::find_builtin_profile("h100-sxm"), &table, Clock::kSustained);
  const Work works[] = {work_of(gemm_record(64, 64, 64, DataType::kBfloat16)),
                        work_of(gemm_record(100, 300, 64, DataType::kBfloat16, false)),
                        work_of(gemm_record(128, 256, 64, DataType::kTf32)),
                        work_of(row_record(Family::kElementwise, "add", 100, 100, DataType::kFloat32)),
                        work_of(row_record(Family::kRandom, "dropout", 100, 100, DataType::kFloat32, true))};
  for (const Work& work : works)
    if (estimator.estimate(work).median_ns < 0) std::abort();
  if (estimator.estimate_copy(3, 1 << 20, false).median_ns < 0) std::abort();
  if (estimator.estimate_fill(1 << 20).median_ns < 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string valid = small_table();
  std::string bytes = valid;
  if (size < 8) {
    bytes.assign(reinterpret_cast<const char*>(data), size);
  } else {
    for (; size >= 8; size -= 8, data += 8) {
      uint32_t place, value;
      std::memcpy(&place, data, 4);
      std::memcpy(&value, data + 4, 4);
      std::memcpy(bytes.data() + place % (bytes.size() - 3), &value, 4);
    }
    const uint64_t checksum = table_checksum(bytes.data() + sizeof(TableHeader), bytes.size() - sizeof(TableHeader));
    std::memcpy(bytes.data() + offsetof(TableHeader, checksum), &checksum, sizeof checksum);
  }
  std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  Table table;
  std::string error;
  if (open_table(aligned.data(), bytes.size(), &table, &error))
    estimate_all(table);
  else if (error.empty())
    std::abort();
  return 0;
}
