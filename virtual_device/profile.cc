#include "virtual_device/profile.h"

#include <charconv>
#include <cmath>
#include <set>
#include <variant>

#include "virtual_device/embedded_profiles.h"

namespace maya::device {
namespace {

// What a value must be.
enum class Range : uint8_t { kPositive, kZeroAllowed };

using Member = std::variant<std::string DeviceProfile::*, uint32_t DeviceProfile::*, uint64_t DeviceProfile::*,
                            double DeviceProfile::*>;

struct KeyEntry {
  std::string_view key;
  Member member;
  Range range;
};

using P = DeviceProfile;
// A kPositive key without a default in DeviceProfile must appear in the file or in its parents.
const KeyEntry kKeys[] = {
    {"name", &P::name, Range::kPositive},
    {"product_name", &P::product_name, Range::kPositive},
    {"compute_major", &P::compute_major, Range::kPositive},
    {"compute_minor", &P::compute_minor, Range::kZeroAllowed},
    {"multiprocessors", &P::multiprocessors, Range::kPositive},
    {"total_memory_bytes", &P::total_memory_bytes, Range::kPositive},
    {"nvml_memory_bytes", &P::nvml_memory_bytes, Range::kPositive},
    {"context_bytes", &P::context_bytes, Range::kZeroAllowed},
    {"driver_reserve_bytes", &P::driver_reserve_bytes, Range::kZeroAllowed},
    {"memory_bandwidth", &P::memory_bandwidth, Range::kPositive},
    {"peak_fp64", &P::peak_fp64, Range::kPositive},
    {"peak_fp32", &P::peak_fp32, Range::kPositive},
    {"peak_tf32", &P::peak_tf32, Range::kPositive},
    {"peak_fp16", &P::peak_fp16, Range::kPositive},
    {"peak_bf16", &P::peak_bf16, Range::kPositive},
    {"peak_fp8", &P::peak_fp8, Range::kZeroAllowed},
    {"peak_int8", &P::peak_int8, Range::kZeroAllowed},
    {"peak_fp64_tensor", &P::peak_fp64_tensor, Range::kZeroAllowed},
    {"l2_bandwidth", &P::l2_bandwidth, Range::kPositive},
    {"pcie_bandwidth", &P::pcie_bandwidth, Range::kPositive},
    {"nvlink_bandwidth", &P::nvlink_bandwidth, Range::kZeroAllowed},
    {"l2_bytes", &P::l2_bytes, Range::kPositive},
    {"clock_khz", &P::clock_khz, Range::kPositive},
    {"memory_clock_khz", &P::memory_clock_khz, Range::kPositive},
    {"memory_bus_bits", &P::memory_bus_bits, Range::kPositive},
    {"power_limit_watts", &P::power_limit_watts, Range::kPositive},
    {"shared_bytes_per_multiprocessor", &P::shared_bytes_per_multiprocessor, Range::kPositive},
    {"shared_bytes_per_block", &P::shared_bytes_per_block, Range::kPositive},
    {"shared_bytes_per_block_optin", &P::shared_bytes_per_block_optin, Range::kPositive},
    {"reserved_shared_bytes_per_block", &P::reserved_shared_bytes_per_block, Range::kZeroAllowed},
    {"registers_per_multiprocessor", &P::registers_per_multiprocessor, Range::kPositive},
    {"registers_per_block", &P::registers_per_block, Range::kPositive},
    {"threads_per_multiprocessor", &P::threads_per_multiprocessor, Range::kPositive},
    {"blocks_per_multiprocessor", &P::blocks_per_multiprocessor, Range::kPositive},
    {"threads_per_block", &P::threads_per_block, Range::kPositive},
    {"copy_engines", &P::copy_engines, Range::kZeroAllowed},
    {"kernel_floor_ns", &P::kernel_floor_ns, Range::kPositive},
    {"queued_gap_ns", &P::queued_gap_ns, Range::kPositive},
    {"launch_latency_ns", &P::launch_latency_ns, Range::kPositive},
    {"launch_host_ns", &P::launch_host_ns, Range::kPositive},
};

// Further integers are accepted under these prefixes only, so that a misspelt key is an error.
constexpr std::string_view kExtraPrefixes[] = {"attribute.", "nvml.", "estimate."};
// CU_DEVICE_ATTRIBUTE_WARP_SIZE: frameworks divide by it.
constexpr std::string_view kWarpSizeKey = "attribute.10";
constexpr int kMaxParents = 4;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

const EmbeddedProfile* find_embedded(std::string_view name) {
  for (size_t i = 0; i < kEmbeddedProfileCount; ++i)
    if (kEmbeddedProfiles[i].name == name) return &kEmbeddedProfiles[i];
  return nullptr;
}

const KeyEntry* find_key(std::string_view key) {
  for (const KeyEntry& entry : kKeys)
    if (entry.key == key) return &entry;
  return nullptr;
}

// Whole numbers, decimal or 0x-hexadecimal.
template <typename Integer>
bool parse_integer(std::string_view text, Integer* out) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return status == std::errc() && end == text.data() + text.size();
}

bool parse_real(std::string_view text, double* out) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return status == std::errc() && end == text.data() + text.size() && std::isfinite(*out);
}

bool is_zero(const DeviceProfile& profile, const Member& member) {
  return std::visit(
      [&](auto pointer) {
        const auto& value = profile.*pointer;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
          return value.empty();
        else
          return value == 0;
      },
      member);
}

class Parser {
 public:
  Parser(DeviceProfile* profile, std::string* error) : profile_(profile), error_(error) {}

