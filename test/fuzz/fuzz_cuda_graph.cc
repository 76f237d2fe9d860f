// CUDA graphs from hostile calls: nodes of all kinds in whatever order and with whatever edges, changed, captured,
// cloned, instantiated, updated and launched. Every call must answer with a documented code, the graph must go on
// telling the same of its nodes and edges whichever way it is asked, and nothing may be left when all is destroyed.
// The input is a list of calls, an opcode and its operands each.
#include <cuda.h>

#include <algorithm>
#include <vector>

#include "test/fuzz/driver.h"
#include "test/fuzz/input.h"

namespace {

using maya::test::expect, maya::test::fail, maya::test::free_memory, maya::test::FuzzInput;

constexpr size_t kGraphs = 4, kExecutables = 4, kMostNodes = 64;
constexpr size_t kWords = 1 << 10;

constexpr const char* kPtx = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry pointer(.param .u64 a, .param .u32 n) { ret; }
)";

// A code that cuda.h documents for some call, and none that would mean that the driver lost its way.
CUresult answered(CUresult status) {
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != CUDA_SUCCESS || status == CUDA_ERROR_UNKNOWN ||
      status == CUDA_ERROR_ILLEGAL_ADDRESS || status == CUDA_ERROR_LAUNCH_FAILED)
    fail("answer", status);
  return status;
}

void CUDA_CB count_call(void* counter) { ++*static_cast<size_t*>(counter); }

// What outlives an input.
struct Device {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction nothing = nullptr, pointer = nullptr;
  CUdeviceptr words = 0;
  CUstream streams[2] = {};
  CUevent events[2] = {};

  Device() {
    expect(cuInit(0), "cuInit");
    expect(cuDevicePrimaryCtxRetain(&context, 0), "retain");
    expect(cuCtxSetCurrent(context), "current");
    expect(cuModuleLoadData(&module, kPtx), "module");
    expect(cuModuleGetFunction(&nothing, module, "nothing"), "nothing");
    expect(cuModuleGetFunction(&pointer, module, "pointer"), "pointer");
    expect(cuMemAlloc(&words, kWords * 4), "memory");
    for (CUstream& stream : streams) expect(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    for (CUevent& event : events) expect(cuEventCreate(&event, CU_EVENT_DEFAULT), "event");
    // Kernels are loaded at their first launch.
    launch(nothing);
    launch(pointer);
    expect(cuCtxSynchronize(), "synchronize");
  }
  void launch(CUfunction function) {
    unsigned int count = 1;
    void* arguments[] = {&words, &count};
    expect(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), "launch");
  }
};

Device& device() {
  static Device& only = *new Device;
  return only;
}

struct Slot {
  CUgraph graph = nullptr;
  std::vector<CUgraphNode> nodes;
  std::vector<CUdeviceptr> allocated;  // by its allocation nodes
};

class Session {
 public:
  Session() : device_(device()), free_before_(free_memory()) {}

  ~Session() {
    for (CUgraphExec executable : executables_)
      if (executable != nullptr) expect(cuGraphExecDestroy(executable), "cuGraphExecDestroy");
    for (Slot& slot : slots_)
      if (slot.graph != nullptr) expect(cuGraphDestroy(slot.graph), "cuGraphDestroy");
    for (const CUdeviceptr left : kept_) answered(cuMemFreeAsync(left, device_.streams[0]));
    expect(cuCtxSynchronize(), "synchronize");
    expect(cuDeviceGraphMemTrim(0), "cuDeviceGraphMemTrim");
    if (free_memory() != free_before_) fail("memory left, KiB", static_cast<int>((free_before_ - free_memory()) >> 10));
  }

  void run(FuzzInput& input) {
    while (!input.empty()) {
      Slot& slot = slots_[input.byte() % kGraphs];
      if (slot.graph == nullptr) {
        expect(cuGraphCreate(&slot.graph, 0), "cuGraphCreate");
        slot.nodes.clear();
      }
      step(input, slot);
      check(slot);
    }
  }

