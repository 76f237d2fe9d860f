// Coredump attributes, with the defaults that cuda.h documents.
#include <cstring>
#include <string>

#include "test/cuda/driver_helpers.h"

using namespace driver_test;

TEST_CASE("Coredump attributes are kept, for the process and for a context") {
  CurrentContext current;
  bool on = false;
  size_t bytes = sizeof(on);
  REQUIRE(cuCoredumpGetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &on, &bytes) == CUDA_SUCCESS);
  CHECK(on);
  REQUIRE(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &bytes) == CUDA_SUCCESS);
  CHECK_FALSE(on);
  char name[1024];
  bytes = sizeof(name);
  REQUIRE(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, name, &bytes) == CUDA_SUCCESS);
  char host[256] = "";
  gethostname(host, sizeof(host));
  CHECK(name == "core.cuda." + std::string(host) + "." + std::to_string(getpid()));

  char wanted[] = "dump";
  bytes = sizeof(wanted);
  REQUIRE(cuCoredumpSetAttribute(CU_COREDUMP_FILE, wanted, &bytes) == CUDA_SUCCESS);
  bytes = sizeof(name);
  REQUIRE(cuCoredumpGetAttribute(CU_COREDUMP_FILE, name, &bytes) == CUDA_SUCCESS);
  CHECK(std::string(name) == "dump");
  bytes = sizeof(name);
  REQUIRE(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, name, &bytes) == CUDA_SUCCESS);
  CHECK(std::string(name) != "dump");

  // "Enables all of the above options", and the other way round.
  on = true, bytes = sizeof(on);
  REQUIRE(cuCoredumpSetAttributeGlobal(CU_COREDUMP_LIGHTWEIGHT, &on, &bytes) == CUDA_SUCCESS);
  unsigned int flags = 0;
  bytes = sizeof(flags);
  REQUIRE(cuCoredumpGetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &flags, &bytes) == CUDA_SUCCESS);
  CHECK(flags == CU_COREDUMP_LIGHTWEIGHT_FLAGS);
  flags = 0;
  REQUIRE(cuCoredumpSetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &flags, &bytes) == CUDA_SUCCESS);
  bytes = sizeof(on);
  REQUIRE(cuCoredumpGetAttributeGlobal(CU_COREDUMP_LIGHTWEIGHT, &on, &bytes) == CUDA_SUCCESS);
  CHECK_FALSE(on);

  bytes = 0;
  CHECK(cuCoredumpGetAttribute(CU_COREDUMP_PIPE, nullptr, &bytes) == CUDA_SUCCESS);
  CHECK(bytes == 1024);  // "up to 1023 characters"
  CHECK(cuCoredumpGetAttribute(CU_COREDUMP_MAX, &on, &bytes) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCoredumpSetAttribute(CU_COREDUMP_FILE, wanted, nullptr) == CUDA_ERROR_INVALID_VALUE);
}
