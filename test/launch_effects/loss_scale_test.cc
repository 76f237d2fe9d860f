// torch.amp.GradScaler: documented defaults are a scale of 65536, growth 2, backoff 0.5, interval 2000.
#include <limits>

#include "launch_helpers.h"

using namespace maya::test;

namespace {

const TestKernel& update() {
  static const TestKernel kernel("_ZN2at6native28amp_update_scale_cuda_kernelEPfPiPKfddi",
                                 {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 4}});
  return kernel;
}

void step(Memory& memory, Address scale, Address tracker, Address found, int interval = 2000) {
  update().launch(memory, {value(scale), value(tracker), value(found), value(2.0), value(0.5), value(interval)});
}

}  // namespace

TEST_CASE("the loss scale stays, grows and falls as documented", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 1536);
  const Address scale = block, tracker = block + 512, found = block + 1024;
  put<float>(*memory, scale, {65536});
  put<int32_t>(*memory, tracker, {0});
  for (int i = 1; i <= 3; ++i) {
    step(*memory, scale, tracker, found);  // found_inf unknown: reads as zero
    CHECK(get<float>(*memory, scale, 1)[0] == 65536);
    CHECK(get<int32_t>(*memory, tracker, 1)[0] == i);
  }
  step(*memory, scale, tracker, found, 4);
  CHECK(get<float>(*memory, scale, 1)[0] == 131072);
  CHECK(get<int32_t>(*memory, tracker, 1)[0] == 0);
  put<float>(*memory, found, {1});
  step(*memory, scale, tracker, found);
  CHECK(get<float>(*memory, scale, 1)[0] == 65536);
}

TEST_CASE("a scale that would overflow does not grow", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 1536);
  put<float>(*memory, block, {std::numeric_limits<float>::max()});
  put<int32_t>(*memory, block + 512, {0});
  step(*memory, block, block + 512, block + 1024, 1);
  CHECK(get<float>(*memory, block, 1)[0] == std::numeric_limits<float>::max());
}

TEST_CASE("an unknown scale stays unknown", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 1536);
  put<int32_t>(*memory, block + 512, {5});
  step(*memory, block, block + 512, block + 1024);
  CHECK_FALSE(memory->known(block, 4));
  CHECK_FALSE(memory->known(block + 512, 4));
}
