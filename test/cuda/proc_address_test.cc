// cuGetProcAddress: the function of the requested version, at every boundary (reliability.md figure 5).
#include <dlfcn.h>

#include <map>

#include "test/cuda/driver_helpers.h"

using driver_test::Entry;

namespace {

std::string strip_twin(const std::string& name) {
  const std::string tail = name.size() > 5 ? name.substr(name.size() - 5) : "";
  return tail == "_ptsz" || tail == "_ptds" ? name.substr(0, name.size() - 5) : name;
}

std::string base_of(const std::string& name) {
  const std::string legacy = strip_twin(name);
  const size_t mark = legacy.rfind("_v");
  return mark != std::string::npos && legacy.find_first_not_of("0123456789", mark + 2) == std::string::npos
             ? legacy.substr(0, mark)
             : legacy;
}

void* address(const std::string& name) { return dlsym(RTLD_DEFAULT, name.c_str()); }

struct Answer {
  CUresult result;
  void* function = reinterpret_cast<void*>(1);
  CUdriverProcAddressQueryResult status = static_cast<CUdriverProcAddressQueryResult>(99);
};

Answer ask(const char* symbol, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
  Answer answer;
  answer.result = cuGetProcAddress_v2(symbol, &answer.function, version, flags, &answer.status);
  return answer;
}

}  // namespace

TEST_CASE("Every version of every function is found at its own version and not one below") {
  // By base name: version -> exported name of the legacy form.
  std::map<std::string, std::map<int, std::string>> versions;
  for (const Entry& entry : driver_test::entries())
    if (strip_twin(entry.name) == entry.name) versions[base_of(entry.name)][entry.since] = entry.name;
  // Since CUDA 12.0 cuda.h maps this name to another function.
  versions["cuGraphInstantiate"][12000] = "cuGraphInstantiateWithFlags";
  REQUIRE(versions.size() > 400);
  for (const auto& [base, forms] : versions) {
    INFO(base);
    for (auto form = forms.begin(); form != forms.end(); ++form) {
      const auto next = std::next(form);
      const int last = next == forms.end() ? CUDA_VERSION : next->first - 1;
      for (const int version : {form->first, last}) {
        INFO(version);
        const Answer answer = ask(base.c_str(), version, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        CHECK(answer.result == CUDA_SUCCESS);
        CHECK(answer.status == CU_GET_PROC_ADDRESS_SUCCESS);
        CHECK(answer.function == address(form->second));
      }
    }
    const Answer below = ask(base.c_str(), forms.begin()->first - 1);
    CHECK(below.result == CUDA_SUCCESS);
    CHECK(below.status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(below.function == nullptr);
  }
}

TEST_CASE("Twins for per-thread default streams are chosen by flag, from their own version on") {
  int twins = 0;
  for (const Entry& entry : driver_test::entries()) {
    const std::string legacy = strip_twin(entry.name);
    if (legacy == entry.name) continue;
    ++twins;
    INFO(entry.name);
    const std::string base = base_of(entry.name);
    // The newest form at that version may be a later one than this; then this twin is not what is asked for.
    const void* newest = ask(base.c_str(), entry.since, CU_GET_PROC_ADDRESS_LEGACY_STREAM).function;
    if (newest != address(legacy)) continue;
    CHECK(ask(base.c_str(), entry.since, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function ==
          address(entry.name));
  }
  CHECK(twins > 100);
  // cuMemcpyHtoD got its twin in CUDA 7.0 (cudaTypedefs.h); before, the legacy form is the answer.
  CHECK(ask("cuMemcpyHtoD", 6050, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function ==
        address("cuMemcpyHtoD_v2"));
  CHECK(ask("cuMemcpyHtoD", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function ==
        address("cuMemcpyHtoD_v2_ptds"));
  // Without a twin, the legacy form.
  CHECK(ask("cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function == address("cuMemAlloc_v2"));
}

TEST_CASE("The signature is that of the requested version") {
  CHECK(ask("cuCtxCreate", 3020).function == address("cuCtxCreate_v2"));
  CHECK(ask("cuCtxCreate", 11040).function == address("cuCtxCreate_v3"));
  CHECK(ask("cuCtxCreate", 12050).function == address("cuCtxCreate_v4"));
  CHECK(ask("cuEventElapsedTime", 12070).function == address("cuEventElapsedTime"));
  CHECK(ask("cuEventElapsedTime", 12080).function == address("cuEventElapsedTime_v2"));
  CHECK(ask("cuStreamGetCaptureInfo", 11030).function == address("cuStreamGetCaptureInfo_v2"));
  CHECK(ask("cuStreamGetCaptureInfo", 12030).function == address("cuStreamGetCaptureInfo_v3"));
  CHECK(ask("cuGetProcAddress", 11030).function == address("cuGetProcAddress"));
  CHECK(ask("cuGetProcAddress", 12000).function == address("cuGetProcAddress_v2"));
}

TEST_CASE("Unknown symbols are told from versions that are too low, and bad arguments are refused") {
  const Answer unknown = ask("cuNoSuchFunction", 13000);
  CHECK(unknown.result == CUDA_SUCCESS);
  CHECK(unknown.status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK(unknown.function == nullptr);
  CHECK(ask("", 13000).status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  // A prefix of a known name is not that name.
  CHECK(ask("cuMemAllo", 13000).status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

  void* function = nullptr;
  CHECK(cuGetProcAddress_v2(nullptr, &function, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGetProcAddress_v2("cuInit", nullptr, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGetProcAddress_v2("cuInit", &function, CUDA_VERSION + 1, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGetProcAddress_v2("cuInit", &function, 13000, 4, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGetProcAddress_v2("cuInit", &function, 13000, 0, nullptr) == CUDA_SUCCESS);
  CHECK(function == address("cuInit"));
  // The form of CUDA 11.3 tells by its result.
  CHECK(cuGetProcAddress("cuNoSuchFunction", &function, 13000, 0) == CUDA_ERROR_NOT_FOUND);
  CHECK(cuGetProcAddress("cuInit", &function, 2000, 0) == CUDA_SUCCESS);
}

TEST_CASE("Every exported name is there") {
  for (const Entry& entry : driver_test::entries()) {
    INFO(entry.name);
    CHECK(address(entry.name) != nullptr);
    CHECK(entry.since >= 2000);
  }
}
