#include "predictor/core/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "predictor/core/features.h"

namespace maya {
namespace {

constexpr uint64_t kFnvBasis = 14695981039346656037ull, kFnvPrime = 1099511628211ull;

template <size_t N>
std::string_view text_of(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

// Checks the sections of one model. Every bound that evaluation relies on is checked here and nowhere else.
class ModelCheck {
 public:
  ModelCheck(const char* base, size_t size, const TableModel& model) : base_(base), size_(size), model_(model) {}

  bool ok() const {
    return model_.kind < kModelKinds && model_.direction <= 1 && sections_fit() && trees_close() && points_sorted() &&
           grid_fits() && intervals_sorted() && numbers_are_sane();
  }

 private:
  template <typename T>
  bool fits(const TableSection& section) const {
    return section.offset % alignof(uint64_t) == 0 && section.offset <= size_ &&
           section.count <= (size_ - section.offset) / sizeof(T);
  }
  template <typename T>
  std::span<const T> view(const TableSection& section) const {
    return {reinterpret_cast<const T*>(base_ + section.offset), static_cast<size_t>(section.count)};
  }

  bool sections_fit() const {
    return fits<Tree>(model_.trees) && fits<TreeNode>(model_.nodes) && fits<StreamingLine>(model_.lines) &&
           fits<TableInterval>(model_.intervals) && fits<TablePoint>(model_.points) && fits<uint32_t>(model_.axis[0]) &&
           fits<uint32_t>(model_.axis[1]) && fits<uint32_t>(model_.axis[2]) && fits<float>(model_.grid) &&
           fits<uint8_t>(model_.grid_spread);
  }

  bool trees_close() const {
    const auto trees = view<Tree>(model_.trees);
    const auto nodes = view<TreeNode>(model_.nodes);
    const int features = feature_count(static_cast<ModelKind>(model_.kind));
    constexpr uint32_t kDeepest = 64;
    for (size_t i = 0; i < trees.size(); ++i) {
      const uint64_t first = trees[i].first_node;
      const uint64_t end = i + 1 < trees.size() ? trees[i + 1].first_node : nodes.size();
      if (first >= end || end > nodes.size() || trees[i].depth > kDeepest) return false;
      for (uint64_t node = first; node < end; ++node) {
        if (nodes[node].feature >= features) return false;
        const bool leaf = nodes[node].left == node - first;
        if (!leaf && first + nodes[node].left + 1 >= end) return false;
      }
    }
    return true;
  }

  bool points_sorted() const {
    const auto points = view<TablePoint>(model_.points);
    return std::is_sorted(points.begin(), points.end(),
                          [](const TablePoint& a, const TablePoint& b) { return a.key < b.key; });
  }

  bool grid_fits() const {
    uint64_t cells = 1;
    for (const TableSection& axis : model_.axis) {
      constexpr uint64_t kLongestAxis = 1024;
      if (axis.count > kLongestAxis) return false;
      cells *= axis.count;
      const auto values = view<uint32_t>(axis);
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i] == 0 || (i > 0 && values[i] <= values[i - 1])) return false;
    }
    return model_.grid.count == cells && model_.grid_spread.count == cells;
  }

  bool intervals_sorted() const {
    const auto intervals = view<TableInterval>(model_.intervals);
    return std::is_sorted(intervals.begin(), intervals.end(),
                          [](const TableInterval& a, const TableInterval& b) { return a.most_ns < b.most_ns; });
  }

  // Times and shares are positive numbers, intervals lie around their median.
  bool numbers_are_sane() const {
    const auto positive = [](float value) { return std::isfinite(value) && value > 0; };
    const auto around = [&](float low, float high) {
      return positive(low) && low <= 1 && std::isfinite(high) && high >= 1;
    };
    for (const StreamingLine& line : view<StreamingLine>(model_.lines))
      if (!positive(line.floor_ns) || !positive(line.share) || !around(line.low, line.high)) return false;
    for (const TableInterval& interval : view<TableInterval>(model_.intervals))
      if (!around(interval.low, interval.high)) return false;
    for (const TablePoint& point : view<TablePoint>(model_.points))
      if (!positive(point.time_ns) || !(point.spread >= 1) || !std::isfinite(point.spread)) return false;
    for (const float value : view<float>(model_.grid))
      if (std::isinf(value)) return false;
    return true;
  }

  const char* base_;
  size_t size_;
  const TableModel& model_;
};

}  // namespace

