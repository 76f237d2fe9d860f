// Green contexts: a part of the device's resources, with streams of its own. To everything else it is a context whose
// root is the primary one; memory, modules and events are used across them. What is not modelled: kernels of a green
// context take as long as if they had the whole device, which one line says.
#pragma once

#include <cuda.h>

#include <vector>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

// What cuDevResourceGenerateDesc makes. Never freed: there is no call for that.
struct ResourceDescriptor {
  explicit ResourceDescriptor(std::vector<CUdevResource> list) : resources(std::move(list)) {}
  const std::vector<CUdevResource> resources;
};
const ResourceDescriptor* descriptor_of(CUdevResourceDesc handle);  // null for anything else
int device_of(const CUdevResource& resource);                       // -1: not one of ours

struct GreenContext {
  GreenContext(Context* of, const std::vector<CUdevResource>& list) : context(of), resources(list) {}
  Context* const context;
  const std::vector<CUdevResource> resources;
};

// What cuDeviceGetDevResource and its kin answer. `green`: null for the whole device.
CUresult get_resource(Call& call, int device, const GreenContext* green, CUdevResourceType type, CUdevResource* out);

// An event behind all work of a context, and all streams of a context behind an event.
CUresult record_all(Call& call, Context& context, CUevent event);
CUresult let_all_wait(Call& call, Context& context, CUevent event);

inline GreenContext* green_of(const Context& context) { return static_cast<GreenContext*>(context.green); }

}  // namespace maya::cuda
