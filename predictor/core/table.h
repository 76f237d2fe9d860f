// Learned runtime tables: what a table file holds, and how it is read. A file is used where it lies, mapped: numbers
// are little-endian and aligned to 8 bytes, sections are found by offsets from the start of the file. open_table()
// checks magic, version, checksum and every index that evaluation follows, so that a damaged file is refused and an
// opened one cannot lead out of its bytes. Files are written by maya-train (predictor/training/table_writer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "predictor/core/operation.h"

namespace maya {

inline constexpr char kTableMagic[8] = {'M', 'A', 'Y', 'A', 'T', 'A', 'B', 'L'};
// The layout of the file and the meaning of every feature: a change of either is a new version.
inline constexpr uint32_t kTableVersion = 1;

// Element types that share a model: their kernels differ in bytes, not in kind.
enum class TypeClass : uint8_t { kAny = 0, kHalf = 1, kByte = 2, kSingle = 3, kTf32 = 4 };
std::string_view type_class_name(TypeClass type);  // "any", "16-bit", "8-bit", "float32", "tf32"

// "gemm 16-bit", "attention 16-bit backward".
std::string model_name(Family family, TypeClass type, int direction);

// What the features of a model are computed from.
enum class ModelKind : uint8_t { kMatrix = 0, kAttention = 1, kStreaming = 2, kConvolution = 3, kExperts = 4 };
inline constexpr int kModelKinds = 5;

struct TableSection {
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t count = 0;   // elements
};

// One tree node, 8 bytes. A value below the threshold goes to `left`, any other to `left` + 1, both counted from the
// first node of the tree. Leaves point to themselves; their threshold is their value.
struct TreeNode {
  float threshold;
  uint16_t feature;
  uint16_t left;
};
struct Tree {
  uint32_t first_node;
  uint32_t depth;  // steps that reach every leaf
};

// Straight line in bytes of one operator: time = floor + bytes / rate, between the sizes it was fitted on.
struct StreamingLine {
  uint16_t op;         // Operator
  uint16_t direction;  // 0 forward, 1 backward
  uint16_t pattern;    // AccessPattern
  uint16_t rows;       // measurements it was fitted to, 65,535 at most
  float floor_ns;
  float share;  // of the device's memory bandwidth
  float least_bytes, most_bytes;
  float low, high;  // 80 % interval, as factors of the time
};

// Interval of a class of estimates, as factors of the median: the 10th and 90th percentile of measured / estimated on
// rows that the model had not seen. Classes are by size of the work: up to `most_ns` of roofline time.
struct TableInterval {
  float most_ns;
  float low, high;
  float rows;
};

// A measured shape: its key (point_key() of features.h), its time and the spread of its repeats. Sorted by key.
struct TablePoint {
  uint64_t key;
  float time_ns;
  float spread;  // p90 / p10
};

struct TableModel {
  uint16_t family;         // Family
  uint8_t type_class;      // TypeClass
  uint8_t direction;       // 0 forward, 1 backward
  uint8_t kind;            // ModelKind
  uint8_t borrowed;        // 1: measured on `origin`, not on the table's device
  uint8_t based_on_lines;  // 1: the forest corrects the operator's line, otherwise the roofline
  uint8_t reserved;
  char origin[24];                                         // device that was measured
  uint32_t rows;                                           // measurements it was fitted to
  float held_out_median, held_out_p95, held_out_coverage;  // of rows kept from a fit, as shares
  float least[4], most[4];  // range of the first four features seen: outside, an estimate is extrapolated
  TableSection trees, nodes;
  TableSection lines, intervals, points;
  // Measured shapes on a grid (matrix products): three sorted axes and logarithms of time / roofline, NaN where nothing
  // was measured. Index (i * |n| + j) * |k| + l.
  TableSection axis[3], grid, grid_spread;
};

struct TableParameter {
  char name[40];
  double value;
  double error;  // standard error of the fit; 0 when not known
};

struct TableHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint64_t checksum;  // of everything after the header
  char device[32];
  TableSection models, parameters;
};

// An opened table: a view of bytes that must outlive it. Immutable, safe to share between threads.
class Table {
 public:
  std::string_view device() const;
  std::span<const TableModel> models() const { return models_; }
  std::span<const TableParameter> parameters() const { return parameters_; }
  // `otherwise` when the table has no such parameter.
  double parameter(std::string_view name, double otherwise) const;

  template <typename T>
  std::span<const T> section(const TableSection& section) const {
    return {reinterpret_cast<const T*>(base_ + section.offset), static_cast<size_t>(section.count)};
  }
  // nullptr when there is none.
  const TablePoint* point(const TableModel& model, uint64_t key) const;
  const TableModel* find(Family family, TypeClass type, int direction) const;

 private:
  friend bool open_table(const void* bytes, size_t size, Table* table, std::string* error);
  const char* base_ = nullptr;
  std::span<const TableModel> models_;
  std::span<const TableParameter> parameters_;
};

// `bytes` must be aligned to 8. On failure returns false and `error` says what is wrong and what to do, on one line.
bool open_table(const void* bytes, size_t size, Table* table, std::string* error);

// The checksum of a table's body: 64-bit FNV-1a over 8-byte words, four lanes interleaved.
uint64_t table_checksum(const void* bytes, size_t size);

}  // namespace maya
