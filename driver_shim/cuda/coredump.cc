// Coredump attributes: kept as the program set them. Kernels do not fail here, so that no dump is ever written.
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "driver_shim/cuda/gate.h"

using maya::cuda::Call;
using maya::cuda::Context;
using maya::cuda::enter;
using maya::cuda::Needs;

namespace {

constexpr size_t kMostCharacters = 1023;  // documented, of the two strings

struct Settings {
  bool on_exception = false, trigger_host = true, user_trigger = false;
  uint32_t generation_flags = CU_COREDUMP_DEFAULT_FLAGS;
  std::string file, pipe;
};

std::string default_name(const char* what) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return std::string(what) + ".cuda." + host + "." + std::to_string(getpid());
}

// What was set for the process, and for contexts by id, which is never used twice.
struct State {
  std::mutex mutex;
  Settings global;
  std::map<uint64_t, Settings> by_context;
  State() {
    global.file = default_name("core");
    global.pipe = default_name("corepipe");
  }
};
State& state() {
  static State& made = *new State;
  return made;
}

bool is_string(CUcoredumpSettings attribute) { return attribute == CU_COREDUMP_FILE || attribute == CU_COREDUMP_PIPE; }
bool is_attribute(CUcoredumpSettings attribute) {
  return attribute >= CU_COREDUMP_ENABLE_ON_EXCEPTION && attribute < CU_COREDUMP_MAX;
}
size_t bytes_of(CUcoredumpSettings attribute) {
  if (is_string(attribute)) return kMostCharacters + 1;
  return attribute == CU_COREDUMP_GENERATION_FLAGS ? sizeof(uint32_t) : sizeof(bool);
}

bool is_lightweight(const Settings& settings) {
  return (settings.generation_flags & CU_COREDUMP_LIGHTWEIGHT_FLAGS) == CU_COREDUMP_LIGHTWEIGHT_FLAGS;
}

void get(const Settings& settings, CUcoredumpSettings attribute, void* value, size_t bytes) {
  if (is_string(attribute)) {
    const std::string& text = attribute == CU_COREDUMP_FILE ? settings.file : settings.pipe;
    const size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(value, text.data(), length);
    static_cast<char*>(value)[length] = 0;
  } else if (attribute == CU_COREDUMP_GENERATION_FLAGS) {
    std::memcpy(value, &settings.generation_flags, sizeof(uint32_t));
  } else {
    *static_cast<bool*>(value) = attribute == CU_COREDUMP_ENABLE_ON_EXCEPTION   ? settings.on_exception
                                 : attribute == CU_COREDUMP_TRIGGER_HOST        ? settings.trigger_host
                                 : attribute == CU_COREDUMP_ENABLE_USER_TRIGGER ? settings.user_trigger
                                                                                : is_lightweight(settings);
  }
}

void set(Settings& settings, CUcoredumpSettings attribute, const void* value, size_t bytes) {
  if (is_string(attribute)) {
    const auto* text = static_cast<const char*>(value);
    (attribute == CU_COREDUMP_FILE ? settings.file : settings.pipe).assign(text, strnlen(text, bytes));
    return;
  }
  if (attribute == CU_COREDUMP_GENERATION_FLAGS) {
    std::memcpy(&settings.generation_flags, value, sizeof(uint32_t));
    return;
  }
  const bool on = *static_cast<const bool*>(value);
  constexpr auto kLightweight = static_cast<uint32_t>(CU_COREDUMP_LIGHTWEIGHT_FLAGS);
  if (attribute == CU_COREDUMP_ENABLE_ON_EXCEPTION) settings.on_exception = on;
  if (attribute == CU_COREDUMP_TRIGGER_HOST) settings.trigger_host = on;
  if (attribute == CU_COREDUMP_ENABLE_USER_TRIGGER) settings.user_trigger = on;
  if (attribute == CU_COREDUMP_LIGHTWEIGHT)
    settings.generation_flags =
        on ? settings.generation_flags | kLightweight : settings.generation_flags & ~kLightweight;
}

// The settings that count for a context: its own once it has some, else those of the process. The mutex is held.
Settings& settings_of(const Context* context, bool to_change) {
  State& all = state();
  if (context == nullptr) return all.global;
  const auto own = all.by_context.find(context->id);
  if (own != all.by_context.end()) return own->second;
  return to_change ? all.by_context.emplace(context->id, all.global).first->second : all.global;
}

CUresult read_setting(const Context* context, CUcoredumpSettings attribute, void* value, size_t* bytes) {
  if (!is_attribute(attribute) || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (value == nullptr) {
    *bytes = bytes_of(attribute);
    return CUDA_SUCCESS;
  }
  if (*bytes == 0 || (!is_string(attribute) && *bytes < bytes_of(attribute))) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(state().mutex);
  get(settings_of(context, false), attribute, value, *bytes);
  return CUDA_SUCCESS;
}

CUresult write_setting(const Context* context, CUcoredumpSettings attribute, void* value, size_t* bytes) {
  if (!is_attribute(attribute) || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (value == nullptr) {
    *bytes = bytes_of(attribute);
    return CUDA_SUCCESS;
  }
  const bool fits = is_string(attribute) ? *bytes <= kMostCharacters + 1 : *bytes >= bytes_of(attribute);
  if (*bytes == 0 || !fits) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(state().mutex);
  set(settings_of(context, true), attribute, value, *bytes);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuCoredumpGetAttribute(CUcoredumpSettings attribute, void* value, size_t* bytes) {
  return enter(Needs::kContext, [&](Call& call) { return read_setting(&call.context(), attribute, value, bytes); });
}

CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings attribute, void* value, size_t* bytes) {
  return enter(Needs::kInitialized, [&](Call&) { return read_setting(nullptr, attribute, value, bytes); });
}

CUresult cuCoredumpSetAttribute(CUcoredumpSettings attribute, void* value, size_t* bytes) {
  return enter(Needs::kContext, [&](Call& call) { return write_setting(&call.context(), attribute, value, bytes); });
}

CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings attribute, void* value, size_t* bytes) {
  return enter(Needs::kInitialized, [&](Call&) { return write_setting(nullptr, attribute, value, bytes); });
}
