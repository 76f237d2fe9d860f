#include "driver_shim/cudnn/graph_operation.h"

#include <algorithm>

#include "driver_shim/cudnn/backend_rules.h"
#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {
namespace {

bool names_output(const BackendNode& operation, cudnnBackendAttributeName_t name) {
  const DescriptorRules* rules = rules_of(operation.type);
  const AttributeRule* rule = rules == nullptr ? nullptr : rules->find(name);
  if (rule != nullptr && rule->is(kOutput)) return true;
  // In training a normalisation also writes its saved statistics.
  return operation.type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR &&
         operation.enumerator(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) == CUDNN_NORM_FWD_TRAINING &&
         (name == CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC || name == CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC);
}

GraphTensor tensor_at(const BackendNode& operation, cudnnBackendAttributeName_t name) {
  const BackendNodePtr node = operation.child(name);
  return node == nullptr ? GraphTensor() : tensor_of(*node);
}

// Dimension counted from the last one; 1 where there are not so many.
int64_t dimension(const GraphTensor& tensor, size_t from_last) {
  const size_t count = tensor.dimensions.size();
  return from_last < count ? tensor.dimensions[count - 1 - from_last] : 1;
}

int64_t batch_of(const GraphTensor& tensor) {
  int64_t product = 1;
  for (size_t i = 0; i + 2 < tensor.dimensions.size(); ++i) product *= tensor.dimensions[i];
  return product;
}

int64_t key(DataType type) { return static_cast<int64_t>(type); }

// --- recognised graphs ---

void attention(OperationRecord& record, const GraphTensor& q, int64_t kv_heads, int64_t seq_kv, bool causal,
               bool backward) {
  record.family = Family::kAttention;
  record.set(Key::kBatch, q.dimensions.empty() ? 1 : q.dimensions[0])
      .set(Key::kHeads, q.dimensions.size() > 1 ? q.dimensions[1] : 1)
      .set(Key::kKvHeads, kv_heads)
      .set(Key::kSeqQ, dimension(q, 1))
      .set(Key::kSeqKv, seq_kv)
      .set(Key::kHeadDim, dimension(q, 0))
      .set(Key::kCausal, causal ? 1 : 0)
      .set(Key::kDirection, backward ? 1 : 0)
      .set(Key::kDataType, key(data_type(q.type)));
}

// Attention written out as matrix products and pointwise operations: S = Q K^T, softmax, O = P V; backward has three
// more products. A causal mask shows as a comparison of generated indices.
void attention_from_products(OperationRecord& record, const std::vector<BackendNodePtr>& operations, size_t products) {
  GraphTensor q, k;
  bool causal = false, first = true;
  for (const BackendNodePtr& operation : operations) {
    if (operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && first) {
      q = tensor_at(*operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
      k = tensor_at(*operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);  // transposed: [batch, heads, head size, keys]
      first = false;
    }
    const BackendNodePtr pointwise = operation->child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    if (pointwise == nullptr) continue;
    const int mode = pointwise->enumerator(CUDNN_ATTR_POINTWISE_MODE);
    causal = causal || mode == CUDNN_POINTWISE_CMP_GE || mode == CUDNN_POINTWISE_CMP_GT;
  }
  attention(record, q, k.dimensions.size() > 1 ? k.dimensions[1] : 1, dimension(k, 0), causal, products > 2);
}

void attention_from_sdpa(OperationRecord& record, const BackendNode& operation, bool backward) {
  const GraphTensor q =
      tensor_at(operation, backward ? CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC : CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC);
  const GraphTensor k =
      tensor_at(operation, backward ? CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC : CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC);
  // Masks are a subgraph of their own.
  const bool masked = operation.find(backward ? CUDNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH
                                              : CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH) != nullptr;
  // K is [batch, heads, keys, head size], or with the last two swapped.
  const int64_t head_size = dimension(q, 0);
  const int64_t keys = dimension(k, 0) == head_size ? dimension(k, 1) : dimension(k, 0);
  attention(record, q, k.dimensions.size() > 1 ? k.dimensions[1] : 1, keys, masked, backward);
}

// Row-major A [.., m, k] B [.., k, n] is column-major B^T A^T: BLAS counts m and n the other way round.
void product(OperationRecord& record, const BackendNode& operation, bool fused) {
  const GraphTensor a = tensor_at(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                    b = tensor_at(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC),
                    c = tensor_at(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  record.family = Family::kGemm;
  record.set(Key::kM, dimension(c, 0))
      .set(Key::kN, dimension(c, 1))
      .set(Key::kK, dimension(a, 0))
      .set(Key::kBatch, batch_of(c))
      .set(Key::kTypeA, key(data_type(b.type)))
      .set(Key::kTypeB, key(data_type(a.type)))
      .set(Key::kTypeC, key(data_type(c.type)))
      .set(Key::kComputeType, key(DataType::kFloat32))
      .set(Key::kEpilogue, fused ? 1 : 0);
}

void normalization(OperationRecord& record, const BackendNode& operation, bool backward) {
  const GraphTensor x =
      tensor_at(operation, backward ? CUDNN_ATTR_OPERATION_NORM_BWD_XDESC : CUDNN_ATTR_OPERATION_NORM_FWD_XDESC);
  int64_t elements = 1;
  for (const int64_t size : x.dimensions) elements *= size;
  const int64_t rows = x.dimensions.empty() ? 1 : std::max<int64_t>(1, x.dimensions[0]);
  record.family = Family::kNormalization;
  record.set(Key::kRows, rows)
      .set(Key::kColumns, elements / rows)
      .set(Key::kDirection, backward ? 1 : 0)
      .set(Key::kDataType, key(data_type(x.type)));
}

void recognise(OperationRecord& record, const std::vector<BackendNodePtr>& operations) {
  size_t products = 0;
  for (const BackendNodePtr& operation : operations)
    products += operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
  for (const BackendNodePtr& operation : operations) {
    switch (operation->type) {
      case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
        return attention_from_sdpa(record, *operation, false);
      case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
        return attention_from_sdpa(record, *operation, true);
      case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
        return normalization(record, *operation, false);
      case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
        return normalization(record, *operation, true);
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return products > 1 ? attention_from_products(record, operations, products)
                            : product(record, *operation, operations.size() > 1);
      default:
        break;
    }
  }
  record.family = Family::kElementwise;
}

std::vector<BackendNodePtr> operations_of(const BackendNode& graph) {
  const BackendAttribute* operations = graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  return operations == nullptr ? std::vector<BackendNodePtr>() : operations->children;
}

}  // namespace

GraphTensor tensor_of(const BackendNode& node) {
  GraphTensor tensor;
  tensor.id = node.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.dimensions = node.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = node.integers(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.type = static_cast<cudnnDataType_t>(node.enumerator(CUDNN_ATTR_TENSOR_DATA_TYPE));
  tensor.in_memory = !node.boolean(CUDNN_ATTR_TENSOR_IS_VIRTUAL) && !node.boolean(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  return tensor;
}

uint64_t GraphTensor::bytes() const {
  uint64_t elements = 1;
  for (const int64_t size : dimensions) elements *= static_cast<uint64_t>(std::max<int64_t>(size, 0));
  return storage_bytes(type, elements);
}

uint64_t GraphTensor::span_bytes() const {
  if (strides.size() != dimensions.size()) return bytes();
  uint64_t last = 0;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] <= 0) return 0;
    last += static_cast<uint64_t>(dimensions[i] - 1) * static_cast<uint64_t>(std::max<int64_t>(strides[i], 0));
  }
  return storage_bytes(type, last + 1);
}

std::vector<GraphTensor> tensors_of(const BackendNode& graph) {
  std::vector<GraphTensor> tensors;
  for (const BackendNodePtr& operation : operations_of(graph)) {
    for (const BackendAttribute& attribute : operation->attributes) {
      for (const BackendNodePtr& child : attribute.children) {
        if (child->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
        GraphTensor tensor = tensor_of(*child);
        tensor.output = names_output(*operation, attribute.name);
        const auto known = std::find_if(tensors.begin(), tensors.end(),
                                        [&](const GraphTensor& other) { return other.id == tensor.id; });
        if (known == tensors.end())
          tensors.push_back(std::move(tensor));
        else
          known->output = known->output || tensor.output;
      }
    }
  }
  return tensors;
}

OperationRecord record_of(const BackendNode& graph, ConvolutionMethod method, bool tensor_cores) {
  OperationRecord record(Family::kElementwise, "cudnnBackendExecute");
  uint64_t scratch = 0;
  ConvolutionShape shape;
  if (convolution_in(graph, &shape)) {
    shape.tensor_cores_allowed = tensor_cores;
    record = convolution_record(shape, method, record.api);
    record.clear(Key::kReadBytes);
    record.clear(Key::kWrittenBytes);
    scratch = static_cast<uint64_t>(scratch_traffic_bytes(shape, method));
  } else {
    recognise(record, operations_of(graph));
  }
  uint64_t read = scratch, written = scratch;
  for (const GraphTensor& tensor : tensors_of(graph)) {
    if (!tensor.in_memory) continue;
    (tensor.output ? written : read) += tensor.bytes();
  }
  return record.set(Key::kReadBytes, static_cast<int64_t>(read)).set(Key::kWrittenBytes, static_cast<int64_t>(written));
}

int64_t scratch_bytes_of(const BackendNode& graph) {
  const OperationRecord record = record_of(graph);
  if (record.family != Family::kAttention || record.get(Key::kDirection) == 0) return 0;
  const double queries = static_cast<double>(record.get(Key::kBatch)) * static_cast<double>(record.get(Key::kHeads)) *
                         static_cast<double>(record.get(Key::kSeqQ));
  return static_cast<int64_t>(queries * static_cast<double>(record.get(Key::kHeadDim) + 1) * sizeof(float));
}

}  // namespace maya::cudnn
