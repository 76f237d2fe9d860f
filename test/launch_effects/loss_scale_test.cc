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

namespace {

// multi_tensor_apply_kernel<TensorListMetadata<1>, UnaryOpFunctor<Half, 1, 1, 0>, lambda{float* found, float* factor}>.
void check_finite(Memory& memory, Address gradients, int64_t count, Address found, Address factor) {
  static const TestKernel kernel(
      "_ZN2at6native46_GLOBAL__N__3be26839_13_AmpKernels_cu_3810c27325multi_tensor_apply_kernelINS1_"
      "18TensorListMetadataILi1EEENS1_14UnaryOpFunctorIN3c104HalfELi1ELi1ELi0EEEJZZZNS0_47_amp_foreach_non_finite_"
      "check_"
      "and_unscale_cuda_ENS6_8ArrayRefINS_6TensorEEERSA_RKSA_ENKUlvE_clEvENKUlvE1_clEvEUlfE_EEEvT_T0_DpT1_",
      {{0, 25768}, {25768, 1}, {25776, 24}});
  Parameter metadata;
  metadata.at(0, gradients).at(8 * 770, count).pad_to(25768);
  Parameter lambda;
  lambda.add(found).add(factor);
  kernel.launch(memory, {metadata, Parameter(), lambda});
}

}  // namespace

TEST_CASE("finite gradients are scaled, one that is not sets found_inf", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2048);
  const Address gradients = block, found = block + 1024, factor = block + 1536;
  put<float>(*memory, found, {0});
  put<float>(*memory, factor, {0.5f});
  put<uint16_t>(*memory, gradients, {0x4000, 0xc400});  // 2 and -4 in half precision
  check_finite(*memory, gradients, 2, found, factor);
  CHECK(get<uint16_t>(*memory, gradients, 2) == std::vector<uint16_t>{0x3c00, 0xc000});  // 1 and -2
  CHECK(get<float>(*memory, found, 1)[0] == 0);
  put<uint16_t>(*memory, gradients, {0x4000, 0x7c00});  // infinity
  check_finite(*memory, gradients, 2, found, factor);
  CHECK(get<float>(*memory, found, 1)[0] == 1);
}

TEST_CASE("unknown gradients leave found_inf as it is", "[effects]") {
  auto memory = make_memory();
  const Address block = allocate(*memory, 2048);
  put<float>(*memory, block + 1024, {0});
  put<float>(*memory, block + 1536, {0.5f});
  put<uint16_t>(*memory, block, {0x4000});  // the second one is unknown
  check_finite(*memory, block, 2, block + 1024, block + 1536);
  CHECK_FALSE(memory->known(block, 2));
  CHECK(get<float>(*memory, block + 1024, 1)[0] == 0);
}
