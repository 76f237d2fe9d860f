// Table files: where they lie and how they are opened.
#pragma once

#include <memory>
#include <string>

#include "predictor/core/table.h"
#include "predictor/failure.h"

namespace maya::predictor {

// A mapped table file. The table's views end with it.
class TableFile {
 public:
  TableFile() = default;
  ~TableFile();
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  // Input failure: missing, unreadable, cut, damaged, of another format version.
  Failure open(const std::string& path);
  const Table& table() const { return table_; }
  const std::string& path() const { return path_; }

 private:
  void* bytes_ = nullptr;
  size_t size_ = 0;
  std::string path_;
  Table table_;
};

// The folder of the tables that came with Maya: $MAYA_TABLES, else lib/tables (build folder) or lib/maya/tables
// (installation) beside the folder of this program.
std::string tables_folder();

// The table of a device from tables_folder(). No failure and an empty pointer when there is none for it;
// MAYA_TABLES=none says to use none.
Failure shipped_table(const std::string& device, std::unique_ptr<TableFile>* file);

}  // namespace maya::predictor
