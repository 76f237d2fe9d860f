#include "driver_shim/cudnn/backend_engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "driver_shim/cudnn/convolution_operands.h"
#include "driver_shim/cudnn/graph_operation.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

// What a block of an engine's kernels uses: programs that share a multiprocessor can bar engines by it. Fits every
// device of compute capability 8.0 and later (99 KiB a block at least, CUDA programming guide).
constexpr int32_t kSharedMemory_bytes = 96 << 10;

// Of graphs with a convolution, by global index.
constexpr EngineKind kConvolutionEngines[] = {
    {ConvolutionMethod::kImplicitProduct, true}, {ConvolutionMethod::kImplicitProduct, false},
    {ConvolutionMethod::kWinogradTiles, false},  {ConvolutionMethod::kWinograd, false},
    {ConvolutionMethod::kFourierTiles, false},   {ConvolutionMethod::kFourier, false},
    {ConvolutionMethod::kExplicitProduct, true}, {ConvolutionMethod::kAtomicProduct, false},
};
constexpr EngineKind kOtherEngines[] = {{ConvolutionMethod::kImplicitProduct, true},
                                        {ConvolutionMethod::kImplicitProduct, false}};
constexpr int64_t kPlainEngine = 1;  // of both lists: without tensor cores

// One knob: the tile of a block. Which one is chosen does not change the modelled time.
constexpr int64_t kTiles = 4;

BackendNodePtr finish(BackendNode node) { return std::make_shared<const BackendNode>(std::move(node)); }

bool on_tensor_cores(const BackendNode& graph, int64_t index) {
  const EngineKind kind = engine_kind(graph, index);
  ConvolutionShape shape;
  if (!convolution_in(graph, &shape)) return kind.tensor_cores;
  return (kind.tensor_cores || shape.type != CUDNN_DATA_FLOAT) && shape.on_tensor_cores() &&
         (kind.method == ConvolutionMethod::kImplicitProduct || kind.method == ConvolutionMethod::kExplicitProduct ||
          kind.method == ConvolutionMethod::kWinogradTiles);
}

std::vector<int> numerical_notes(const BackendNode& graph, int64_t index) {
  std::vector<int> notes;
  if (on_tensor_cores(graph, index)) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  switch (engine_kind(graph, index).method) {
    case ConvolutionMethod::kFourier:
    case ConvolutionMethod::kFourierTiles:
      notes.push_back(CUDNN_NUMERICAL_NOTE_FFT);
      break;
    case ConvolutionMethod::kWinograd:
      notes.push_back(CUDNN_NUMERICAL_NOTE_WINOGRAD);
      break;
    case ConvolutionMethod::kWinogradTiles:
      notes.push_back(CUDNN_NUMERICAL_NOTE_WINOGRAD);
      notes.push_back(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
      break;
    case ConvolutionMethod::kAtomicProduct:
      notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
      break;
    default:
      break;
  }
  return notes;
}

std::vector<BackendNodePtr> layouts(const BackendNode& graph, int64_t index) {
  std::vector<BackendNodePtr> all;
  if (!on_tensor_cores(graph, index)) return all;
  for (const GraphTensor& tensor : tensors_of(graph)) {
    if (!tensor.in_memory || tensor.dimensions.size() != 4) continue;
    BackendNode layout{CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR, {}};
    layout.put_integers(CUDNN_ATTR_LAYOUT_INFO_TENSOR_UID, {tensor.id});
    layout.put_enumerators(CUDNN_ATTR_LAYOUT_INFO_TYPES, CUDNN_TYPE_LAYOUT_TYPE, {CUDNN_LAYOUT_TYPE_PREFERRED_NHWC});
    all.push_back(finish(std::move(layout)));
  }
  return all;
}

BackendNodePtr tile_knob() {
  BackendNode knob{CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, {}};
  knob.put_enumerators(CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, {CUDNN_KNOB_TYPE_TILE_SIZE});
  knob.put_integers(CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, {0});
  knob.put_integers(CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, {kTiles - 1});
  knob.put_integers(CUDNN_ATTR_KNOB_INFO_STRIDE, {1});
  return finish(std::move(knob));
}

BackendNodePtr tile_choice(int64_t value) {
  BackendNode choice{CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, {}};
  choice.put_enumerators(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, {CUDNN_KNOB_TYPE_TILE_SIZE});
  choice.put_integers(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, {value});
  return finish(std::move(choice));
}

int64_t workspace_of(const BackendNode& graph, int64_t index) {
  const EngineKind kind = engine_kind(graph, index);
  ConvolutionShape shape;
  if (!convolution_in(graph, &shape)) return scratch_bytes_of(graph);
  shape.tensor_cores_allowed = kind.tensor_cores;
  return static_cast<int64_t>(workspace_bytes(shape, kind.method));
}

BackendNodePtr make_configuration(const BackendNodePtr& graph, int64_t index, int64_t tile) {
  BackendNode engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}};
  engine.put_children(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  engine.put_integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {index});
  if (complete_engine(engine) != CUDNN_STATUS_SUCCESS) return nullptr;
  BackendNode configuration{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {}};
  configuration.put_children(CUDNN_ATTR_ENGINECFG_ENGINE, {finish(std::move(engine))});
  configuration.put_children(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, {tile_choice(tile)});
  return complete_configuration(configuration) == CUDNN_STATUS_SUCCESS ? finish(std::move(configuration)) : nullptr;
}

}  // namespace

