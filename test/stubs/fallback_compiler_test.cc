// The stand-ins for NVRTC and nvJitLink: they say that the real one is missing, once, and need no driver.
#include <dlfcn.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace {

// What `call` writes to standard error.
template <typename Call>
std::string captured(Call call) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int saved = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  call();
  dup2(saved, STDERR_FILENO);
  close(saved);
  char text[1024];
  const ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  return std::string(text, length > 0 ? length : 0);
}

std::string fallback(const char* file_name) {
  return std::string(std::getenv("MAYA_LIBRARY_PATH")) + "/fallback/" + file_name;
}

}  // namespace

TEST_CASE("NVRTC's stand-in says what is missing and how to get it") {
  void* library = dlopen(fallback("libnvrtc.so.13").c_str(), RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto version = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "nvrtcVersion"));
  const auto text = reinterpret_cast<const char* (*)(int)>(dlsym(library, "nvrtcGetErrorString"));
  REQUIRE(version != nullptr);
  int major = 0, minor = 0, result = 0;
  const std::string said = captured([&] {
    result = version(&major, &minor);
    version(&major, &minor);
  });
  CHECK(result == 11);  // NVRTC_ERROR_INTERNAL_ERROR
  CHECK(said ==
        "maya: libnvrtc.so.13 is not installed: nvrtcVersion returned NVRTC_ERROR_INTERNAL_ERROR; install NVIDIA's "
        "compiler, for example with "
        "pip install nvidia-cuda-nvrtc\n");
  CHECK(std::string(text(6)) == "NVRTC_ERROR_COMPILATION");
}

TEST_CASE("nvJitLink's stand-in too") {
  void* library = dlopen(fallback("libnvJitLink.so.13").c_str(), RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto complete = reinterpret_cast<int (*)(void*)>(dlsym(library, "__nvJitLinkComplete_13_0"));
  REQUIRE(complete != nullptr);
  int result = 0;
  const std::string said = captured([&] { result = complete(nullptr); });
  CHECK(result == 6);  // NVJITLINK_ERROR_INTERNAL
  CHECK(said.find("pip install nvidia-nvjitlink") != std::string::npos);
}
