#include <algorithm>
#include <cstring>
#include <string>

#include "test/cudnn/backend_builder.h"

using namespace maya::test;
using maya::Key;

namespace {

// A graph of one convolution: 4 x 8 x 16 x 16 to 32 maps by 3 x 3 filters.
struct GraphFixture : CudnnFixture {
  void build(cudnnDataType_t type, int64_t stride = 1) {
    make_tensor(x, 1, {4, 8, 16, 16}, false, type);
    make_tensor(w, 2, {32, 8, 3, 3}, false, type);
    make_tensor(y, 3, {4, 32, 16 / stride, 16 / stride}, false, type);
    make_convolution(convolution, stride, 1);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero)
        .done();
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
        .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .done();
  }
  // Global indices of the engines that the heuristic returns.
  std::vector<int64_t> heuristic(cudnnBackendHeurMode_t mode) {
    Built heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode)
        .done();
    int64_t count = 0;
    REQUIRE(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr) == CUDNN_STATUS_SUCCESS);
    std::vector<cudnnBackendDescriptor_t> results(static_cast<size_t>(count));
    for (auto& result : results)
      REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &result) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                     results.data()) == CUDNN_STATUS_SUCCESS);
    std::vector<int64_t> indices;
    for (const auto result : results) {
      Built engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      int64_t one_count = 0, index = -1;
      REQUIRE(cudnnBackendGetAttribute(result, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                       &one_count, &engine.descriptor) == CUDNN_STATUS_SUCCESS);
      REQUIRE(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                       &one_count, &index) == CUDNN_STATUS_SUCCESS);
      indices.push_back(index);
      cudnnBackendDestroyDescriptor(result);
    }
    return indices;
  }
  cudnnStatus_t make_engine(Built& engine, int64_t index) {
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    return cudnnBackendFinalize(engine.descriptor);
  }
  bool has_note(int64_t index, cudnnBackendNumericalNote_t note) {
    Built engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    REQUIRE(make_engine(engine, index) == CUDNN_STATUS_SUCCESS);
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0;
    REQUIRE(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                     CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) == CUDNN_STATUS_SUCCESS);
    return std::find(notes, notes + count, note) != notes + count;
  }

  Built x{CUDNN_BACKEND_TENSOR_DESCRIPTOR}, w{CUDNN_BACKEND_TENSOR_DESCRIPTOR}, y{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Built convolution{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  Built operation{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR};
  Built graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace

TEST_CASE_METHOD(GraphFixture, "Heuristics return several engines, the best expected first") {
  build(CUDNN_DATA_FLOAT);
  int64_t count = 0, engines = 0;
  REQUIRE(cudnnBackendGetAttribute(graph.descriptor, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1,
                                   &count, &engines) == CUDNN_STATUS_SUCCESS);
  const std::vector<int64_t> a = heuristic(CUDNN_HEUR_MODE_A);
  CHECK(a.size() >= 4);
  CHECK(std::all_of(a.begin(), a.end(), [&](int64_t index) { return index >= 0 && index < engines; }));
  CHECK(heuristic(CUDNN_HEUR_MODE_INSTANT) == a);
  CHECK(heuristic(CUDNN_HEUR_MODE_B).size() > a.size());
  CHECK(heuristic(CUDNN_HEUR_MODE_FALLBACK).size() == 1);
  // PyTorch leaves out what has this note unless TF32 is allowed: something must be left.
  CHECK(has_note(a[0], CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  CHECK(std::any_of(a.begin(), a.end(), [&](int64_t index) {
    return !has_note(index, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
           !has_note(index, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  }));
  Built engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  CHECK(make_engine(engine, engines) == CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(GraphFixture, "A strided convolution has no Winograd or Fourier engine") {
  build(CUDNN_DATA_HALF, /*stride=*/2);
  for (const int64_t index : heuristic(CUDNN_HEUR_MODE_A)) {
    CHECK(!has_note(index, CUDNN_NUMERICAL_NOTE_WINOGRAD));
    CHECK(!has_note(index, CUDNN_NUMERICAL_NOTE_FFT));
  }
}

TEST_CASE_METHOD(GraphFixture, "Knobs of an engine, and configurations that choose them") {
  build(CUDNN_DATA_HALF);
  Built engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), knob(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
  REQUIRE(make_engine(engine, 0) == CUDNN_STATUS_SUCCESS);
  int64_t count = 0, least = -1, most = -1;
  cudnnBackendKnobType_t type;
  REQUIRE(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                   &count, &knob.descriptor) == CUDNN_STATUS_SUCCESS);
  REQUIRE(count == 1);
  REQUIRE(cudnnBackendGetAttribute(knob.descriptor, CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &count,
                                   &type) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnBackendGetAttribute(knob.descriptor, CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, CUDNN_TYPE_INT64, 1, &count,
                                   &least) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnBackendGetAttribute(knob.descriptor, CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, CUDNN_TYPE_INT64, 1, &count,
                                   &most) == CUDNN_STATUS_SUCCESS);
  CHECK(least <= most);
  for (const int64_t value : {least, most, most + 1}) {
    Built choice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR), configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value)
        .done();
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choice);
    CHECK(cudnnBackendFinalize(configuration.descriptor) ==
          (value <= most ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED));
  }
  Built read_only(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
  CHECK(cudnnBackendFinalize(read_only.descriptor) == CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(GraphFixture, "A plan's text makes the same plan again") {
  build(CUDNN_DATA_HALF);
  Built plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  int64_t workspace = 0, length = 0;
  make_plan(plan, handle, {&operation}, &workspace);
  REQUIRE(cudnnBackendGetAttribute(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0,
                                   &length, nullptr) == CUDNN_STATUS_SUCCESS);
  std::string text(static_cast<size_t>(length), '\0');
  REQUIRE(cudnnBackendGetAttribute(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                   length, &length, text.data()) == CUDNN_STATUS_SUCCESS);
  // "Element count is the same as the size of a null-terminated string."
  CHECK(std::strlen(text.c_str()) + 1 == static_cast<size_t>(length));
  CHECK(text[0] == '{');
  const auto read = [&](Built& other, const std::string& from) {
    other.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<int64_t>(from.size()),
             from.data());
    return cudnnBackendFinalize(other.descriptor);
  };
  Built again(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  REQUIRE(read(again, text) == CUDNN_STATUS_SUCCESS);
  REQUIRE(run_plan(handle, again, {1, 2, 3}, {at(0x10000), at(0x20000), at(0x30000)}, at(0x90000)) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kFlops) == 2ll * 8 * 9 * 4 * 32 * 256);
  for (size_t cut = 0; cut < text.size(); cut += 7) {
    Built damaged(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    std::string changed = text;
    changed[cut] = changed[cut] == '0' ? 'f' : '0';
    const cudnnStatus_t status = read(damaged, changed);
    CHECK((status == CUDNN_STATUS_SUCCESS || status == CUDNN_STATUS_BAD_PARAM));
  }
  Built empty(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  CHECK(read(empty, "{}") == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE_METHOD(GraphFixture, "Engines other than the best are recorded with their own work") {
  build(CUDNN_DATA_FLOAT);
  for (const int64_t index : heuristic(CUDNN_HEUR_MODE_A)) {
    Built engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
        plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    REQUIRE(make_engine(engine, index) == CUDNN_STATUS_SUCCESS);
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).done();
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).done();
    REQUIRE(run_plan(handle, plan, {1, 2, 3}, {at(0x10000), at(0x20000), at(0x30000)}, at(0x90000)) ==
            CUDNN_STATUS_SUCCESS);
    const bool best = index == 0;
    const bool winograd = has_note(index, CUDNN_NUMERICAL_NOTE_WINOGRAD);  // the best one without tensor cores
    CHECK((fake().field(Key::kImplementation) == 0) == (best || winograd));
    CHECK((fake().field(Key::kComputeType) == 0) == has_note(index, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  }
}

TEST_CASE_METHOD(GraphFixture, "Native CUDA graphs need an engine with that note, and none has it") {
  build(CUDNN_DATA_HALF);
  Built plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  int64_t workspace = 0;
  make_plan(plan, handle, {&operation}, &workspace);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 0, nullptr)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 0, nullptr)
      .done();
  size_t bytes = 0;
  CHECK(cudnnGetExecutionPlanWorkspaceSize(handle, plan.descriptor, pack.descriptor, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == static_cast<size_t>(workspace));
  const auto cuda_graph = reinterpret_cast<cudaGraph_t>(0x1000);
  CHECK(cudnnBackendPopulateCudaGraph(handle, plan.descriptor, pack.descriptor, cuda_graph) ==
        CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API);
  CHECK(cudnnBackendUpdateCudaGraph(handle, plan.descriptor, pack.descriptor, nullptr) ==
        CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}
