#include <catch2/catch.hpp>

#include "test/image/image_builder.h"
#include "virtual_device/image/kernel_image.h"

using namespace maya::device;
using maya::test::build_cubin;
using maya::test::KernelText;

TEST_CASE("a kernel as its cubin describes it", "[image]") {
  KernelText text;
  text.name = "_Z1fPfi";
  text.parameters = {{0, 8}, {8, 32}, {40, 1}};
  text.registers = 40;
  text.static_shared_bytes = 1200;
  text.max_threads = 256;
  text.cluster[0] = 2;
  text.cluster[1] = text.cluster[2] = 1;
  text.code_bytes = 640;
  KernelImage image;
  REQUIRE(parse_cubin(build_cubin(90, {text}), &image) == ImageStatus::kOk);
  REQUIRE(image.kernels.size() == 1);
  const KernelInfo& info = image.kernels[0].info;
  CHECK(info.name == "_Z1fPfi");
  REQUIRE(info.parameters.size() == 3);
  CHECK(info.parameters[1].offset == 8);
  CHECK(info.parameters[1].size == 32);
  CHECK(info.parameters[2].offset == 40);
  CHECK(info.parameters[2].size == 1);
  CHECK(info.parameter_bytes == 41);
  CHECK(info.registers == 40);
  CHECK(info.static_shared_bytes == 1200);  // the 1024 bytes that the driver reserves on sm_90 are taken off
  CHECK(info.max_threads == 256);
  CHECK(info.required_cluster[0] == 2);
  CHECK(info.architecture == 90);
  CHECK(info.layout_known);
  CHECK(image.kernels[0].code_bytes == 640);
}

TEST_CASE("shared memory has no reserved part before sm_90, and old files keep the architecture elsewhere", "[image]") {
  KernelText text{"k", {}};
  text.static_shared_bytes = 512;
  KernelImage image;
  REQUIRE(parse_cubin(build_cubin(80, {text}, {}, 7), &image) == ImageStatus::kOk);
  CHECK(image.architecture == 80);
  CHECK(image.kernels[0].info.static_shared_bytes == 512);
}

TEST_CASE("parameter records for more than 4 KB", "[image]") {
  KernelText text{"big", {{0, 5600}, {5600, 4}}};
  text.wide_parameters = true;
  KernelImage image;
  REQUIRE(parse_cubin(build_cubin(90, {text}), &image) == ImageStatus::kOk);
  CHECK(image.kernels[0].info.parameters[0].size == 5600);
  CHECK(image.kernels[0].info.parameters[1].offset == 5600);
  CHECK(image.kernels[0].info.parameter_bytes == 5604);
}

TEST_CASE("registers bound the block size", "[image]") {
  // 255 registers: 8,192 a warp of 65,536, so 8 warps; 128: 4,096 a warp, 16 warps; 64: 2,048, 32 warps.
  KernelImage image;
  KernelText heavy{"heavy", {}}, middle{"middle", {}}, light{"light", {}};
  heavy.registers = 255;
  middle.registers = 128;
  light.registers = 64;
  REQUIRE(parse_cubin(build_cubin(90, {heavy, middle, light}), &image) == ImageStatus::kOk);
  CHECK(image.kernels[0].info.max_threads == 256);
  CHECK(image.kernels[1].info.max_threads == 512);
  CHECK(image.kernels[2].info.max_threads == 1024);
}

TEST_CASE("global variables with their initial values", "[image]") {
  KernelImage image;
  const auto file = build_cubin(90, {{"k", {}}},
                                {{"counter", {7, 0, 0, 0}},
                                 {"table", {}, 400},
                                 {"limits", {1, 0, 0, 0, 2, 0, 0, 0}, 20, true},
                                 {"shared_with_host", {3, 0, 0, 0}, 4, false, true}});
  REQUIRE(parse_cubin(file, &image) == ImageStatus::kOk);
  REQUIRE(image.globals.size() == 4);
  CHECK(image.globals[0].name == "counter");
  CHECK(image.globals[0].initial == std::vector<uint8_t>{7, 0, 0, 0});
  CHECK(image.globals[1].bytes == 400);
  CHECK(image.globals[1].initial.empty());
  CHECK(image.globals[2].constant);
  CHECK(image.globals[2].bytes == 20);
  CHECK(image.globals[2].initial[4] == 2);
  CHECK(image.globals[3].managed);
  CHECK(image.globals[3].initial[0] == 3);
}

// Names as nvcc 13.0 writes them for `child<<<1, 1>>>()` inside a kernel, in images that are linked and that are not.
TEST_CASE("kernels that launch others are known by what they call, also through functions", "[image]") {
  KernelText parent{"parent", {{0, 8}}}, indirect{"indirect", {}}, plain{"plain", {}}, graph{"graph", {}},
      helper{"helper", {}};
  parent.calls = {"__cudaCDP2GetParameterBufferV2", "__cudaCDP2LaunchDeviceV2"};
  helper.calls = {"helper", "cudaLaunchDevice"};
  helper.device_function = true;
  indirect.calls = {"helper"};
  plain.calls = {"vprintf"};
  graph.calls = {"cudaGraphLaunch"};
  KernelImage image;
  const auto file = build_cubin(90, {parent, helper, indirect, plain, graph});
  REQUIRE(parse_cubin(file, &image) == ImageStatus::kOk);
  REQUIRE(image.kernels.size() == 4);
  CHECK(image.kernels[0].info.device_launch == "__cudaCDP2LaunchDeviceV2");
  CHECK(image.kernels[1].info.device_launch == "cudaLaunchDevice");
  CHECK(image.kernels[2].info.device_launch.empty());
  CHECK(image.kernels[3].info.device_launch == "cudaGraphLaunch");
}
