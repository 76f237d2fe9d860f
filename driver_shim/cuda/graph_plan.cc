// From an executable graph to the list of steps that its launches walk.
#include <algorithm>
#include <unordered_map>

#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/graph_conditional.h"
#include "driver_shim/cuda/graph_exec.h"
#include "driver_shim/cuda/launch.h"
#include "driver_shim/cuda/operation.h"
#include "driver_shim/cuda/recorder.h"
#include "predictor/core/estimate.h"
#include "virtual_device/graph_schedule.h"

namespace maya::cuda {
namespace {

// Between the nodes of a graph on one stream: the figure of predictor/host_costs.h, where it is less than the device's
// gap between kernels launched one by one.
constexpr uint64_t kNodeGap_ns = 1'140;

using Indices = std::vector<uint32_t>;

// All nodes of a graph and the graphs in it as one flat list: child graph nodes are replaced by what is in them,
// conditional nodes by the bodies that run.
class Flat {
 public:
  explicit Flat(const Graph& root) : root_(root) {}

  // Indices of the nodes without dependents; false: a circle.
  bool add(const Graph& graph, const Indices& before, Indices* sinks, const GraphNode** failed) {
    std::unordered_map<const GraphNode*, uint32_t> index;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) index.emplace(graph.nodes[i], i);
    std::vector<device::ScheduledWork> level(graph.nodes.size());
    for (uint32_t i = 0; i < graph.nodes.size(); ++i)
      for (const GraphEdge& edge : graph.nodes[i]->dependencies) level[i].dependencies.push_back(index.at(edge.from));
    device::GraphSchedule order;
    uint32_t on_circle = 0;
    if (!device::schedule_graph(level, 0, &order, &on_circle)) {
      *failed = graph.nodes[on_circle];
      return false;
    }
    std::vector<Indices> ends(graph.nodes.size());  // flat nodes that stand for the end of each node
    for (const uint32_t i : order.order) {
      const GraphNode& node = *graph.nodes[i];
      Indices dependencies;
      if (level[i].dependencies.empty()) dependencies = before;
      for (const uint32_t from : level[i].dependencies)
        dependencies.insert(dependencies.end(), ends[from].begin(), ends[from].end());
      std::sort(dependencies.begin(), dependencies.end());
      dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
      if (has_inside(node)) {
        for (const Graph* next : inside(node)) {  // one after another
          ends[i].clear();
          if (!add(*next, dependencies, &ends[i], failed)) return false;
          if (!ends[i].empty()) dependencies = ends[i];
        }
        if (ends[i].empty()) ends[i] = dependencies;
      } else {
        ends[i].push_back(static_cast<uint32_t>(nodes_.size()));
        nodes_.push_back(&node);
        work_.push_back({std::move(dependencies), node.lane_hint, 0});
      }
      if (node.dependents.empty()) sinks->insert(sinks->end(), ends[i].begin(), ends[i].end());
    }
    return true;
  }
  const std::vector<const GraphNode*>& nodes() const { return nodes_; }
  std::vector<device::ScheduledWork>& work() { return work_; }

 private:
  static bool has_inside(const GraphNode& node) {
    return std::holds_alternative<ChildNode>(node.work) || std::holds_alternative<ConditionalNode>(node.work);
  }
  std::vector<const Graph*> inside(const GraphNode& node) const {
    if (const auto* child = std::get_if<ChildNode>(&node.work); child != nullptr) return {child->graph};
    std::vector<const Graph*> run;
    if (const auto* conditional = std::get_if<ConditionalNode>(&node.work); conditional != nullptr)
      for (const uint32_t body : bodies_to_run(root_, *conditional)) run.push_back(conditional->bodies[body]);
    return run;
  }

  const Graph& root_;
  std::vector<const GraphNode*> nodes_;
  std::vector<device::ScheduledWork> work_;
};

// Trace ids and duration of one node's work.
struct Resolve {
  Driver& driver;
  Context& context;
  GraphStep& step;
  uint64_t& duration_ns;