int64_t engine_count(const BackendNode& graph) {
  ConvolutionShape shape;
  return convolution_in(graph, &shape) ? std::size(kConvolutionEngines) : std::size(kOtherEngines);
}

EngineKind engine_kind(const BackendNode& graph, int64_t index) {
  ConvolutionShape shape;
  if (!convolution_in(graph, &shape)) return kOtherEngines[index];
  // Other types than 32-bit floats use tensor cores whatever is allowed: only this product has none.
  if (index == kPlainEngine && shape.type != CUDNN_DATA_FLOAT && shape.on_tensor_cores())
    return {ConvolutionMethod::kDirectProduct, false};
  return kConvolutionEngines[index];
}

bool engine_supports(const BackendNode& graph, int64_t index) {
  if (index < 0 || index >= engine_count(graph)) return false;
  const EngineKind kind = engine_kind(graph, index);
  ConvolutionShape shape;
  if (!convolution_in(graph, &shape)) return true;
  shape.tensor_cores_allowed = kind.tensor_cores;
  return supports(shape, kind.method, compute_capability_major());
}

BackendNodePtr graph_of_configuration(const BackendNode& configuration) {
  const BackendNodePtr engine = configuration.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  return engine == nullptr ? nullptr : engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

BackendNodePtr engine_of_plan(const BackendNode& plan) {
  const BackendNodePtr configuration = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return configuration == nullptr ? nullptr : configuration->child(CUDNN_ATTR_ENGINECFG_ENGINE);
}

cudnnStatus_t complete_engine(BackendNode& engine) {
  const BackendNodePtr graph = engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const int64_t index = engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  if (index < 0 || index >= engine_count(*graph))
    return fail(CUDNN_STATUS_NOT_SUPPORTED,
                "the global index is not below CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT");
  if (!engine_supports(*graph, index))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "the engine does not support this operation graph");
  engine.put_children(CUDNN_ATTR_ENGINE_KNOB_INFO, {tile_knob()});
  engine.put_enumerators(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, numerical_notes(*graph, index));
  const bool fused = graph->find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->count > 1;
  engine.put_enumerators(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                         fused ? std::vector<int>{CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION} : std::vector<int>{});
  engine.put_children(CUDNN_ATTR_ENGINE_LAYOUT_INFO, layouts(*graph, index));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t complete_configuration(BackendNode& configuration) {
  const BackendNodePtr engine = configuration.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  const BackendNodePtr graph = engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (const BackendAttribute* choices = configuration.find(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) {
    for (const BackendNodePtr& choice : choices->children) {
      const int64_t value = choice->integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
      if (choice->enumerator(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) != CUDNN_KNOB_TYPE_TILE_SIZE || value < 0 ||
          value >= kTiles)
        return fail(CUDNN_STATUS_NOT_SUPPORTED, "the engine has no such knob, or not that value of it");
    }
  }
  const int64_t index = engine->integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  configuration.put_integers(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, {workspace_of(*graph, index)});
  configuration.put_int32(CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, kSharedMemory_bytes);
  return CUDNN_STATUS_SUCCESS;
}

// Instant and A: every engine that can, best expected first. B looks at other tiles too. Fallback: what always works.
cudnnStatus_t complete_heuristics(BackendNode& heuristics) {
  const BackendNodePtr graph = heuristics.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const int mode = heuristics.enumerator(CUDNN_ATTR_ENGINEHEUR_MODE);
  std::vector<BackendNodePtr> results;
  const auto add = [&](int64_t index, int64_t tile) {
    if (!engine_supports(*graph, index)) return;
    if (BackendNodePtr configuration = make_configuration(graph, index, tile))
      results.push_back(std::move(configuration));
  };
  ConvolutionShape shape;
  const bool plain = convolution_in(*graph, &shape) && !shape.on_tensor_cores();
  constexpr int64_t kWinogradEngine = 2;
  switch (mode) {
    case CUDNN_HEUR_MODE_INSTANT:
    case CUDNN_HEUR_MODE_A:
    case CUDNN_HEUR_MODE_B:
      if (plain) add(kWinogradEngine, 0);
      for (int64_t index = 0; index < engine_count(*graph); ++index) {
        if (plain && index == kWinogradEngine) continue;
        for (int64_t tile = 0; tile < (mode == CUDNN_HEUR_MODE_B ? 2 : 1); ++tile) add(index, tile);
      }
      break;
    case CUDNN_HEUR_MODE_FALLBACK:
      add(kPlainEngine, 0);
      break;
    default:
      return fail(CUDNN_STATUS_NOT_SUPPORTED, "no such heuristic mode");
  }
  heuristics.put_children(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(results));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace maya::cudnn
