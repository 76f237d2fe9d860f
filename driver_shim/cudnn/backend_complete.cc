// What happens to a descriptor when it is finalized.
#include <utility>

#include "driver_shim/cudnn/backend_checks.h"
#include "driver_shim/cudnn/backend_engine.h"
#include "driver_shim/cudnn/backend_rules.h"
#include "driver_shim/cudnn/graph_operation.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

cudnnStatus_t complete_graph(BackendNode& graph) {
  for (const BackendNodePtr& operation : graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->children)
    if (!is_operation(operation->type))
      return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                  "an element of CUDNN_ATTR_OPERATIONGRAPH_OPS is no operation");
  graph.put_integers(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, {engine_count(graph)});
  return CUDNN_STATUS_SUCCESS;
}

// From a configuration, or from the text of another plan.
cudnnStatus_t complete_plan(BackendNode& plan) {
  BackendNodePtr configuration = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (configuration == nullptr) {
    if (plan.find(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) == nullptr)
      return bad_parameter("neither an engine configuration nor the text of a plan is set");
    configuration = configuration_from_text(plan.text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
    if (configuration == nullptr) return bad_parameter("not the text of a plan");
    plan.put_children(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {configuration});
  }
  plan.put_integers(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                    configuration->integers(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
  plan.put_text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, plan_text(*configuration));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t check_attribute(cudnnBackendDescriptorType_t descriptor, const BackendAttribute& attribute) {
  const DescriptorRules* rules = rules_of(descriptor);
  const AttributeRule* rule = rules == nullptr ? nullptr : rules->find(attribute.name);
  if (rule == nullptr) return bad_parameter("the descriptor has no such attribute");
  if (rule->is(kReadOnly)) return bad_parameter("the attribute is read-only");
  if (!rule->form.accepts(attribute.type))
    return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  if (attribute.count < rule->least || attribute.count > rule->most) return bad_parameter("number of elements");
  for (const BackendNodePtr& child : attribute.children)
    if (rule->form.descriptor != kAnyDescriptorType && child->type != rule->form.descriptor)
      return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an element has another descriptor type");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t complete(BackendNode& node) {
  const DescriptorRules* rules = rules_of(node.type);
  if (rules == nullptr) return fail(CUDNN_STATUS_NOT_SUPPORTED, "no such descriptor type");
  for (const AttributeRule& rule : rules->attributes)
    if (rule.is(kRequired) && node.find(rule.name) == nullptr) return bad_parameter("a required attribute is not set");
  if (is_operation(node.type)) return check_operation(node);
  switch (node.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return complete_graph(node);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return complete_engine(node);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return complete_configuration(node);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return complete_heuristics(node);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return complete_plan(node);
    case CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR:
      if (node.find(CUDNN_ATTR_KERNEL_CACHE_JSON_REPRESENTATION) == nullptr)
        node.put_text(CUDNN_ATTR_KERNEL_CACHE_JSON_REPRESENTATION, "{\"kernels\":[]}");
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR: {
      const cudnnStatus_t status = check_parameters(node);
      if (status == CUDNN_STATUS_SUCCESS && node.find(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION) == nullptr)
        node.put_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, "{\"device\":\"current\"}");
      return status;
    }
    default:
      return check_parameters(node);
  }
}

}  // namespace maya::cudnn
