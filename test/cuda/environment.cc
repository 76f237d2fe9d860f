// The environment that all tests of the driver run in, also when started by hand: two devices of the default kind, and
// a trace.
#include <stdlib.h>

#include <initializer_list>

namespace {

__attribute__((constructor)) void set_environment() {
  setenv("MAYA_DEVICES", "2", 1);
  setenv("MAYA_TRACE_DIR", MAYA_TEST_TRACES, 1);
  for (const char* other :
       {"MAYA_DEVICE", "MAYA_MEMORY", "MAYA_TRACE", "MAYA_HOST_MEMORY", "MAYA_GRAPH_ITERATIONS", "RANK", "WORLD_SIZE"})
    unsetenv(other);
}

}  // namespace
