#include "driver_shim/cuda/loaded_image.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/recorder.h"
#include "trace_proto/writer.h"

namespace maya::cuda {

namespace {

// Kernels in the biggest program seen: 24,133 registered by PyTorch 2.15; not all of them are ever asked for.
constexpr size_t kMaximumKernels = 1u << 20;
constexpr size_t kMaximumModules = 1u << 18;
constexpr size_t kMaximumLibraries = 1u << 16;
// Code is placed at this alignment.
constexpr uint64_t kCodeAlignment_bytes = 512;
// The driver takes device memory for code in blocks of this size.
constexpr uint64_t kCodeBlock_bytes = 2ull << 20;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Code of all modules of a device shares blocks. Guarded by its mutex.
class CodeMemory {
 public:
  CUresult add(device::Memory& memory, int device, uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    Use& use = uses_[device];
    const uint64_t wanted = round_up(use.bytes + bytes, kCodeBlock_bytes);
    if (wanted > use.charged) {
      if (memory.charge(device, device::Layer::kModules, wanted - use.charged) != device::MemoryStatus::kOk)
        return CUDA_ERROR_OUT_OF_MEMORY;
      Recorder::get().allocation(layer_charge(device, device::Layer::kModules, wanted - use.charged));
      use.charged = wanted;
    }
    use.bytes += bytes;
    return CUDA_SUCCESS;
  }
  void remove(device::Memory& memory, int device, uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    Use& use = uses_[device];
    use.bytes -= std::min(use.bytes, bytes);
    const uint64_t wanted = round_up(use.bytes, kCodeBlock_bytes);
    if (wanted < use.charged) {
      memory.release(device, device::Layer::kModules, use.charged - wanted);
      Recorder::get().free(layer_charge(device, device::Layer::kModules, use.charged - wanted));
      use.charged = wanted;
    }
  }

 private:
  struct Use {
    uint64_t bytes = 0, charged = 0;
  };
  std::mutex mutex_;
  std::map<int, Use> uses_;
};

CodeMemory& code_memory() {
  static CodeMemory& memory = *new CodeMemory;
  return memory;
}

}  // namespace

// The pools are never destroyed: calls may come from static destructors of the program.
device::HandlePool<Kernel>& kernel_pool() {
  static device::HandlePool<Kernel>& pool = []() -> device::HandlePool<Kernel>& {
    auto* made = new device::HandlePool<Kernel>(kMaximumKernels);
    known_kernels.store(made, std::memory_order_release);
    return *made;
  }();
  return pool;
}

device::HandlePool<Module>& module_pool() {
  static device::HandlePool<Module>& pool = *new device::HandlePool<Module>(kMaximumModules);
  return pool;
}

device::HandlePool<Library>& library_pool() {
  static device::HandlePool<Library>& pool = *new device::HandlePool<Library>(kMaximumLibraries);
  return pool;
}

CUresult image_error(device::ImageStatus status) {
  switch (status) {
    case device::ImageStatus::kOk:
      return CUDA_SUCCESS;
    case device::ImageStatus::kNoBinaryForDevice:
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case device::ImageStatus::kBadPtx:
      return CUDA_ERROR_INVALID_PTX;
    case device::ImageStatus::kUnsupportedPtxVersion:
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case device::ImageStatus::kDamaged:
    case device::ImageStatus::kNotAnImage:
      return CUDA_ERROR_INVALID_IMAGE;
  }
  return CUDA_ERROR_INVALID_IMAGE;
}

LoadedImage::LoadedImage(device::Bytes source, bool copy) : source_(source) {
  if (copy) {
    owned_.assign(source.begin(), source.end());
    source_ = owned_;
  }
}

LoadedImage::~LoadedImage() {
  for (Kernel* kernel : kernels_)
    if (kernel != nullptr) kernel_pool().destroy(kernel);
  Driver* driver = Driver::get();
  if (driver == nullptr) return;
  for (auto& [context, variables] : variables_) free_variables(*driver, *context, variables);
  for (const auto& [device, bytes] : code_bytes_) code_memory().remove(driver->memory(), device, bytes);
}

CUresult LoadedImage::parse(Driver& driver) {
  std::lock_guard<std::mutex> lock(mutex_);
  return parse_locked(driver);
}

CUresult LoadedImage::parse_locked(Driver& driver) {
  if (parsed_) return status_;
  const uint64_t start_ns = trace::now_ns();
  const device::DeviceProfile& profile = driver.profile(0);
  // A library may have been given only the wrapper around its container.
  const device::Bytes bytes = library != nullptr && owned_.empty() ? device::image_at(source_.data()) : source_;
  status_ = image_error(device::load_image(bytes, profile.compute_major * 10 + profile.compute_minor, &image_));
  parsed_ = true;
  for (size_t i = 0; i < image_.kernels.size(); ++i) kernel_by_name_.emplace(image_.kernels[i].info.name, i);
  kernels_.resize(image_.kernels.size(), nullptr);
  Recorder::get().module(0, bytes.size(), 0, false, trace::now_ns() - start_ns);
  source_ = {};
  owned_.clear();
  owned_.shrink_to_fit();
  return status_;
}

CUresult LoadedImage::kernel_at_locked(size_t index, Kernel** out) {
  if (kernels_[index] == nullptr) {
    const device::ImageKernel& described = image_.kernels[index];
    kernels_[index] = kernel_pool().create(described.info, described.code_bytes, this);
    if (kernels_[index] == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = kernels_[index];
  return CUDA_SUCCESS;
}

CUresult LoadedImage::kernel(Driver& driver, std::string_view name, Kernel** out) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const CUresult status = parse_locked(driver); status != CUDA_SUCCESS) return status;
  const auto found = kernel_by_name_.find(name);
  if (found == kernel_by_name_.end()) return CUDA_ERROR_NOT_FOUND;
  return kernel_at_locked(found->second, out);
}

CUresult LoadedImage::kernel_count(Driver& driver, uint32_t* count) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const CUresult status = parse_locked(driver); status != CUDA_SUCCESS) return status;
  *count = static_cast<uint32_t>(kernels_.size());
  return CUDA_SUCCESS;
}

