// The linker of the CUDA driver API (cuLink*). There is no compiler behind it: the result is the input that holds the
// kernels, which our own module loader reads again. Several PTX inputs are joined; cubins cannot be joined with other
// code that has kernels.
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/loaded_image.h"
#include "virtual_device/handle_pool.h"
#include "virtual_device/image/kernel_image.h"

namespace maya::cuda {

namespace {

constexpr size_t kMaximumLinks = 1u << 16;

struct Link {
  // As given to cuLinkCreate; the program keeps the arrays until cuLinkDestroy.
  unsigned option_count = 0;
  CUjit_option* options = nullptr;
  void** values = nullptr;

  std::mutex mutex;
  std::vector<uint8_t> binary;  // an input with kernels that is not text
  std::string text;             // PTX inputs, joined
  bool has_input = false;
  std::vector<uint8_t> result;
};

device::HandlePool<Link>& link_pool() {
  static device::HandlePool<Link>& pool = *new device::HandlePool<Link>(kMaximumLinks);
  return pool;
}

Link* resolve_link(CUlinkState state) { return link_pool().get(state); }

CUresult fail(Link& link, CUresult status, std::string_view message) {
  answer_jit_options(link.option_count, link.options, link.values, message);
  return status;
}

CUresult add_input(Driver& driver, Link& link, CUjitInputType type, device::Bytes bytes) {
  const device::DeviceProfile& profile = driver.profile(0);
  const uint32_t architecture = profile.compute_major * 10 + profile.compute_minor;
  if (type == CU_JIT_INPUT_NVVM || type == CU_JIT_INPUT_LIBRARY || type == CU_JIT_INPUT_OBJECT) {
    // Host objects and archives carry device functions that kernels call; they change nothing that can be seen here.
    link.has_input = true;
    return type == CU_JIT_INPUT_NVVM ? fail(link, CUDA_ERROR_NOT_SUPPORTED, "maya: NVVM input is not supported")
                                     : CUDA_SUCCESS;
  }
  device::KernelImage image;
  const device::ImageStatus status = device::load_image(bytes, architecture, &image);
  if (status != device::ImageStatus::kOk) {
    // A PTX input that is no PTX text at all is a PTX error, not an image error.
    const bool bad_text = type == CU_JIT_INPUT_PTX && status == device::ImageStatus::kNotAnImage;
    return fail(link, bad_text ? CUDA_ERROR_INVALID_PTX : image_error(status),
                "maya: an input of the linker cannot be read");
  }
  link.has_input = true;
  if (type == CU_JIT_INPUT_PTX) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    link.text.append(text.substr(0, text.find('\0'))).append("\n");
    return CUDA_SUCCESS;
  }
  if (image.kernels.empty() && !link.binary.empty()) return CUDA_SUCCESS;
  if (!image.kernels.empty() && !link.binary.empty()) {
    device::KernelImage before;
    device::load_image(link.binary, architecture, &before);
    if (!before.kernels.empty())
      return fail(link, CUDA_ERROR_NOT_SUPPORTED, "maya: two binary inputs with kernels cannot be linked");
  }
  link.binary.assign(bytes.begin(), bytes.end());
  return CUDA_SUCCESS;
}

CUresult complete(Link& link, void** out, size_t* bytes) {
  if (!link.has_input) return fail(link, CUDA_ERROR_INVALID_VALUE, "maya: the linker got no input");
  if (!link.binary.empty() && link.text.find(".entry") != std::string::npos)
    return fail(link, CUDA_ERROR_NOT_SUPPORTED, "maya: PTX with kernels and a binary input cannot be linked");
  if (!link.binary.empty()) {
    link.result = link.binary;
  } else {
    link.result.assign(link.text.begin(), link.text.end());
    link.result.push_back(0);
  }
  answer_jit_options(link.option_count, link.options, link.values, "");
  *out = link.result.data();
  if (bytes != nullptr) *bytes = link.result.size();
  return CUDA_SUCCESS;
}

template <typename Body>
CUresult with_link(CUlinkState state, Body&& body) {
  return enter(Needs::kContext, [&](Call& call) {
    Link* link = resolve_link(state);
    if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard<std::mutex> lock(link->mutex);
    return body(call, *link);
  });
}

bool known_type(CUjitInputType type) { return type >= CU_JIT_INPUT_CUBIN && type < CU_JIT_NUM_INPUT_TYPES; }

}  // namespace

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::Link;
using maya::cuda::Needs;
using maya::cuda::with_link;

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return maya::cuda::enter(Needs::kContext, [&](Call&) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = maya::cuda::check_jit_options(count, options, values); status != CUDA_SUCCESS)
      return status;
    Link* link = maya::cuda::link_pool().create();
    if (link == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    link->option_count = count;
    link->options = options;
    link->values = values;
    *state = reinterpret_cast<CUlinkState>(link);
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return cuLinkCreate_v2(count, options, values, state);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*,
                          unsigned int count, CUjit_option* options, void** values) {
  return with_link(state, [&](Call& call, Link& link) {
    if (data == nullptr || bytes == 0 || !maya::cuda::known_type(type)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = maya::cuda::check_jit_options(count, options, values); status != CUDA_SUCCESS)
      return status;
    return maya::cuda::add_input(call.driver(), link, type, {static_cast<const uint8_t*>(data), bytes});
  });
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name,
                       unsigned int count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int count,
                          CUjit_option* options, void** values) {
  return with_link(state, [&](Call& call, Link& link) {
    if (path == nullptr || !maya::cuda::known_type(type)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = maya::cuda::check_jit_options(count, options, values); status != CUDA_SUCCESS)
      return status;
    std::vector<uint8_t> bytes;
    if (const CUresult status = maya::cuda::read_image_file(path, &bytes); status != CUDA_SUCCESS) return status;
    return maya::cuda::add_input(call.driver(), link, type, bytes);
  });
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned int count,
                       CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* bytes) {
  return with_link(state, [&](Call&, Link& link) {
    return cubin == nullptr ? CUDA_ERROR_INVALID_VALUE : maya::cuda::complete(link, cubin, bytes);
  });
}

CUresult cuLinkDestroy(CUlinkState state) {
  return maya::cuda::enter(Needs::kInitialized, [&](Call&) {
    return maya::cuda::link_pool().destroy(state) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