std::string_view type_class_name(TypeClass type) {
  switch (type) {
    case TypeClass::kAny:
      return "any";
    case TypeClass::kHalf:
      return "16-bit";
    case TypeClass::kByte:
      return "8-bit";
    case TypeClass::kSingle:
      return "float32";
    case TypeClass::kTf32:
      return "tf32";
  }
  return "any";
}

std::string model_name(Family family, TypeClass type, int direction) {
  std::string text(family_name(family));
  if (type != TypeClass::kAny) text.append(" ").append(type_class_name(type));
  if (direction == 1) text += " backward";
  return text;
}

std::string_view Table::device() const {
  return base_ == nullptr ? std::string_view() : text_of(reinterpret_cast<const TableHeader*>(base_)->device);
}

double Table::parameter(std::string_view name, double otherwise) const {
  for (const TableParameter& parameter : parameters_)
    if (text_of(parameter.name) == name) return parameter.value;
  return otherwise;
}

const TableModel* Table::find(Family family, TypeClass type, int direction) const {
  for (const TableModel& model : models_)
    if (model.family == static_cast<uint16_t>(family) && model.direction == direction &&
        (model.type_class == static_cast<uint8_t>(type) || model.type_class == static_cast<uint8_t>(TypeClass::kAny)))
      return &model;
  return nullptr;
}

const TablePoint* Table::point(const TableModel& model, uint64_t key) const {
  const auto points = section<TablePoint>(model.points);
  if (points.empty()) return nullptr;
  // Keys are spread evenly: the place of one is known within a few steps.
  const auto count = static_cast<ptrdiff_t>(points.size());
  auto at = static_cast<ptrdiff_t>((key >> 32) * points.size() >> 32);
  while (at > 0 && points[static_cast<size_t>(at)].key >= key) --at;
  while (at < count && points[static_cast<size_t>(at)].key < key) ++at;
  return at < count && points[static_cast<size_t>(at)].key == key ? &points[static_cast<size_t>(at)] : nullptr;
}

uint64_t table_checksum(const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  uint64_t lanes[4] = {kFnvBasis, kFnvBasis + 1, kFnvBasis + 2, kFnvBasis + 3};
  for (; size >= 32; size -= 32, at += 32) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      std::memcpy(&word, at + 8 * i, 8);
      lanes[i] = (lanes[i] ^ word) * kFnvPrime;
      lanes[i] ^= lanes[i] >> 29;
    }
  }
  uint64_t hash = kFnvBasis;
  for (uint64_t lane : lanes) hash = (hash ^ lane) * kFnvPrime;
  for (; size > 0; --size) hash = (hash ^ static_cast<unsigned char>(*at++)) * kFnvPrime;
  return hash ^ (hash >> 32);
}

bool open_table(const void* bytes, size_t size, Table* table, std::string* error) {
  const char* base = static_cast<const char*>(bytes);
  TableHeader header;
  if (size < sizeof header || std::memcmp(base, kTableMagic, sizeof kTableMagic) != 0) {
    *error = "not a table file; tables are made by maya-train";
    return false;
  }
  std::memcpy(&header, base, sizeof header);
  if (header.version != kTableVersion || header.header_bytes != sizeof header) {
    *error = "table format version " + std::to_string(header.version) + ", this Maya reads version " +
             std::to_string(kTableVersion) + "; make the table again with this maya-train";
    return false;
  }
  if (header.file_bytes != size) {
    *error =
        "table is cut: " + std::to_string(size) + " bytes of " + std::to_string(header.file_bytes) + "; copy it again";
    return false;
  }
  if (table_checksum(base + sizeof header, size - sizeof header) != header.checksum) {
    *error = "table is damaged: its checksum does not match; copy it again";
    return false;
  }
  const auto fits = [&](const TableSection& section, size_t element) {
    return section.offset % alignof(uint64_t) == 0 && section.offset <= size &&
           section.count <= (size - section.offset) / element;
  };
  bool ok = fits(header.models, sizeof(TableModel)) && fits(header.parameters, sizeof(TableParameter));
  if (ok) {
    table->base_ = base;
    table->models_ = table->section<TableModel>(header.models);
    table->parameters_ = table->section<TableParameter>(header.parameters);
    ok = std::all_of(table->models_.begin(), table->models_.end(),
                     [&](const TableModel& model) { return ModelCheck(base, size, model).ok(); });
  }
  if (!ok) {
    *table = Table();
    *error = "table is inconsistent: a section lies outside the file; make it again with maya-train";
  }
  return ok;
}

}  // namespace maya
