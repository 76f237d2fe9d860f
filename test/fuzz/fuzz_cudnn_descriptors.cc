// cuDNN's descriptors from hostile calls: whatever is set, finalized, read and executed in whatever order gets a
// status, and what is finalized can be used. The input is a list of calls, an opcode and its operands each (read by
// Input); plans are also made from text, and convolutions of the operation API from arbitrary sizes.
#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "driver_shim/cudnn/backend_rules.h"
#include "test/cublas/fake_driver.h"
#include "test/fuzz/input.h"

namespace {

using namespace maya::cudnn;
using Input = maya::test::FuzzInput;

constexpr int kSlots = 16;

struct Slot {
  cudnnBackendDescriptor_t descriptor = nullptr;
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
};

class Session {
 public:
  Session() {
    maya::test::reset();
    if (cudnnCreate(&handle_) != CUDNN_STATUS_SUCCESS) std::abort();
  }
  ~Session() {
    for (Slot& slot : slots_) cudnnBackendDestroyDescriptor(slot.descriptor);
    cudnnDestroy(handle_);
  }

  void run(Input& input) {
    while (!input.empty()) {
      switch (input.byte() % 8) {
        case 0:
          create(input);
          break;
        case 1:
          set_numbers(input);
          break;
        case 2:
          set_children(input);
          break;
        case 3:
          cudnnBackendFinalize(slot(input).descriptor);
          break;
        case 4:
          read_all(slot(input));
          break;
        case 5: {
          const Slot& plan = slot(input);
          cudnnBackendExecute(handle_, plan.descriptor, slot(input).descriptor);
          break;
        }
        case 6:
          plan_from_text(input.rest());
          break;
        case 7:
          legacy_convolution(input);
          break;
      }
    }
  }

 private:
  Slot& slot(Input& input) { return slots_[input.byte() % kSlots]; }

  void create(Input& input) {
    Slot& made = slot(input);
    cudnnBackendDestroyDescriptor(made.descriptor);
    made.descriptor = nullptr;
    made.type = static_cast<cudnnBackendDescriptorType_t>(input.byte());
    cudnnBackendCreateDescriptor(made.type, &made.descriptor);
  }

  const AttributeRule* rule_of(const Slot& of, Input& input) {
    const DescriptorRules* rules = rules_of(of.type);
    const uint8_t index = input.byte();
    return rules == nullptr || of.descriptor == nullptr ? nullptr
                                                        : &rules->attributes[index % rules->attributes.size()];
  }