CUresult LoadedImage::kernels(Driver& driver, uint32_t count, Kernel** out) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const CUresult status = parse_locked(driver); status != CUDA_SUCCESS) return status;
  for (size_t i = 0; i < std::min<size_t>(count, kernels_.size()); ++i)
    if (const CUresult status = kernel_at_locked(i, &out[i]); status != CUDA_SUCCESS) return status;
  return CUDA_SUCCESS;
}

CUresult LoadedImage::variables_locked(Driver& driver, Context& context, Variables** out) {
  const auto found = variables_.find(&context);
  if (found != variables_.end()) {
    *out = &found->second;
    return CUDA_SUCCESS;
  }
  device::Memory& memory = driver.memory();
  Variables made;
  made.addresses.resize(image_.globals.size(), 0);
  uint64_t bytes = 0;
  for (size_t i = 0; i < image_.globals.size(); ++i) {
    const device::GlobalVariable& variable = image_.globals[i];
    if (variable.managed) continue;
    bytes = round_up(bytes, variable.alignment);
    made.addresses[i] = bytes;
    bytes += variable.bytes;
  }
  if (bytes != 0) {
    device::Allocation allocation;
    if (memory.allocate(context.device, bytes, device::Layer::kModules, &context, &allocation) !=
        device::MemoryStatus::kOk)
      return CUDA_ERROR_OUT_OF_MEMORY;
    made.block = allocation.base;
    memory.fill(made.block, 0, 1, bytes);
  }
  for (size_t i = 0; i < image_.globals.size(); ++i) {
    const device::GlobalVariable& variable = image_.globals[i];
    if (variable.managed) {
      device::Allocation entry;
      entry.bytes = variable.bytes;
      entry.device = context.device;
      entry.kind = device::AllocationKind::kManaged;
      entry.context = &context;
      entry.flags = CU_MEM_ATTACH_GLOBAL;
      if (const CUresult status = map_host_memory(driver, &entry); status != CUDA_SUCCESS) {
        free_variables(driver, context, made);
        return status;
      }
      made.addresses[i] = entry.base;
      made.managed.push_back(entry.base);
      std::copy(variable.initial.begin(), variable.initial.end(), reinterpret_cast<uint8_t*>(entry.base));
      continue;
    }
    made.addresses[i] += made.block;
    if (!variable.initial.empty()) memory.write(made.addresses[i], variable.initial.data(), variable.initial.size());
    if (!variable.initial_known) memory.make_unknown(made.addresses[i], variable.bytes);
  }
  *out = &variables_.emplace(&context, std::move(made)).first->second;
  return CUDA_SUCCESS;
}

