#include "driver_shim/common/driver_access.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

namespace maya::shim {

// Only replaceable libraries have it (make_entry_tables.cc).
extern EntrySlots entry_slots __attribute__((weak));

namespace {

void print_line(const std::string& line) {
  const std::string whole = "maya: " + line + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, whole.data(), whole.size());
}

// The libcuda.so.1 beside the library that this code is linked into: with plain LD_LIBRARY_PATH both lie in one folder.
void* open_driver() {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&open_driver), &self) == 0 || self.dli_fname == nullptr) return nullptr;
  char path[PATH_MAX];
  if (realpath(self.dli_fname, path) == nullptr) return nullptr;
  const std::string library = std::string(dirname(path)) + "/libcuda.so.1";
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    print_line("cannot load " + library + ": " + dlerror() + "; install Maya's libraries in one folder");
  return handle;
}

const MayaTable* load_table(void* handle) {
  if (handle == nullptr) return nullptr;
  using GetExportTable = CUresult (*)(const void**, const CUuuid*);
  const auto get = reinterpret_cast<GetExportTable>(dlsym(handle, "cuGetExportTable"));
  CUuuid id;
  memcpy(&id, kMayaTableIdBytes, sizeof id);
  const void* table = nullptr;
  if (get == nullptr || get(&table, &id) != CUDA_SUCCESS || table == nullptr) {
    print_line("libcuda.so.1 in use is not Maya's; run the program with maya-run");
    return nullptr;
  }
  return static_cast<const MayaTable*>(table);
}

void* open_and_register() {
  void* const handle = open_driver();
  if (&entry_slots == nullptr) return handle;
  if (const MayaTable* table = load_table(handle); table != nullptr) table->register_entries(&entry_slots);
  return handle;
}

void* driver_handle() {
  static void* const handle = open_and_register();
  return handle;
}

}  // namespace

const MayaTable* driver() {
  static const MayaTable* const table = load_table(driver_handle());
  return table;
}

void* driver_symbol(const char* name) {
  void* handle = driver_handle();
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

void report_unsupported(const char* library, const char* entry_point, const char* status_name) {
  static std::mutex mutex;
  static std::set<std::string>* const seen = new std::set<std::string>;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (seen->insert(entry_point).second)
      print_line(std::string(library) + ": " + entry_point + " is not supported; the call returned " + status_name);
  }
  if (const MayaTable* table = driver(); table != nullptr) table->note_unsupported(library, entry_point);
}

}  // namespace maya::shim
