// The text of a plan: a JSON object with the configuration as hexadecimal digits of a list of attributes, each with
// name, type, count, and its elements or children. Pointers and handles are left out.
#include <cstring>

#include "driver_shim/cudnn/backend_engine.h"

namespace maya::cudnn {
namespace {

constexpr char kBefore[] = "{\"format\":\"maya cuDNN plan 1\",\"engine_configuration\":\"";
constexpr char kAfter[] = "\"}";
constexpr int kMostDepth = 12;            // configuration, engine, graph, operation, operator or tensor, ragged offsets
constexpr uint32_t kMostNodes = 1 << 14;  // of one plan

bool is_answer(cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return true;
    default:
      return false;
  }
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_node(std::string& out, const BackendNode& node) {
  std::string attributes;
  uint32_t count = 0;
  for (const BackendAttribute& attribute : node.attributes) {
    if (is_answer(attribute.name) || attribute.type == CUDNN_TYPE_HANDLE || attribute.type == CUDNN_TYPE_VOID_PTR)
      continue;
    ++count;
    put<int32_t>(attributes, attribute.name);
    put<int32_t>(attributes, attribute.type);
    put<int64_t>(attributes, attribute.count);
    attributes.append(attribute.bytes.begin(), attribute.bytes.end());
    for (const BackendNodePtr& child : attribute.children) put_node(attributes, *child);
  }
  put<int32_t>(out, node.type);
  put<uint32_t>(out, count);
  out += attributes;
}

class NodeReader {
 public:
  explicit NodeReader(const std::string& bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Null when the bytes are no finalized descriptor.
  BackendNodePtr node(int depth) {
    int32_t type = 0;
    uint32_t count = 0;
    if (depth > kMostDepth || ++nodes_ > kMostNodes || !get(&type) || !get(&count)) return nullptr;
    BackendNode made{static_cast<cudnnBackendDescriptorType_t>(type), {}};
    for (; count > 0; --count) {
      BackendAttribute attribute{};
      if (!read_attribute(depth, &attribute) || made.find(attribute.name) != nullptr ||
          check_attribute(made.type, attribute) != CUDNN_STATUS_SUCCESS)
        return nullptr;
      made.attributes.push_back(std::move(attribute));
    }
    if (complete(made) != CUDNN_STATUS_SUCCESS) return nullptr;
    return std::make_shared<const BackendNode>(std::move(made));
  }
  bool at_end() const { return at_ == end_; }

 private:
  template <typename T>
  bool get(T* value) {
    if (static_cast<size_t>(end_ - at_) < sizeof *value) return false;
    std::memcpy(value, at_, sizeof *value);
    at_ += sizeof *value;
    return true;
  }

  bool read_attribute(int depth, BackendAttribute* attribute) {
    int32_t name = 0, type = 0;
    if (!get(&name) || !get(&type) || !get(&attribute->count) || attribute->count < 0) return false;
    attribute->name = static_cast<cudnnBackendAttributeName_t>(name);
    attribute->type = static_cast<cudnnBackendAttributeType_t>(type);
    const uint64_t size = element_bytes(attribute->type);
    if (size == 0 || attribute->type == CUDNN_TYPE_HANDLE || attribute->type == CUDNN_TYPE_VOID_PTR) return false;
    if (attribute->type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      for (int64_t i = 0; i < attribute->count; ++i) {
        BackendNodePtr child = node(depth + 1);
        if (child == nullptr) return false;
        attribute->children.push_back(std::move(child));
      }
      return true;
    }
    if (static_cast<uint64_t>(attribute->count) > static_cast<uint64_t>(end_ - at_) / size) return false;
    const size_t bytes = static_cast<size_t>(attribute->count) * size;
    attribute->bytes.assign(at_, at_ + bytes);
    at_ += bytes;
    return true;
  }

  const char* at_;
  const char* end_;
  uint32_t nodes_ = 0;
};

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

}  // namespace

std::string plan_text(const BackendNode& configuration) {
  std::string bytes, text = kBefore;
  put_node(bytes, configuration);
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text + kAfter;
}

BackendNodePtr configuration_from_text(const std::string& text) {
  const size_t before = sizeof kBefore - 1, after = sizeof kAfter - 1;
  if (text.size() < before + after || text.compare(0, before, kBefore) != 0 ||
      text.compare(text.size() - after, after, kAfter) != 0)
    return nullptr;
  std::string bytes;
  for (size_t i = before; i + 1 < text.size() - after; i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return nullptr;
    bytes += static_cast<char>(high << 4 | low);
  }
  NodeReader reader(bytes);
  BackendNodePtr configuration = reader.node(0);
  return configuration != nullptr && reader.at_end() && configuration->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR
             ? configuration
             : nullptr;
}

}  // namespace maya::cudnn