 private:
  void step(FuzzInput& input, Slot& slot) {
    switch (input.byte() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add_node(input, slot);
      case 4:
      case 5:
        return change_edges(input, slot);
      case 6:
        return remove_node(input, slot);
      case 7:
        return change_parameters(input, slot);
      case 8:
        return clone(input, slot);
      case 9:
        return capture(input, slot);
      case 10:
        return instantiate(input, slot);
      case 11:
        return update(input, slot);
      case 12:
      case 13:
        return launch(input);
      case 14:
        answered(cuGraphDebugDotPrint(slot.graph, "/dev/null", input.byte()));
        return;
      case 15:
        return forget(slot);
    }
  }

  CUgraphNode node(FuzzInput& input, const Slot& slot) const {
    return slot.nodes.empty() ? nullptr : slot.nodes[input.byte() % slot.nodes.size()];
  }

  std::vector<CUgraphNode> some_nodes(FuzzInput& input, const Slot& slot) const {
    std::vector<CUgraphNode> some(slot.nodes.empty() ? 0 : input.byte() % 4);
    for (CUgraphNode& one : some) one = node(input, slot);
    return some;
  }

  CUDA_MEMSET_NODE_PARAMS fill(FuzzInput& input) const {
    return {device_.words + static_cast<CUdeviceptr>(input.byte()),
            static_cast<size_t>(input.number()),
            static_cast<unsigned int>(input.number()),
            static_cast<unsigned int>(input.byte() % 6),
            static_cast<size_t>(input.number()),
            static_cast<size_t>(input.byte())};
  }

  CUDA_MEMCPY3D copy(FuzzInput& input) const {
    CUDA_MEMCPY3D p{};
    p.srcMemoryType = input.byte() % 4 == 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcHost = host_;
    p.srcDevice = device_.words;
    p.dstDevice = device_.words + kWords * 2;
    p.WidthInBytes = input.byte();
    p.Height = input.byte() % 3;
    p.Depth = input.byte() % 3;
    return p;
  }

  CUDA_KERNEL_NODE_PARAMS kernel(FuzzInput& input) {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = input.byte() % 2 == 0 ? device_.nothing : device_.pointer;
    p.gridDimX = static_cast<unsigned int>(input.number());
    p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.blockDimX = static_cast<unsigned int>(input.number());
    p.sharedMemBytes = static_cast<unsigned int>(input.number());
    p.kernelParams = arguments_;
    return p;
  }

  void add_node(FuzzInput& input, Slot& slot) {
    if (slot.nodes.size() >= kMostNodes) return;
    const std::vector<CUgraphNode> after = some_nodes(input, slot);
    CUgraphNode made = nullptr;
    const CUresult status = answered(add(input, &slot, after, &made));
    if (status == CUDA_SUCCESS) slot.nodes.push_back(made);
    if ((status == CUDA_SUCCESS) != (made != nullptr)) fail("a node without success, or success without", status);
  }

  CUresult add(FuzzInput& input, Slot* slot, const std::vector<CUgraphNode>& after, CUgraphNode* made) {
    const CUgraph graph = slot->graph;
    const CUgraphNode* const nodes = after.data();
    const size_t count = after.size();
    switch (input.byte() % 10) {
      case 0:
        return cuGraphAddEmptyNode(made, graph, nodes, count);
      case 1: {
        const CUDA_KERNEL_NODE_PARAMS p = kernel(input);
        return cuGraphAddKernelNode(made, graph, nodes, count, &p);
      }
      case 2: {
        const CUDA_MEMSET_NODE_PARAMS p = fill(input);
        return cuGraphAddMemsetNode(made, graph, nodes, count, &p, device_.context);
      }
      case 3: {
        const CUDA_MEMCPY3D p = copy(input);
        return cuGraphAddMemcpyNode(made, graph, nodes, count, &p, device_.context);
      }
      case 4: {
        const CUDA_HOST_NODE_PARAMS p{count_call, &calls_};
        return cuGraphAddHostNode(made, graph, nodes, count, &p);
      }
      case 5:
        return cuGraphAddEventRecordNode(made, graph, nodes, count, device_.events[input.byte() % 2]);
      case 6:
        return cuGraphAddEventWaitNode(made, graph, nodes, count, device_.events[input.byte() % 2]);
      case 7:
        return cuGraphAddChildGraphNode(made, graph, nodes, count, slots_[input.byte() % kGraphs].graph);
      case 8: {
        CUDA_MEM_ALLOC_NODE_PARAMS p{};
        p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        p.bytesize = static_cast<size_t>(input.number()) << 12;
        const CUresult status = cuGraphAddMemAllocNode(made, graph, nodes, count, &p);
        if (status == CUDA_SUCCESS) slot->allocated.push_back(p.dptr);
        return status;
      }
      default:
        return cuGraphAddMemFreeNode(
            made, graph, nodes, count,
            slot->allocated.empty() ? 0 : slot->allocated[input.byte() % slot->allocated.size()]);
    }
  }