  void set_numbers(Input& input) {
    const Slot& of = slot(input);
    const AttributeRule* rule = rule_of(of, input);
    constexpr int64_t kMostElements = 16;
    const int64_t count = input.byte() % (kMostElements + 1);
    if (rule == nullptr) return;
    int64_t numbers[kMostElements * 2];
    for (int64_t i = 0; i < count; ++i) numbers[i] = input.number();
    // Enumerations and 32-bit numbers lie side by side.
    const bool wide = rule->form.type == CUDNN_TYPE_INT64 || rule->form.type == CUDNN_TYPE_VOID_PTR;
    int32_t narrow[kMostElements * 2] = {};
    for (int64_t i = 0; i < count; ++i) narrow[i] = static_cast<int32_t>(numbers[i]);
    void* handles[kMostElements];
    std::fill(std::begin(handles), std::end(handles), handle_);
    double fractions[kMostElements];
    for (int64_t i = 0; i < count; ++i) fractions[i] = static_cast<double>(numbers[i]);
    const void* elements = rule->form.type == CUDNN_TYPE_HANDLE   ? static_cast<const void*>(handles)
                           : rule->form.type == CUDNN_TYPE_DOUBLE ? static_cast<const void*>(fractions)
                           : wide                                 ? static_cast<const void*>(numbers)
                                                                  : static_cast<const void*>(narrow);
    if (rule->form.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return;
    cudnnBackendSetAttribute(of.descriptor, rule->name, rule->form.type, count, elements);
  }

  void set_children(Input& input) {
    const Slot& of = slot(input);
    const AttributeRule* rule = rule_of(of, input);
    std::vector<cudnnBackendDescriptor_t> children(input.byte() % 5);
    for (auto& child : children) child = slot(input).descriptor;
    if (rule == nullptr) return;
    cudnnBackendSetAttribute(of.descriptor, rule->name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                             static_cast<int64_t>(children.size()), children.data());
  }

  void read_all(const Slot& of) {
    const DescriptorRules* rules = rules_of(of.type);
    if (rules == nullptr || of.descriptor == nullptr) return;
    char buffer[1 << 12];
    for (const AttributeRule& rule : rules->attributes) {
      int64_t count = 0;
      if (rule.form.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        read_child(of, rule);
        continue;
      }
      constexpr int64_t kMost = sizeof buffer / sizeof(cudnnFraction_t);
      cudnnBackendGetAttribute(of.descriptor, rule.name, rule.form.type, kMost, &count, buffer);
    }
  }

  // The first child goes into the last slot, so that later calls can use what an engine or a heuristic made.
  void read_child(const Slot& of, const AttributeRule& rule) {
    if (rule.form.descriptor == kAnyDescriptorType) return;
    Slot child;
    child.type = static_cast<cudnnBackendDescriptorType_t>(rule.form.descriptor);
    if (cudnnBackendCreateDescriptor(child.type, &child.descriptor) != CUDNN_STATUS_SUCCESS) return;
    int64_t count = 0;
    const cudnnStatus_t status =
        cudnnBackendGetAttribute(of.descriptor, rule.name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &child.descriptor);
    Slot& last = slots_[kSlots - 1];
    if (status == CUDNN_STATUS_SUCCESS && count == 1 && last.descriptor != of.descriptor) {
      cudnnBackendDestroyDescriptor(last.descriptor);
      last = child;
    } else {
      cudnnBackendDestroyDescriptor(child.descriptor);
    }
  }

  void plan_from_text(const std::string& text) {
    Slot& plan = slots_[kSlots - 2];
    cudnnBackendDestroyDescriptor(plan.descriptor);
    plan.type = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
    if (cudnnBackendCreateDescriptor(plan.type, &plan.descriptor) != CUDNN_STATUS_SUCCESS) return;
    cudnnBackendSetAttribute(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                             static_cast<int64_t>(text.size()), text.data());
    cudnnBackendFinalize(plan.descriptor);
  }

  void legacy_convolution(Input& input) {
    cudnnTensorDescriptor_t x = nullptr, y = nullptr;
    cudnnFilterDescriptor_t w = nullptr;
    cudnnConvolutionDescriptor_t convolution = nullptr;
    cudnnCreateTensorDescriptor(&x), cudnnCreateTensorDescriptor(&y);
    cudnnCreateFilterDescriptor(&w), cudnnCreateConvolutionDescriptor(&convolution);
    const auto next = [&] { return static_cast<int>(input.number()); };
    const auto type = static_cast<cudnnDataType_t>(input.byte() % 12);
    const auto format = static_cast<cudnnTensorFormat_t>(input.byte() % 2);
    const int sizes[] = {next(), next(), next(), next()}, filter[] = {next(), next(), next(), next()};
    const int steps[] = {next(), next(), next(), next(), next(), next()};
    int out[4] = {};
    cudnnSetTensor4dDescriptor(x, format, type, sizes[0], sizes[1], sizes[2], sizes[3]);
    cudnnSetFilter4dDescriptor(w, type, format, filter[0], filter[1], filter[2], filter[3]);
    cudnnSetConvolution2dDescriptor(convolution, steps[0], steps[1], steps[2], steps[3], steps[4], steps[5],
                                    CUDNN_CROSS_CORRELATION,
                                    type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(convolution, next());
    cudnnGetConvolution2dForwardOutputDim(convolution, x, w, &out[0], &out[1], &out[2], &out[3]);
    cudnnSetTensor4dDescriptor(y, format, type, out[0], out[1], out[2], out[3]);
    int returned = 0;
    cudnnConvolutionFwdAlgoPerf_t forward[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    cudnnGetConvolutionForwardAlgorithm_v7(handle_, x, w, convolution, y, CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &returned,
                                           forward);
    cudnnConvolutionBwdFilterAlgoPerf_t backward[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
    cudnnFindConvolutionBackwardFilterAlgorithm(handle_, x, y, convolution, w, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT,
                                                &returned, backward);
    cudnnDestroyConvolutionDescriptor(convolution), cudnnDestroyFilterDescriptor(w);
    cudnnDestroyTensorDescriptor(y), cudnnDestroyTensorDescriptor(x);
  }

  cudnnHandle_t handle_ = nullptr;
  Slot slots_[kSlots];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Session session;
  Input input(data, size);
  session.run(input);
  return 0;
}
