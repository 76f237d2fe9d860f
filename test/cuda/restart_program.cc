// Started by restart_test.cc. Loads what stands in for NVIDIA's runtime (argument 1) by its path, then the driver
// (argument 2), and prints how the process came to be.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  std::thread second;
  if (argc > 3 && strcmp(argv[3], "thread") == 0) {
    second = std::thread([] { dlopen(nullptr, RTLD_NOW); });
    static std::thread endless([] {
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    });
    endless.detach();
    second.join();
  }
  dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  void* driver = dlopen(argv[2], RTLD_NOW);
  const char* restarted = getenv("MAYA_RESTARTED");
  const char* audit = getenv("LD_AUDIT");
  printf("driver %s restarted %s audit %s arguments %d last %s\n", driver == nullptr ? "missing" : "loaded",
         restarted == nullptr ? "no" : "yes", audit == nullptr ? "no" : "yes", argc, argv[argc - 1]);
  return 7;
}