void LoadedImage::free_variables(Driver& driver, const Context& context, Variables& variables) {
  // A context that ends may have freed what belongs to it, and somebody else have got the place.
  device::Allocation found;
  const auto ours = [&](CUdeviceptr address) {
    return driver.memory().find(address, &found) && found.base == address && found.context == &context;
  };
  if (variables.block != 0 && ours(variables.block)) driver.memory().free(variables.block, &found);
  for (const CUdeviceptr address : variables.managed)
    if (ours(address)) free_host_memory(driver, address, device::AllocationKind::kManaged);
  variables = {};
}

CUresult LoadedImage::global(Driver& driver, Context& context, std::string_view name, bool managed_only,
                             CUdeviceptr* address, size_t* bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const CUresult status = parse_locked(driver); status != CUDA_SUCCESS) return status;
  for (size_t i = 0; i < image_.globals.size(); ++i) {
    const device::GlobalVariable& variable = image_.globals[i];
    if (variable.name != name || (managed_only && !variable.managed)) continue;
    Variables* variables = nullptr;
    if (const CUresult status = variables_locked(driver, context, &variables); status != CUDA_SUCCESS) return status;
    if (address != nullptr) *address = variables->addresses[i];
    if (bytes != nullptr) *bytes = variable.bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult LoadedImage::load(Driver& driver, Context& context, Kernel& kernel) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t bit = 1ull << context.device;
  if ((kernel.loaded_devices.load(std::memory_order_relaxed) & bit) != 0) return CUDA_SUCCESS;
  const uint64_t bytes = round_up(kernel.code_bytes + kernel.info.constant_bytes, kCodeAlignment_bytes);
  if (const CUresult status = code_memory().add(driver.memory(), context.device, bytes); status != CUDA_SUCCESS)
    return status;
  code_bytes_[context.device] += bytes;
  kernel.loaded_devices.fetch_or(bit, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

void LoadedImage::release_context(Driver& driver, const Context& context) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = variables_.find(&context);
  if (found == variables_.end()) return;
  free_variables(driver, context, found->second);
  variables_.erase(found);
}

Module* library_module(Library& library, Context& context) {
  std::lock_guard<std::mutex> lock(library.mutex);
  Module*& module = library.modules[&context];
  if (module == nullptr) module = module_pool().create(&library.image, &context, true);
  return module;
}

CUresult read_image_file(const char* path, std::vector<uint8_t>* bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  bytes->assign(std::istreambuf_iterator<char>(file), {});
  return file.bad() ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_SUCCESS;
}

CUresult check_jit_options(unsigned count, const CUjit_option* options, void** values) {
  if (count == 0) return CUDA_SUCCESS;
  if (options == nullptr || values == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] < CU_JIT_MAX_REGISTERS || options[i] >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

void answer_jit_options(unsigned count, const CUjit_option* options, void** values, std::string_view message) {
  const auto option_value = [&](CUjit_option wanted) -> void** {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == wanted) return &values[i];
    return nullptr;
  };
  const auto write_log = [&](CUjit_option buffer_option, CUjit_option size_option, std::string_view text) {
    void** const buffer = option_value(buffer_option);
    void** const size = option_value(size_option);
    if (size == nullptr) return;
    const size_t capacity = static_cast<unsigned>(reinterpret_cast<uintptr_t>(*size));
    size_t written = 0;
    if (buffer != nullptr && *buffer != nullptr && capacity > 0) {
      written = std::min(text.size(), capacity - 1);
      std::copy_n(text.data(), written, static_cast<char*>(*buffer));
      static_cast<char*>(*buffer)[written] = '\0';
    }
    *size = reinterpret_cast<void*>(written);
  };
  write_log(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
  write_log(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, message);
  // A float in the place of the pointer: no time was spent compiling.
  if (void** const time = option_value(CU_JIT_WALL_TIME)) *time = nullptr;
}

}  // namespace maya::cuda