  void change_edges(FuzzInput& input, Slot& slot) {
    const bool add = input.byte() % 3 != 0;
    const std::vector<CUgraphNode> from = some_nodes(input, slot);
    std::vector<CUgraphNode> to(from.size());
    for (CUgraphNode& one : to) one = node(input, slot);
    answered((add ? cuGraphAddDependencies : cuGraphRemoveDependencies)(slot.graph, from.data(), to.data(), nullptr,
                                                                        from.size()));
  }

  void remove_node(FuzzInput& input, Slot& slot) {
    const CUgraphNode gone = node(input, slot);
    if (gone != nullptr && answered(cuGraphDestroyNode(gone)) == CUDA_SUCCESS) std::erase(slot.nodes, gone);
  }

  void change_parameters(FuzzInput& input, Slot& slot) {
    const CUgraphNode changed = node(input, slot);
    const CUgraphExec executable = executables_[input.byte() % kExecutables];
    if (changed == nullptr) return;
    const CUDA_KERNEL_NODE_PARAMS launch = kernel(input);
    const CUDA_MEMSET_NODE_PARAMS filled = fill(input);
    const CUDA_MEMCPY3D copied = copy(input);
    answered(cuGraphKernelNodeSetParams(changed, &launch));
    answered(cuGraphMemsetNodeSetParams(changed, &filled));
    answered(cuGraphMemcpyNodeSetParams(changed, &copied));
    if (executable == nullptr) return;
    answered(cuGraphExecKernelNodeSetParams(executable, changed, &launch));
    answered(cuGraphExecMemsetNodeSetParams(executable, changed, &filled, device_.context));
    answered(cuGraphExecMemcpyNodeSetParams(executable, changed, &copied, device_.context));
    answered(cuGraphNodeSetEnabled(executable, changed, input.byte() % 2));
  }

  void clone(FuzzInput& input, Slot& slot) {
    Slot& to = slots_[input.byte() % kGraphs];
    CUgraph made = nullptr;
    if (&to == &slot || answered(cuGraphClone(&made, slot.graph)) != CUDA_SUCCESS) return;
    for (const CUgraphNode original : slot.nodes) {
      CUgraphNode found = nullptr;
      expect(cuGraphNodeFindInClone(&found, original, made), "cuGraphNodeFindInClone");
    }
    take(to, made);
  }

