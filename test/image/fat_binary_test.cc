#include "virtual_device/image/fat_binary.h"

#include <catch2/catch.hpp>

#include "test/image/image_builder.h"
#include "virtual_device/image/kernel_image.h"

using namespace maya::device;
using maya::test::build_cubin;
using maya::test::build_fat_binary;
using maya::test::EntryText;
using maya::test::text_bytes;

namespace {

constexpr uint64_t kPlain = 0x11, kSpecific = 0x100011, kFamily = 0x200011;

// The architecture that is chosen, 1000 added for PTX; 0 for none.
uint32_t chosen(const std::vector<EntryText>& texts, uint32_t device) {
  const auto file = build_fat_binary(texts);
  std::vector<FatBinaryEntry> entries;
  REQUIRE(parse_fat_binary(file, &entries));
  const FatBinaryEntry* entry = choose_entry(entries, device);
  if (entry == nullptr) return 0;
  return entry->architecture + (entry->kind == FatBinaryEntry::Kind::kPtx ? 1000 : 0);
}

EntryText cubin(uint32_t architecture, uint64_t flags = kPlain) { return {2, architecture, flags, {1, 2, 3}}; }
EntryText ptx_text(uint32_t architecture, uint64_t flags = kPlain) {
  return {1, architecture, flags, text_bytes(".version 9.0")};
}

}  // namespace

TEST_CASE("the image of a device is chosen as the programming guide says", "[image]") {
  // CUDA C++ programming guide, "Binary compatibility": a cubin runs on its major version from its minor version on.
  CHECK(chosen({cubin(80), cubin(86), cubin(90)}, 90) == 90);
  CHECK(chosen({cubin(80), cubin(86), cubin(90)}, 89) == 86);
  CHECK(chosen({cubin(80), cubin(86)}, 80) == 80);
  CHECK(chosen({cubin(86)}, 80) == 0);
  CHECK(chosen({cubin(80)}, 90) == 0);
  // "PTX compatibility": PTX runs on any later device.
  CHECK(chosen({cubin(80), ptx_text(80)}, 90) == 1080);
  CHECK(chosen({ptx_text(70), ptx_text(80)}, 90) == 1080);
  CHECK(chosen({ptx_text(100)}, 90) == 0);
  // A cubin is taken before PTX, even before newer PTX.
  CHECK(chosen({ptx_text(90), cubin(90)}, 90) == 90);
  CHECK(chosen({ptx_text(89), cubin(86)}, 89) == 86);
}

TEST_CASE("architecture-specific and family-specific images", "[image]") {
  CHECK(chosen({cubin(90, kSpecific)}, 90) == 90);
  CHECK(chosen({cubin(100, kSpecific)}, 103) == 0);
  CHECK(chosen({cubin(100, kFamily)}, 103) == 100);
  CHECK(chosen({ptx_text(90, kSpecific)}, 100) == 0);
  CHECK(chosen({cubin(100, kFamily)}, 120) == 0);
  const auto file = build_fat_binary({cubin(100), cubin(100, kSpecific)});
  std::vector<FatBinaryEntry> entries;
  REQUIRE(parse_fat_binary(file, &entries));
  CHECK(choose_entry(entries, 100)->scope == ArchitectureScope::kSpecific);
}

TEST_CASE("compressed payloads are unpacked", "[image]") {
  const auto inner = build_cubin(90, {{"kernel_a", {{0, 8}, {8, 4}}}});
  for (const uint64_t compression : {uint64_t{0}, uint64_t{0x2000}, uint64_t{0x8000}}) {
    const auto file = build_fat_binary({{2, 90, kPlain | compression, inner}});
    KernelImage image;
    REQUIRE(load_image(file, 90, &image) == ImageStatus::kOk);
    REQUIRE(image.kernels.size() == 1);
    CHECK(image.kernels[0].info.name == "kernel_a");
    CHECK(image.architecture == 90);
  }
}

TEST_CASE("only the chosen image is unpacked", "[image]") {
  // The other one is damaged, which nobody notices.
  EntryText damaged{2, 80, kPlain | 0x8000, std::vector<uint8_t>(100, 7)};
  auto file = build_fat_binary({{2, 90, kPlain, build_cubin(90, {{"good", {}}})}, damaged});
  file[file.size() - 8] ^= 0xff;
  KernelImage image;
  CHECK(load_image(file, 90, &image) == ImageStatus::kOk);
}

TEST_CASE("no image for the device, and containers that are none", "[image]") {
  KernelImage image;
  CHECK(load_image(build_fat_binary({cubin(80)}), 90, &image) == ImageStatus::kNoBinaryForDevice);
  CHECK(load_image(build_fat_binary({}), 90, &image) == ImageStatus::kNoBinaryForDevice);
  CHECK(load_image(std::vector<uint8_t>(64, 0xee), 90, &image) == ImageStatus::kNotAnImage);
  CHECK(load_image({}, 90, &image) == ImageStatus::kNotAnImage);
  auto cut = build_fat_binary({cubin(90)});
  cut.resize(cut.size() - 1);
  CHECK(load_image(cut, 90, &image) == ImageStatus::kDamaged);
}

TEST_CASE("the size of an image that is given by its address", "[image]") {
  const auto elf = build_cubin(90, {{"k", {}}});
  CHECK(image_at(elf.data()).size() == elf.size());
  const auto fat = build_fat_binary({{2, 90, kPlain, elf}});
  CHECK(image_at(fat.data()).size() == fat.size());
  CHECK(image_at(".version 9.0\n").size() == 13);
  // Public header fatbinary_section.h: { int magic; int version; const void* data; void* }.
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* other = nullptr;
  } wrapper{.data = fat.data()};
  CHECK(image_at(&wrapper).data() == fat.data());
  wrapper.data = nullptr;
  CHECK(image_at(&wrapper).empty());
  CHECK(image_at("").empty());
  CHECK(image_at("xyz, no image at all").empty());
  CHECK(image_at(nullptr).empty());
}
