// Reads every image of an installed PyTorch: MAYA_TORCH_DIR names its folder (the one with lib/libtorch_cuda.so).
// Skipped, visibly, without it.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>

#include "virtual_device/image/kernel_image.h"

using namespace maya::device;

namespace {

struct Counts {
  size_t containers = 0, kernels = 0, damaged = 0, without_registers = 0, layouts_with_gaps_at_end = 0;
};

Counts read_library(Bytes file, uint32_t architecture) {
  Counts counts;
  Elf64_Ehdr header;
  REQUIRE(read_at(file, 0, &header));
  Bytes images;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names;
    REQUIRE(read_at(file, header.e_shoff + i * sizeof(section), &section));
    REQUIRE(read_at(file, header.e_shoff + header.e_shstrndx * sizeof(names), &names));
    if (string_at(file, names.sh_offset + section.sh_name) == ".nv_fatbin")
      images = slice(file, section.sh_offset, section.sh_size);
  }
  for (size_t offset = 0; offset + 16 <= images.size();) {
    uint32_t magic = 0;
    read_at(images, offset, &magic);
    if (magic != kFatBinaryMagic) {
      offset += 8;
      continue;
    }
    const Bytes container = image_at(images.data() + offset);
    ++counts.containers;
    KernelImage image;
    counts.damaged += load_image(container, architecture, &image) != ImageStatus::kOk;
    for (const ImageKernel& kernel : image.kernels) {
      ++counts.kernels;
      counts.without_registers += kernel.info.registers == 0;
      const auto& parameters = kernel.info.parameters;
      const uint32_t end = parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
      counts.layouts_with_gaps_at_end += end != kernel.info.parameter_bytes;
    }
    offset += container.size();
  }
  return counts;
}

}  // namespace

TEST_CASE("every kernel of an installed PyTorch", "[image][torch]") {
  const char* folder = std::getenv("MAYA_TORCH_DIR");
  if (folder == nullptr) {
    WARN("skipped: MAYA_TORCH_DIR is not set");
    return;
  }
  const std::string path = std::string(folder) + "/lib/libtorch_cuda.so";
  const int descriptor = open(path.c_str(), O_RDONLY);
  REQUIRE(descriptor >= 0);
  struct stat status;
  REQUIRE(fstat(descriptor, &status) == 0);
  const auto size = static_cast<size_t>(status.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  REQUIRE(mapped != MAP_FAILED);
  for (const uint32_t architecture : {80u, 90u}) {
    const Counts counts = read_library({static_cast<const uint8_t*>(mapped), size}, architecture);
    WARN("sm_" << architecture << ": " << counts.containers << " fat binaries, " << counts.kernels << " kernels");
    CHECK(counts.containers > 100);
    CHECK(counts.kernels > 10000);
    CHECK(counts.damaged == 0);
    CHECK(counts.without_registers == 0);
    CHECK(counts.layouts_with_gaps_at_end == 0);
  }
  munmap(mapped, size);
}