  void capture(FuzzInput& input, Slot& slot) {
    const CUstream stream = device_.streams[0], other = device_.streams[1];
    expect(cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(input.byte() % 3)), "cuStreamBeginCapture");
    for (int left = input.byte() % 8; left > 0; --left) switch (input.byte() % 6) {
        case 0:
          answered(cuMemsetD32Async(device_.words, input.byte(), input.byte(), stream));
          break;
        case 1:
          answered(cuMemcpyDtoDAsync(device_.words, device_.words + kWords * 2, input.byte(), stream));
          break;
        case 2:  // fork and perhaps join
          answered(cuEventRecord(device_.events[0], stream));
          answered(cuStreamWaitEvent(other, device_.events[0], 0));
          answered(cuMemsetD32Async(device_.words, 1, 1, other));
          answered(cuEventRecord(device_.events[1], other));
          if (input.byte() % 4 != 0) answered(cuStreamWaitEvent(stream, device_.events[1], 0));
          break;
        case 3:
          answered(cuStreamQuery(stream));  // not permitted: spoils the capture
          break;
        case 4:
          answered(cuLaunchHostFunc(stream, count_call, &calls_));
          break;
        case 5: {
          CUdeviceptr allocated = 0;
          if (answered(cuMemAllocAsync(&allocated, size_t{1} << 12, stream)) == CUDA_SUCCESS)
            answered(cuMemFreeAsync(allocated, stream));
          break;
        }
      }
    CUgraph made = nullptr;
    const CUresult status = answered(cuStreamEndCapture(stream, &made));
    if ((status == CUDA_SUCCESS) != (made != nullptr))
      fail("a captured graph without success, or success without", status);
    if (made != nullptr) take(slot, made);
  }

  // The slot's new graph.
  void take(Slot& slot, CUgraph graph) {
    forget(slot);
    slot.graph = graph;
    size_t count = 0;
    expect(cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
    slot.nodes.resize(count);
    if (count > 0) expect(cuGraphGetNodes(graph, slot.nodes.data(), &count), "cuGraphGetNodes");
  }

  void forget(Slot& slot) {
    if (slot.graph != nullptr) expect(cuGraphDestroy(slot.graph), "cuGraphDestroy");
    slot = {};
  }

  void instantiate(FuzzInput& input, Slot& slot) {
    CUgraphExec& executable = executables_[input.byte() % kExecutables];
    if (executable != nullptr) expect(cuGraphExecDestroy(executable), "cuGraphExecDestroy");
    executable = nullptr;
    // Automatic freeing at a launch, or none.
    const unsigned long long flags = input.byte() % 2 == 0 ? CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0;
    const CUresult status = answered(cuGraphInstantiate(&executable, slot.graph, flags));
    if ((status == CUDA_SUCCESS) != (executable != nullptr)) fail("cuGraphInstantiate", status);
    if (status == CUDA_SUCCESS) kept_.insert(kept_.end(), slot.allocated.begin(), slot.allocated.end());
  }

  void update(FuzzInput& input, Slot& slot) {
    const CUgraphExec executable = executables_[input.byte() % kExecutables];
    if (executable == nullptr) return;
    CUgraphExecUpdateResultInfo result{};
    const CUresult status = answered(cuGraphExecUpdate(executable, slot.graph, &result));
    if ((status == CUDA_SUCCESS) != (result.result == CU_GRAPH_EXEC_UPDATE_SUCCESS)) fail("cuGraphExecUpdate", status);
  }

  void launch(FuzzInput& input) {
    const CUgraphExec executable = executables_[input.byte() % kExecutables];
    if (executable == nullptr) return;
    answered(cuGraphLaunch(executable, device_.streams[0]));
    answered(cuStreamSynchronize(device_.streams[0]));
  }

  // A graph says the same of itself whichever way it is asked.
  void check(const Slot& slot) {
    if (slot.graph == nullptr) return;
    size_t nodes = 0, edges = 0, incoming = 0, outgoing = 0, roots = 0, without = 0;
    expect(cuGraphGetNodes(slot.graph, nullptr, &nodes), "cuGraphGetNodes");
    expect(cuGraphGetEdges(slot.graph, nullptr, nullptr, nullptr, &edges), "cuGraphGetEdges");
    expect(cuGraphGetRootNodes(slot.graph, nullptr, &roots), "cuGraphGetRootNodes");
    if (nodes != slot.nodes.size()) fail("nodes", static_cast<int>(nodes));
    for (const CUgraphNode one : slot.nodes) {
      CUgraphNodeType type{};
      expect(cuGraphNodeGetType(one, &type), "cuGraphNodeGetType");
      size_t before = 0, behind = 0;
      expect(cuGraphNodeGetDependencies(one, nullptr, nullptr, &before), "cuGraphNodeGetDependencies");
      expect(cuGraphNodeGetDependentNodes(one, nullptr, nullptr, &behind), "cuGraphNodeGetDependentNodes");
      incoming += before;
      outgoing += behind;
      without += before == 0 ? 1 : 0;
    }
    if (incoming != edges || outgoing != edges || without != roots) fail("edges", static_cast<int>(edges));
  }

  Device& device_;
  const size_t free_before_;
  Slot slots_[kGraphs];
  CUgraphExec executables_[kExecutables] = {};
  std::vector<CUdeviceptr> kept_;  // what launches may have allocated and not freed
  size_t calls_ = 0;
  char host_[4096] = {};
  CUdeviceptr argument_ = device().words;
  unsigned int count_ = 1;
  void* arguments_[2] = {&argument_, &count_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  Session().run(input);
  return 0;
}
