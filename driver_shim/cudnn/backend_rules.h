// What each attribute of each backend descriptor is, as data: its type, how many elements it takes, whether it must be
// set, may only be read, or names a tensor that the operation writes.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <span>

namespace maya::cudnn {

inline constexpr int kMostDimensions = 8;   // CUDNN_DIM_MAX, of tensors of the backend API too
inline constexpr int kAnyNumber = 1 << 20;  // beyond it a count is garbage
inline constexpr int kAnyDescriptorType = -1;

// The types that an attribute may have, and for descriptors which.
struct AttributeForm {
  constexpr AttributeForm(cudnnBackendAttributeType_t only) : type(only), other(only) {}  // NOLINT: reads as a table
  constexpr AttributeForm(cudnnBackendAttributeType_t one, cudnnBackendAttributeType_t two) : type(one), other(two) {}
  constexpr explicit AttributeForm(int of_type)
      : type(CUDNN_TYPE_BACKEND_DESCRIPTOR), other(CUDNN_TYPE_BACKEND_DESCRIPTOR), descriptor(of_type) {}
  constexpr AttributeForm(cudnnBackendAttributeType_t one, cudnnBackendDescriptorType_t of_type)
      : type(one), other(CUDNN_TYPE_BACKEND_DESCRIPTOR), descriptor(of_type) {}

  bool accepts(cudnnBackendAttributeType_t given) const { return given == type || given == other; }

  cudnnBackendAttributeType_t type, other;
  int descriptor = kAnyDescriptorType;
};

inline constexpr AttributeForm kFloating(CUDNN_TYPE_DOUBLE, CUDNN_TYPE_FLOAT);
inline constexpr AttributeForm kFractional(CUDNN_TYPE_INT64, CUDNN_TYPE_FRACTION);
inline constexpr AttributeForm kAnyDescriptor(kAnyDescriptorType);
inline constexpr AttributeForm kTensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
inline constexpr AttributeForm kPointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
inline constexpr AttributeForm kConvolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
inline constexpr AttributeForm kMatmul(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
inline constexpr AttributeForm kReduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
inline constexpr AttributeForm kResample(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
inline constexpr AttributeForm kRng(CUDNN_BACKEND_RNG_DESCRIPTOR);
inline constexpr AttributeForm kGraph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
inline constexpr AttributeForm kEngine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
inline constexpr AttributeForm kEngineConfiguration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
inline constexpr AttributeForm kIntermediate(CUDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR);
inline constexpr AttributeForm kKnobChoice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
inline constexpr AttributeForm kKnobInfo(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
inline constexpr AttributeForm kLayoutInfo(CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR);
inline constexpr AttributeForm kKernelCache(CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR);
inline constexpr AttributeForm kDevice(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
inline constexpr AttributeForm kSeed(CUDNN_TYPE_INT64, CUDNN_BACKEND_TENSOR_DESCRIPTOR);

enum AttributeFlag : uint8_t {
  kRequired = 1,  // to be set before the descriptor is finalized
  kReadOnly = 2,  // the library's answer
  kOutput = 4,    // a tensor that the operation writes
};

struct AttributeRule {
  cudnnBackendAttributeName_t name;
  AttributeForm form;
  int32_t least, most;  // elements
  int flags;            // of AttributeFlag

  bool is(AttributeFlag flag) const { return (flags & flag) != 0; }
};

struct DescriptorRules {
  cudnnBackendDescriptorType_t type;
  std::span<const AttributeRule> attributes;

  const AttributeRule* find(cudnnBackendAttributeName_t name) const {
    for (const AttributeRule& rule : attributes)
      if (rule.name == name) return &rule;
    return nullptr;
  }
};

inline const DescriptorRules* find_rules(std::span<const DescriptorRules> all, cudnnBackendDescriptorType_t type) {
  for (const DescriptorRules& rules : all)
    if (rules.type == type) return &rules;
  return nullptr;
}

// Null for no such descriptor type.
const DescriptorRules* engine_rules(cudnnBackendDescriptorType_t type);
const DescriptorRules* operation_rules(cudnnBackendDescriptorType_t type);
const DescriptorRules* fused_rules(cudnnBackendDescriptorType_t type);
inline const DescriptorRules* rules_of(cudnnBackendDescriptorType_t type) {
  const DescriptorRules* rules = engine_rules(type);
  if (rules == nullptr) rules = operation_rules(type);
  return rules != nullptr ? rules : fused_rules(type);
}
inline bool is_operation(cudnnBackendDescriptorType_t type) {
  return operation_rules(type) != nullptr || fused_rules(type) != nullptr;
}

}  // namespace maya::cudnn