  CUresult operator()(const KernelNode& node) const {
    Kernel* kernel = resolve_kernel(node.handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
    ResolvedLaunch resolved;
    if (const CUresult status = resolve_launch(driver, context, *kernel, node.launch, &resolved);
        status != CUDA_SUCCESS)
      return status;
    step.trace_id = resolved.configuration;
    duration_ns = resolved.duration_ns;
    return load_kernel(*kernel, driver, context);
  }
  CUresult operator()(const OperationNode& node) const {
    const ResolvedOperation resolved = resolve_operation(driver.estimator(context.device), node.record);
    step.trace_id = resolved.id;
    duration_ns = resolved.duration_ns;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const CopyNode& node) const {
    step.copy = describe_copy(driver, node.to.start, node.from.start,
                              node.extent.width_bytes * node.extent.rows * node.extent.slices);
    step.copy.rows = runs_of(node.to, node.from, node.extent);
    duration_ns = whole_ns(driver.estimator(context.device)
                               .estimate_copy(static_cast<int>(step.copy.kind), step.copy.bytes, step.copy.pageable)
                               .median_ns);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const FillNode& node) const {
    step.fill_bytes = uint64_t{node.parameters.elementSize} * node.parameters.width * node.parameters.height;
    duration_ns = whole_ns(driver.estimator(context.device).estimate_fill(step.fill_bytes).median_ns);
    return CUDA_SUCCESS;
  }
  // The rest takes no time on the device; host functions are measured as they run.
  template <typename Other>
  CUresult operator()(const Other&) const {
    return CUDA_SUCCESS;
  }
};

bool has_packet(const GraphNode& node) {
  const CUgraphNodeType type = type_of(node.work);
  return node.enabled && (type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                          type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_HOST ||
                          type == CU_GRAPH_NODE_TYPE_EVENT_RECORD || type == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

// Streams of the lanes beside the launch stream, kept over plans of the same executable graph.
void describe_lanes(Driver& driver, const ExecutableGraph& graph, uint32_t lanes, std::vector<uint32_t>* streams) {
  constexpr uint32_t kNonBlocking = CU_STREAM_NON_BLOCKING;
  while (streams->size() + 1 < lanes) {
    const uint32_t id = driver.next_stream_id();
    Recorder::get().stream(id, static_cast<uint32_t>(graph.context->device), kNonBlocking, 0, false);
    streams->push_back(id);
  }
}

}  // namespace

CUresult make_plan(Driver& driver, ExecutableGraph& graph, const GraphNode** failed) {
  Flat flat(*graph.graph);
  Indices sinks;
  *failed = nullptr;
  if (!flat.add(*graph.graph, {}, &sinks, failed)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphStep> by_node(flat.nodes().size());
  for (size_t i = 0; i < by_node.size(); ++i) {
    const GraphNode& node = *flat.nodes()[i];
    by_node[i].node = &node;
    if (!node.enabled) continue;
    Context& context = node.context != nullptr ? *node.context : *graph.context;
    const CUresult status = std::visit(Resolve{driver, context, by_node[i], flat.work()[i].duration_ns}, node.work);
    if (status == CUDA_SUCCESS) continue;
    *failed = &node;
    return status;
  }
  device::GraphSchedule schedule;
  uint32_t on_circle = 0;
  device::schedule_graph(flat.work(), std::min(driver.queued_gap_ns(), kNodeGap_ns), &schedule, &on_circle);

  GraphPlan plan;
  plan.lane_streams = std::move(graph.plan.lane_streams);
  describe_lanes(driver, graph, schedule.lanes, &plan.lane_streams);
  plan.lanes = schedule.lanes;
  plan.span_ns = schedule.span_ns;
  // The start event of the launch stream, and its wait on every other lane.
  if (schedule.lanes > 1) {
    plan.start_event = driver.next_event_id();
    plan.packets += schedule.lanes;
  }
  for (size_t i = 0; i < by_node.size(); ++i)
    if (schedule.signals[i]) {
      by_node[i].signal = driver.next_event_id();
      ++plan.packets;
    }
  for (const uint32_t node : schedule.joins) plan.joins.push_back(by_node[node].signal);
  plan.packets += static_cast<uint32_t>(plan.joins.size());
  for (const uint32_t i : schedule.order) {
    GraphStep& step = by_node[i];
    step.lane = schedule.lane[i];
    step.start_ns = schedule.start_ns[i];
    step.end_ns = schedule.end_ns[i];
    for (const uint32_t from : schedule.waits[i]) step.waits.push_back(by_node[from].signal);
    plan.packets += static_cast<uint32_t>(step.waits.size()) + (has_packet(*step.node) ? 1 : 0);
    if (step.node->enabled && std::holds_alternative<EventWaitNode>(step.node->work)) plan.waits.push_back(step.node);
    plan.steps.push_back(std::move(step));
  }
  graph.plan = std::move(plan);
  graph.changed = false;
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
