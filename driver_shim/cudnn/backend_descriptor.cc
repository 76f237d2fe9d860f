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
  // All others are enumerations.
  const bool enumeration =
      type == CUDNN_TYPE_DATA_TYPE || (type > CUDNN_TYPE_VOID_PTR && type <= CUDNN_TYPE_OPERATIONGRAPH_MODE);
  return enumeration ? sizeof(int) : 0;
}

const BackendAttribute* BackendNode::find(cudnnBackendAttributeName_t name) const {
  for (const BackendAttribute& attribute : attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

std::vector<int64_t> BackendNode::integers(cudnnBackendAttributeName_t name) const {
  const BackendAttribute* attribute = find(name);
  if (attribute == nullptr || attribute->type != CUDNN_TYPE_INT64) return {};
  std::vector<int64_t> values(static_cast<size_t>(attribute->count));
  if (!values.empty()) std::memcpy(values.data(), attribute->bytes.data(), attribute->bytes.size());
  return values;
}

int64_t BackendNode::integer(cudnnBackendAttributeName_t name, int64_t otherwise) const {
  const std::vector<int64_t> values = integers(name);
  return values.empty() ? otherwise : values[0];
}

int BackendNode::enumerator(cudnnBackendAttributeName_t name, int otherwise) const {
  const BackendAttribute* attribute = find(name);
  int value = otherwise;
  if (attribute != nullptr && attribute->bytes.size() >= sizeof value)
    std::memcpy(&value, attribute->bytes.data(), sizeof value);
  return value;
}

bool BackendNode::boolean(cudnnBackendAttributeName_t name) const {
  const BackendAttribute* attribute = find(name);
  return attribute != nullptr && !attribute->bytes.empty() && attribute->bytes[0] != 0;
}

double BackendNode::number(cudnnBackendAttributeName_t name, double otherwise) const {
  const BackendAttribute* attribute = find(name);
  if (attribute == nullptr || attribute->count < 1) return otherwise;
  double wide = otherwise;
  float narrow = 0;
  if (attribute->type == CUDNN_TYPE_DOUBLE) {
    std::memcpy(&wide, attribute->bytes.data(), sizeof wide);
  } else if (attribute->type == CUDNN_TYPE_FLOAT) {
    std::memcpy(&narrow, attribute->bytes.data(), sizeof narrow);
    wide = static_cast<double>(narrow);
  }
  return wide;
}

std::vector<double> BackendNode::fractions(cudnnBackendAttributeName_t name) const {
  const BackendAttribute* attribute = find(name);
  std::vector<double> values;
  if (attribute == nullptr) return values;
  for (const int64_t value : integers(name)) values.push_back(static_cast<double>(value));
  for (int64_t i = 0; attribute->type == CUDNN_TYPE_FRACTION && i < attribute->count; ++i) {
    cudnnFraction_t fraction;
    std::memcpy(&fraction, attribute->bytes.data() + static_cast<size_t>(i) * sizeof fraction, sizeof fraction);
    values.push_back(fraction.denominator == 0
                         ? 0
                         : static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator));
  }
  return values;
}

std::string BackendNode::text(cudnnBackendAttributeName_t name) const {
  const BackendAttribute* attribute = find(name);
  if (attribute == nullptr) return {};
  const std::string whole(attribute->bytes.begin(), attribute->bytes.end());
  return whole.substr(0, whole.find('\0'));
}

BackendNodePtr BackendNode::child(cudnnBackendAttributeName_t name) const {
  const BackendAttribute* attribute = find(name);
  return attribute == nullptr || attribute->children.empty() ? nullptr : attribute->children[0];
}

namespace {

void replace(std::vector<BackendAttribute>& attributes, BackendAttribute attribute) {
  for (BackendAttribute& old : attributes) {
    if (old.name != attribute.name) continue;
    old = std::move(attribute);
    return;
  }
  attributes.push_back(std::move(attribute));
}

std::vector<char> bytes_of(const void* data, size_t size) {
  const char* first = static_cast<const char*>(data);
  return {first, first + size};
}

}  // namespace

void BackendNode::put_integers(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
  replace(attributes, {name,
                       CUDNN_TYPE_INT64,
                       static_cast<int64_t>(values.size()),
                       bytes_of(values.data(), values.size() * sizeof(int64_t)),
                       {}});
}

void BackendNode::put_int32(cudnnBackendAttributeName_t name, int32_t value) {
  replace(attributes, {name, CUDNN_TYPE_INT32, 1, bytes_of(&value, sizeof value), {}});
}

void BackendNode::put_text(cudnnBackendAttributeName_t name, const std::string& text) {
  const size_t size = text.size() + 1;
  replace(attributes, {name, CUDNN_TYPE_CHAR, static_cast<int64_t>(size), bytes_of(text.c_str(), size), {}});
}

void BackendNode::put_enumerators(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                  const std::vector<int>& values) {
  replace(attributes,
          {name, type, static_cast<int64_t>(values.size()), bytes_of(values.data(), values.size() * sizeof(int)), {}});
}

void BackendNode::put_children(cudnnBackendAttributeName_t name, std::vector<BackendNodePtr> children) {
  const auto count = static_cast<int64_t>(children.size());
  replace(attributes, {name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, {}, std::move(children)});
}

void BackendDescriptor::set(BackendAttribute attribute) { replace(building_.attributes, std::move(attribute)); }

}  // namespace maya::cudnn
