#include <algorithm>
#include <cstring>

#include "predictor/core/features.h"
#include "predictor/training/model.h"

namespace maya::training {
namespace {

class Writer {
 public:
  explicit Writer(size_t start) : bytes_(start, '\0') {}

  template <typename T>
  TableSection add(const std::vector<T>& values) {
    const TableSection section{bytes_.size(), values.size()};
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    return section;
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// Open addressing: number of the point plus one, 0 for a free slot.
std::vector<uint32_t> slots_of(const std::vector<TablePoint>& points) {
  if (points.empty()) return {};
  size_t size = 4;
  while (size * 3 < points.size() * 4) size *= 2;
  std::vector<uint32_t> slots(size, 0);
  for (size_t i = 0; i < points.size(); ++i) {
    size_t at = point_hash(points[i].key) & (size - 1);
    while (slots[at] != 0) at = (at + 1) & (size - 1);
    slots[at] = static_cast<uint32_t>(i + 1);
  }
  return slots;
}

}  // namespace

std::string table_bytes(const FittedTable& table) {
  Writer writer(sizeof(TableHeader));
  std::vector<TableModel> heads;
  for (const FittedModel& model : table.models) {
    TableModel head = model.head;
    head.trees = writer.add(model.forest.trees);
    head.nodes = writer.add(model.forest.nodes);
    head.leaf_values = writer.add(model.forest.values);
    head.lines = writer.add(model.lines);
    head.intervals = writer.add(model.intervals);
    head.points = writer.add(model.points);
    head.slots = writer.add(slots_of(model.points));
    for (int i = 0; i < 3; ++i) head.axis[i] = writer.add(model.axis[i]);
    head.grid = writer.add(model.grid);
    head.grid_spread = writer.add(model.grid_spread);
    heads.push_back(head);
  }
  TableHeader header{};
  std::memcpy(header.magic, kTableMagic, sizeof kTableMagic);
  header.version = kTableVersion;
  header.header_bytes = sizeof header;
  header.models = writer.add(heads);
  header.parameters = writer.add(table.parameters);
  std::copy_n(table.device.data(), std::min(table.device.size(), sizeof header.device - 1), header.device);
  std::string& bytes = writer.bytes();
  header.file_bytes = bytes.size();
  header.checksum = table_checksum(bytes.data() + sizeof header, bytes.size() - sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return std::move(bytes);
}

}  // namespace maya::training
