// Every byte of an image may be anything: no input may crash, hang or take memory by an unchecked count. Run under
// AddressSanitizer too.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>

#include "test/image/image_builder.h"
#include "virtual_device/image/kernel_image.h"
#include "virtual_device/launch_effects.h"

using namespace maya::device;
using maya::test::build_cubin;
using maya::test::build_fat_binary;

namespace {

std::vector<uint8_t> sample_cubin() {
  maya::test::KernelText a{"_Z1aPfi", {{0, 8}, {8, 4}}}, b{"b", {{0, 16}}};
  a.static_shared_bytes = 300;
  a.max_threads = 128;
  b.wide_parameters = true;
  return build_cubin(90, {a, b}, {{"v", {1, 2, 3, 4}}, {"w", {}, 64}, {"c", {5}, 8, true}});
}

// A copy of exactly that size, so that AddressSanitizer sees any read behind it.
ImageStatus load(const std::vector<uint8_t>& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  KernelImage image;
  const ImageStatus status = load_image(exact, 90, &image);
  for (const ImageKernel& kernel : image.kernels) classify(kernel.info);
  return status;
}

void cut_everywhere(const std::vector<uint8_t>& bytes) {
  for (size_t size = 0; size < bytes.size(); ++size)
    load({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
}

void flip_everywhere(const std::vector<uint8_t>& bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t mask : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> changed = bytes;
      changed[i] ^= mask;
      load(changed);
    }
  }
}

}  // namespace

TEST_CASE("cubin cut and flipped at every byte", "[image][hostile]") {
  const auto cubin = sample_cubin();
  REQUIRE(load(cubin) == ImageStatus::kOk);
  cut_everywhere(cubin);
  flip_everywhere(cubin);
}

TEST_CASE("fat binaries cut and flipped at every byte", "[image][hostile]") {
  for (const uint64_t flags : {uint64_t{0x11}, uint64_t{0x2011}, uint64_t{0x8011}}) {
    const auto file = build_fat_binary({{2, 80, flags, sample_cubin()}, {2, 90, flags, sample_cubin()}});
    REQUIRE(load(file) == ImageStatus::kOk);
    cut_everywhere(file);
    flip_everywhere(file);
  }
}

TEST_CASE("PTX cut and flipped at every byte", "[image][hostile]") {
  const auto text = maya::test::text_bytes(
      ".version 8.0\n.target sm_80\n.global .align 4 .b8 t[8] = {1, 2};\n.visible .entry f(.param .u64 p, .param "
      ".align 8 .b8 q[16])\n"
      ".maxntid 8, 8, 1\n{ .shared .b8 s[4]; /* c */ ret; } // end\n");
  REQUIRE(load(text) == ImageStatus::kOk);
  cut_everywhere(text);
  flip_everywhere(text);
}

TEST_CASE("random damage to several bytes at once", "[image][hostile]") {
  const auto cubin = sample_cubin();
  const auto fat = build_fat_binary({{2, 90, 0x8011, cubin}});
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> changed = round % 2 == 0 ? cubin : fat;
    const size_t changes = 1 + random() % 8;
    for (size_t i = 0; i < changes; ++i) changed[random() % changed.size()] = static_cast<uint8_t>(random());
    load(changed);
  }
}

TEST_CASE("sizes that no memory could hold are refused", "[image][hostile]") {
  auto file = build_fat_binary({{2, 90, 0x8011, sample_cubin()}});
  const uint64_t huge = 1ull << 40;
  std::memcpy(file.data() + 16 + 56, &huge, sizeof(huge));  // unpacked size of the first entry
  CHECK(load(file) == ImageStatus::kDamaged);
  auto cubin = sample_cubin();
  cubin[60] = cubin[61] = 0xff;  // section count
  CHECK(load(cubin) == ImageStatus::kDamaged);
}
