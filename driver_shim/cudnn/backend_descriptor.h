// A descriptor of cuDNN's backend (graph) API: a type and named attributes, each an array of one element type. Used by
// one thread at a time.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <vector>

namespace maya::cudnn {

// Bytes of one element; 0 for no such type.
uint32_t element_bytes(cudnnBackendAttributeType_t type);

class BackendDescriptor {
 public:
  static constexpr uint64_t kMagic = 0x6d61796162636b64;

  explicit BackendDescriptor(cudnnBackendDescriptorType_t type) : type_(type) {}

  bool alive() const { return magic_ == kMagic; }
  void kill() { magic_ = 0; }
  cudnnBackendDescriptorType_t type() const { return type_; }
  bool finalized() const { return finalized_; }
  void finalize() { finalized_ = true; }

  // Replaces the attribute. Throws std::bad_alloc.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* elements);

  struct Attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    std::vector<char> bytes;
  };
  // Null when it was not set.
  const Attribute* find(cudnnBackendAttributeName_t name) const;

 private:
  uint64_t magic_ = kMagic;
  cudnnBackendDescriptorType_t type_;
  bool finalized_ = false;
  std::vector<Attribute> attributes_;
};

}  // namespace maya::cudnn