  bool apply(std::string_view text, int depth) {
    std::set<std::string_view> seen;
    int line_number = 0;
    while (!text.empty()) {
      size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      ++line_number;
      line = trim(line.substr(0, line.find('#')));
      if (line.empty()) continue;
      if (!apply_line(line, line_number, depth, &seen)) return false;
    }
    if (depth == 0 && !seen.contains("name")) return fail(line_number, "name", "missing; expected `name = word`");
    return true;
  }

  bool check_complete() {
    for (const KeyEntry& entry : kKeys)
      if (entry.range == Range::kPositive && is_zero(*profile_, entry.member))
        return fail(0, entry.key, "missing; expected a value above zero in this file or its parent");
    if (!profile_->extra.contains(kWarpSizeKey))
      return fail(0, kWarpSizeKey, "missing; expected the warp size, in this file or its parent");
    return true;
  }

 private:
  bool apply_line(std::string_view line, int line_number, int depth, std::set<std::string_view>* seen) {
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) return fail(line_number, line, "expected `key = value`");
    std::string_view key = trim(line.substr(0, equals));
    std::string_view value = trim(line.substr(equals + 1));
    if (key.empty()) return fail(line_number, line, "expected a key before `=`");
    if (value.empty()) return fail(line_number, key, "expected a value after `=`");
    if (!seen->insert(key).second) return fail(line_number, key, "given twice; expected once");
    if (key == "parent") return apply_parent(value, line_number, depth, *seen);
    if (const KeyEntry* entry = find_key(key)) return assign(*entry, value, line_number);
    for (std::string_view prefix : kExtraPrefixes)
      if (key.starts_with(prefix)) return assign_extra(key, value, line_number);
    return fail(line_number, key, "unknown key; expected a field of the profile or attribute.<number>");
  }

  bool apply_parent(std::string_view name, int line_number, int depth, const std::set<std::string_view>& seen) {
    if (seen.size() != 1) return fail(line_number, "parent", "expected before every other key");
    if (depth >= kMaxParents) return fail(line_number, "parent", "too many generations; expected at most 4");
    const EmbeddedProfile* parent = find_embedded(name);
    if (parent == nullptr) return fail(line_number, "parent", "`" + std::string(name) + "` is not a built-in profile");
    return apply(parent->text, depth + 1);
  }

  bool assign(const KeyEntry& entry, std::string_view value, int line_number) {
    const char* expected = nullptr;
    std::visit(
        [&](auto pointer) {
          auto& target = profile_->*pointer;
          using Value = std::decay_t<decltype(target)>;
          if constexpr (std::is_same_v<Value, std::string>) {
            target = value;
          } else if constexpr (std::is_same_v<Value, double>) {
            if (!parse_real(value, &target) || target < 0) expected = "expected a number, zero or more";
          } else {
            if (!parse_integer(value, &target))
              expected =
                  sizeof(Value) == 4 ? "expected a whole number below 2^32" : "expected a whole number below 2^64";
          }
        },
        entry.member);
    if (expected == nullptr && entry.range == Range::kPositive && is_zero(*profile_, entry.member))
      expected = "expected a value above zero";
    if (expected != nullptr) return fail(line_number, entry.key, got(value, expected));
    return true;
  }

  bool assign_extra(std::string_view key, std::string_view value, int line_number) {
    int64_t number = 0;
    if (!parse_integer(value, &number)) return fail(line_number, key, got(value, "expected a whole number"));
    constexpr std::string_view kAttribute = "attribute.";
    uint16_t attribute = 0;
    if (key.starts_with(kAttribute) && (!parse_integer(key.substr(kAttribute.size()), &attribute) || attribute == 0))
      return fail(line_number, key, "expected attribute.<number of a CUdevice_attribute>");
    if (key == kWarpSizeKey && number <= 0) return fail(line_number, key, got(value, "expected a value above zero"));
    profile_->extra.insert_or_assign(std::string(key), number);
    return true;
  }

  static std::string got(std::string_view value, const char* expected) {
    return "`" + std::string(value) + "`: " + expected;
  }

  bool fail(int line_number, std::string_view key, std::string_view what) {
    *error_ = line_number > 0 ? "line " + std::to_string(line_number) + ": " : std::string();
    *error_ += std::string(key) + ": " + std::string(what);
    for (char& c : *error_)
      if (static_cast<unsigned char>(c) < ' ') c = '?';
    return false;
  }

  DeviceProfile* profile_;
  std::string* error_;
};

// Built once; the objects are never destroyed, so that calls from static destructors of the traced program stay valid.
const std::vector<DeviceProfile>& parsed_builtins() {
  static const auto* profiles = [] {
    auto* result = new std::vector<DeviceProfile>;
    for (const BuiltinProfile& builtin : builtin_profiles()) {
      DeviceProfile profile;
      std::string error;
      if (parse_profile(builtin.text, &profile, &error)) result->push_back(std::move(profile));
    }
    return result;
  }();
  return *profiles;
}

}  // namespace

bool parse_profile(std::string_view text, DeviceProfile* profile, std::string* error) {
  DeviceProfile parsed;
  Parser parser(&parsed, error);
  if (!parser.apply(text, 0) || !parser.check_complete()) return false;
  *profile = std::move(parsed);
  return true;
}

const std::vector<BuiltinProfile>& builtin_profiles() {
  static const auto* profiles = [] {
    auto* result = new std::vector<BuiltinProfile>;
    for (size_t i = 0; i < kEmbeddedProfileCount; ++i)
      if (kEmbeddedProfiles[i].is_device) result->push_back({kEmbeddedProfiles[i].name, kEmbeddedProfiles[i].text});
    return result;
  }();
  return *profiles;
}

const DeviceProfile* find_builtin_profile(std::string_view name) {
  for (const DeviceProfile& profile : parsed_builtins())
    if (profile.name == name) return &profile;
  return nullptr;
}

}  // namespace maya::device
