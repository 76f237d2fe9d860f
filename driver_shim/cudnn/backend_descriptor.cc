#include "driver_shim/cudnn/backend_descriptor.h"

#include <cstring>

namespace maya::cudnn {

uint32_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return sizeof(void*);
    case CUDNN_TYPE_INT64:
      return sizeof(int64_t);
    case CUDNN_TYPE_DOUBLE:
      return sizeof(double);
    case CUDNN_TYPE_FLOAT:
      return sizeof(float);
    case CUDNN_TYPE_INT32:
      return sizeof(int32_t);
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:
      break;
  }
  // All others are enumerations; the value 10 is not used.
  constexpr int kUnused = 10;
  const bool enumeration = type == CUDNN_TYPE_DATA_TYPE ||
                           (type > CUDNN_TYPE_VOID_PTR && type <= CUDNN_TYPE_OPERATIONGRAPH_MODE && type != kUnused);
  return enumeration ? sizeof(int) : 0;
}

void BackendDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            const void* elements) {
  std::vector<char> bytes(static_cast<size_t>(count) * element_bytes(type));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements, bytes.size());
  for (Attribute& attribute : attributes_) {
    if (attribute.name != name) continue;
    attribute.type = type, attribute.count = count;
    attribute.bytes.swap(bytes);
    return;
  }
  attributes_.push_back({name, type, count, std::move(bytes)});
}

const BackendDescriptor::Attribute* BackendDescriptor::find(cudnnBackendAttributeName_t name) const {
  for (const Attribute& attribute : attributes_)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

}  // namespace maya::cudnn
