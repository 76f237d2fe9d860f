// A descriptor of cuDNN's backend (graph) API: a type and named attributes, each an array of one element type. Used by
// one thread at a time.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace maya::cudnn {

// Bytes of one element; 0 for no such type.
uint32_t element_bytes(cudnnBackendAttributeType_t type);

struct BackendNode;
using BackendNodePtr = std::shared_ptr<const BackendNode>;

// Attributes are copied in; those that name other descriptors hold what these were when they were set, so that a
// program may destroy a descriptor as soon as it has been used.
struct BackendAttribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count = 0;
  std::vector<char> bytes;               // elements, unless the type is CUDNN_TYPE_BACKEND_DESCRIPTOR
  std::vector<BackendNodePtr> children;  // elements of that type
};

// The frozen content of a finalized descriptor.
struct BackendNode {
  cudnnBackendDescriptorType_t type;
  std::vector<BackendAttribute> attributes;

  const BackendAttribute* find(cudnnBackendAttributeName_t name) const;  // null when it was not set
  // First element, or `otherwise`.
  int64_t integer(cudnnBackendAttributeName_t name, int64_t otherwise = 0) const;
  std::vector<int64_t> integers(cudnnBackendAttributeName_t name) const;
  int enumerator(cudnnBackendAttributeName_t name, int otherwise = 0) const;
  bool boolean(cudnnBackendAttributeName_t name) const;
  double number(cudnnBackendAttributeName_t name, double otherwise) const;  // of a float or double
  std::vector<double> fractions(cudnnBackendAttributeName_t name) const;    // of integers or fractions
  std::string text(cudnnBackendAttributeName_t name) const;
  BackendNodePtr child(cudnnBackendAttributeName_t name) const;  // null when it was not set

  void put_integers(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void put_int32(cudnnBackendAttributeName_t name, int32_t value);
  void put_text(cudnnBackendAttributeName_t name, const std::string& text);  // with its final zero
  void put_enumerators(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       const std::vector<int>& values);
  void put_children(cudnnBackendAttributeName_t name, std::vector<BackendNodePtr> children);
};

class BackendDescriptor {
 public:
  static constexpr uint64_t kMagic = 0x6d61796162636b64;

  explicit BackendDescriptor(cudnnBackendDescriptorType_t type) : type_(type) { building_.type = type; }

  bool alive() const { return magic_ == kMagic; }
  void kill() { magic_ = 0; }
  cudnnBackendDescriptorType_t type() const { return type_; }
  bool finalized() const { return node_ != nullptr; }
  // Null before it is finalized.
  const BackendNodePtr& node() const { return node_; }
  BackendNode& building() { return building_; }
  void finalize() { node_ = std::make_shared<const BackendNode>(std::move(building_)); }
  // Becomes the finalized descriptor `node`: how cudnnBackendGetAttribute fills descriptors that the caller made.
  void adopt(BackendNodePtr node) { node_ = std::move(node); }

  // Replaces the attribute. Throws std::bad_alloc.
  void set(BackendAttribute attribute);

 private:
  uint64_t magic_ = kMagic;
  cudnnBackendDescriptorType_t type_;
  BackendNode building_;
  BackendNodePtr node_;
};

}  // namespace maya::cudnn
