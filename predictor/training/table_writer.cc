#include <algorithm>
#include <cstring>

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

}  // namespace

std::string table_bytes(const FittedTable& table) {
  Writer writer(sizeof(TableHeader));
  std::vector<TableModel> heads;
  for (const FittedModel& model : table.models) {
    TableModel head = model.head;
    head.trees = writer.add(model.forest.trees);
    head.nodes = writer.add(model.forest.nodes);
    head.lines = writer.add(model.lines);
    head.intervals = writer.add(model.intervals);
    head.points = writer.add(model.points);
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
