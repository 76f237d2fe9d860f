// CUPTI's activity and callback interfaces. Not by way of cupti.h: under __CUDA_API_VERSION_INTERNAL, which makes
// cuda.h declare every version of a function, its stand-ins for structures of the oldest ones are there already.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_nvtx_cbid.h>
#include <cupti_result.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
