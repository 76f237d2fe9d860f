#include "predictor/kineto/collective_name.h"

#include <array>
#include <utility>

namespace maya::predictor::kineto {

std::optional<CollectiveKind> collective_of(std::string_view name) {
  size_t at = std::string_view::npos;
  for (const std::string_view prefix : {"ncclKernel_", "ncclDevKernel_"})
    if (name.rfind(prefix, 0) == 0) at = prefix.size();
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view what = name.substr(at);
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 6> kKinds = {{
      {"AllReduce", CollectiveKind::kAllReduce},
      {"Broadcast", CollectiveKind::kBroadcast},
      {"ReduceScatter", CollectiveKind::kReduceScatter},
      {"Reduce", CollectiveKind::kReduce},
      {"AllGather", CollectiveKind::kAllGather},
      {"SendRecv", CollectiveKind::kSend},
  }};
  for (const auto& [word, kind] : kKinds)
    if (what.rfind(word, 0) == 0) return kind;
  return CollectiveKind::kAllToAll;
}

DataType element_type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DataType>, 12> kTypes = {{
      {"Float", DataType::kFloat32},
      {"float", DataType::kFloat32},
      {"BFloat16", DataType::kBfloat16},
      {"c10::BFloat16", DataType::kBfloat16},
      {"Half", DataType::kFloat16},
      {"c10::Half", DataType::kFloat16},
      {"Double", DataType::kFloat64},
      {"double", DataType::kFloat64},
      {"Int", DataType::kInt32},
      {"int", DataType::kInt32},
      {"Long", DataType::kInt64},
      {"long int", DataType::kInt64},
  }};
  for (const auto& [word, type] : kTypes)
    if (word == name) return type;
  if (name == "Byte" || name == "unsigned char") return DataType::kUint8;
  if (name == "Bool" || name == "bool") return DataType::kBool;
  return DataType::kNone;
}

}  // namespace maya::predictor::kineto
