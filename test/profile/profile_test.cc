#include "virtual_device/profile.h"

#include <catch2/catch.hpp>

namespace maya::device {
namespace {

std::string error_of(const std::string& text) {
  DeviceProfile profile;
  std::string error;
  REQUIRE_FALSE(parse_profile(text, &profile, &error));
  CHECK(error.find('\n') == std::string::npos);
  return error;
}

DeviceProfile parsed(const std::string& text) {
  DeviceProfile profile;
  std::string error;
  INFO(error);
  REQUIRE(parse_profile(text, &profile, &error));
  return profile;
}

TEST_CASE("The ten devices of the command-line contract are built in, in its order") {
  std::vector<std::string> names;
  for (const BuiltinProfile& builtin : builtin_profiles()) names.emplace_back(builtin.name);
  CHECK(names == std::vector<std::string>{"h100-sxm", "h100-pcie", "h100-sxm-96", "h200-sxm", "a100-sxm-40",
                                          "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "l40s", "b200-sxm"});
}

TEST_CASE("Every built-in profile parses and can be found by its name") {
  for (const BuiltinProfile& builtin : builtin_profiles()) {
    INFO(builtin.name);
    CHECK(parsed(std::string(builtin.text)).name == builtin.name);
    const DeviceProfile* found = find_builtin_profile(builtin.name);
    REQUIRE(found != nullptr);
    CHECK(found->name == builtin.name);
    CHECK(found == find_builtin_profile(builtin.name));
  }
  CHECK(find_builtin_profile("h100") == nullptr);
  CHECK(find_builtin_profile("sm90") == nullptr);  // a part, no device
  CHECK(find_builtin_profile("") == nullptr);
}

// NVIDIA H100 Tensor Core GPU Architecture whitepaper, table of the H100 SXM5; CUDA programming guide, compute
// capability 9.0.
TEST_CASE("Figures of the H100 SXM") {
  const DeviceProfile& h100 = *find_builtin_profile("h100-sxm");
  CHECK(h100.product_name == "NVIDIA H100 80GB HBM3");
  CHECK(h100.compute_major == 9);
  CHECK(h100.compute_minor == 0);
  CHECK(h100.multiprocessors == 132);
  CHECK(h100.total_memory_bytes == 85028896768u);
  CHECK(h100.nvml_memory_bytes == 81559ull << 20);
  CHECK(h100.peak_bf16 == 989.4e12);
  CHECK(h100.peak_fp8 == 1978.9e12);
  CHECK(h100.l2_bytes == 50ull << 20);
  CHECK(h100.shared_bytes_per_multiprocessor == 228 * 1024);
  CHECK(h100.shared_bytes_per_block_optin == 227 * 1024);
  CHECK(h100.threads_per_multiprocessor == 2048);
  CHECK(h100.power_limit_watts == 700);
  // memory clock x 2 (double data rate) x bus width
  CHECK(h100.memory_clock_khz * 1e3 * 2 * h100.memory_bus_bits / 8 == Approx(3.352e12).epsilon(0.001));
}

TEST_CASE("Figures that tell the other devices apart") {
  CHECK(find_builtin_profile("h100-pcie")->multiprocessors == 114);
  CHECK(find_builtin_profile("h100-sxm-96")->memory_bandwidth == 2.4e12);
  CHECK(find_builtin_profile("h100-sxm-96")->power_limit_watts == 500);
  // torchtitan prints 95.04 GiB for this part
  CHECK(find_builtin_profile("h100-sxm-96")->total_memory_bytes / double(1ull << 30) == Approx(95.0396).margin(0.0001));
  CHECK(find_builtin_profile("h200-sxm")->memory_bandwidth == 4.8e12);
  CHECK(find_builtin_profile("h200-sxm")->total_memory_bytes / double(1ull << 30) == Approx(139.72).margin(0.005));
  CHECK(find_builtin_profile("a100-sxm-80")->peak_bf16 == 312e12);
  CHECK(find_builtin_profile("a100-sxm-80")->peak_fp8 == 0);
  CHECK(find_builtin_profile("a100-sxm-40")->memory_bandwidth == 1.555e12);
  CHECK(find_builtin_profile("a100-pcie-80")->memory_bandwidth == 1.935e12);
  CHECK(find_builtin_profile("a100-pcie-40")->power_limit_watts == 250);
  CHECK(find_builtin_profile("l40s")->threads_per_multiprocessor == 1536);
  CHECK(find_builtin_profile("l40s")->compute_minor == 9);
  CHECK(find_builtin_profile("l40s")->nvlink_bandwidth == 0);
  CHECK(find_builtin_profile("b200-sxm")->compute_major == 10);
  CHECK(find_builtin_profile("b200-sxm")->multiprocessors == 148);
}

// The attributes that follow from fields of the profile (cuda.h, CUdevice_attribute) or from the device's ordinal.
bool is_derived(int attribute) {
  for (int derived : {1, 8, 12, 13, 16, 33, 34, 36, 37, 38, 39, 40, 50, 75, 76, 81, 82, 97, 106, 111})
    if (derived == attribute) return true;
  return false;
}

TEST_CASE("Every device answers every attribute of cuda.h 13.2") {
  constexpr int kLastAttribute = 148;  // CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED
  for (const BuiltinProfile& builtin : builtin_profiles()) {
    const DeviceProfile& profile = *find_builtin_profile(builtin.name);
    for (int attribute = 1; attribute <= kLastAttribute; ++attribute) {
      INFO(builtin.name << " attribute " << attribute);
      CHECK((is_derived(attribute) || profile.extra.contains("attribute." + std::to_string(attribute))));
    }
    CHECK(profile.extra.at("attribute.10") == 32);                                     // warp size
    CHECK(profile.extra.at("attribute.120") == (profile.compute_major >= 9 ? 1 : 0));  // cluster launch
    CHECK(profile.extra.at("attribute.127") == (profile.compute_major >= 9 ? 1 : 0));  // tensor map access
    CHECK(profile.extra.at("attribute.102") == 1);                                     // virtual memory management
    CHECK(profile.extra.at("attribute.115") == 1);                                     // memory pools
  }
}

TEST_CASE("A user's file can stand on a built-in profile") {
  const DeviceProfile profile =
      parsed("parent = h100-sxm   # the rest\n\nname = mine\r\ntotal_memory_bytes = 0x1000000000\nattribute.20 = 2");
  CHECK(profile.name == "mine");
  CHECK(profile.total_memory_bytes == 64ull << 30);
  CHECK(profile.multiprocessors == 132);
  CHECK(profile.extra.at("attribute.20") == 2);
}

TEST_CASE("Errors name the line, the key and what was expected") {
  const std::string head = "parent = h100-sxm\nname = mine\n";
  CHECK(error_of(head + "multiprocesors = 3\n") ==
        "line 3: multiprocesors: unknown key; expected a field of the profile or attribute.<number>");
  CHECK(error_of(head + "multiprocessors = many") ==
        "line 3: multiprocessors: `many`: expected a whole number below 2^32");
  CHECK(error_of(head + "multiprocessors = -1") == "line 3: multiprocessors: `-1`: expected a whole number below 2^32");
  CHECK(error_of(head + "multiprocessors = 4294967296") ==
        "line 3: multiprocessors: `4294967296`: expected a whole number below 2^32");
  CHECK(error_of(head + "total_memory_bytes = 80 GB") ==
        "line 3: total_memory_bytes: `80 GB`: expected a whole number below 2^64");
  CHECK(error_of(head + "memory_bandwidth = fast") ==
        "line 3: memory_bandwidth: `fast`: expected a number, zero or more");
  CHECK(error_of(head + "memory_bandwidth = nan") ==
        "line 3: memory_bandwidth: `nan`: expected a number, zero or more");
  CHECK(error_of(head + "memory_bandwidth =") == "line 3: memory_bandwidth: expected a value after `=`");
  CHECK(error_of(head + "just words") == "line 3: just words: expected `key = value`");
  CHECK(error_of(head + "= 3") == "line 3: = 3: expected a key before `=`");
  CHECK(error_of(head + "l2_bytes = 1\nl2_bytes = 2") == "line 4: l2_bytes: given twice; expected once");
  CHECK(error_of(head + "attribute.ten = 3") ==
        "line 3: attribute.ten: expected attribute.<number of a CUdevice_attribute>");
  CHECK(error_of(head + "attribute.11 = 3.5") == "line 3: attribute.11: `3.5`: expected a whole number");
  CHECK(error_of("parent = nothing\nname = mine") == "line 1: parent: `nothing` is not a built-in profile");
  CHECK(error_of("name = mine\nparent = h100-sxm") == "line 2: parent: expected before every other key");
  CHECK(error_of("parent = h100-sxm") == "line 1: name: missing; expected `name = word`");
}

TEST_CASE("What frameworks divide by is never zero") {
  const std::string head = "parent = h100-sxm\nname = mine\n";
  CHECK(error_of(head + "attribute.10 = 0") == "line 3: attribute.10: `0`: expected a value above zero");
  for (const char* key :
       {"multiprocessors", "threads_per_multiprocessor", "threads_per_block", "registers_per_multiprocessor",
        "registers_per_block", "blocks_per_multiprocessor", "shared_bytes_per_multiprocessor", "clock_khz",
        "memory_bandwidth", "peak_fp32", "kernel_floor_ns"})
    CHECK(error_of(head + key + " = 0") == "line 3: " + std::string(key) + ": `0`: expected a value above zero");
}

TEST_CASE("Missing figures are named") {
  CHECK(error_of("") == "name: missing; expected `name = word`");
  CHECK(error_of("name = mine\n") == "product_name: missing; expected a value above zero in this file or its parent");
}

TEST_CASE("Control characters in a file do not reach the error line") {
  CHECK(error_of(std::string("na\x1b[31mme = 1\n")).find('\x1b') == std::string::npos);
  CHECK(error_of(std::string("a\0b = 1", 7)).find('\0') == std::string::npos);
}

TEST_CASE("A failed parse leaves the profile alone") {
  DeviceProfile profile;
  profile.name = "before";
  std::string error;
  CHECK_FALSE(parse_profile("parent = h100-sxm\nname = mine\nl2_bytes = x", &profile, &error));
  CHECK(profile.name == "before");
}

}  // namespace
}  // namespace maya::device
