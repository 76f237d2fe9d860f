#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "predictor/kineto/gzip_text.h"
#include "predictor/kineto/kineto_trace.h"

namespace maya::predictor::kineto {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostEvents = 100'000'000;  // of those that are kept
constexpr double kLatest_ns = 9.0e18;        // times beyond cannot be told in 64 bits

// A value of the JSON text that is no container.
struct Scalar {
  std::string_view text;  // of strings, and of numbers with a fraction
  double number = 0;
  bool is_number = false;
  bool is_string = false;
};

// Decimal microseconds as nanoseconds, without the rounding of binary fractions; false when it is no such number.
bool nanoseconds_of(const Scalar& value, uint64_t* out) {
  const std::string_view text = value.text;
  if (text.empty()) {
    if (!value.is_number || value.number < 0 || value.number * 1e3 > kLatest_ns) return false;
    *out = static_cast<uint64_t>(value.number) * 1000;
    return true;
  }
  uint64_t whole = 0;
  const char* const end = text.data() + text.size();
  auto [at, problem] = std::from_chars(text.data(), end, whole);
  if (problem != std::errc() || whole > static_cast<uint64_t>(kLatest_ns / 1e3)) return false;
  uint64_t fraction = 0;
  if (at != end && *at == '.') {
    int digits = 0;
    for (++at; at != end && *at >= '0' && *at <= '9'; ++at, ++digits)
      if (digits < 3) fraction = fraction * 10 + static_cast<uint64_t>(*at - '0');
    for (; digits < 3; ++digits) fraction *= 10;
  }
  if (at != end) {  // with an exponent
    double number = 0;
    if (std::from_chars(text.data(), end, number).ptr != end || !(number >= 0) || number * 1e3 > kLatest_ns)
      return false;
    *out = static_cast<uint64_t>(std::llround(number * 1e3));
    return true;
  }
  *out = whole * 1000 + fraction;
  return true;
}

// A whole number that is not negative, also where an older profiler wrote it as text; 0 otherwise.
uint64_t whole_of(const Scalar& value) {
  if (value.is_number) return value.number >= 0 && value.number < 1.8e19 ? static_cast<uint64_t>(value.number) : 0;
  uint64_t whole = 0;
  if (value.is_string) std::from_chars(value.text.data(), value.text.data() + value.text.size(), whole);
  return whole;
}

uint32_t small_of(const Scalar& value) {
  return static_cast<uint32_t>(std::min<uint64_t>(whole_of(value), 0xffffffff));
}

enum class Category : uint8_t { kOther, kKernel, kCopy, kFill, kRuntime, kOperator, kAnnotation, kSynchronization };

Category category_of(std::string_view text) {
  static const std::map<std::string_view, Category> kCategories = {
      {"kernel", Category::kKernel},
      {"Kernel", Category::kKernel},
      {"gpu_memcpy", Category::kCopy},
      {"Memcpy", Category::kCopy},
      {"gpu_memset", Category::kFill},
      {"Memset", Category::kFill},
      {"cuda_runtime", Category::kRuntime},
      {"Runtime", Category::kRuntime},
      {"cuda_driver", Category::kRuntime},
      {"Driver", Category::kRuntime},
      {"cpu_op", Category::kOperator},
      {"Operator", Category::kOperator},
      {"user_annotation", Category::kAnnotation},
      {"cuda_sync", Category::kSynchronization},
  };
  const auto found = kCategories.find(text);
  return found == kCategories.end() ? Category::kOther : found->second;
}

// The event being read.
struct Event {
  Category category = Category::kOther;
  bool complete_phase = false;  // "ph": "X"
  bool has_start = false, has_duration = false;
  std::string name, process, thread;
  uint64_t start_ns = 0, duration_ns = 0;
  DeviceWork work;
  Synchronization synchronization;
  CpuOperator op;
  int grid_values = 0, block_values = 0;
  std::string element_type;
};

class Handler {
 public:
  explicit Handler(KinetoTrace* trace) : trace_(*trace) { trace_.names.emplace_back(); }

  bool found_events() const { return events_depth_ != 0; }
  bool too_many() const { return too_many_; }
  size_t error_position() const { return error_position_; }
  void finish();

  // nlohmann's SAX interface.
  bool null() { return value({}); }
  bool boolean(bool) { return value({}); }
  bool number_integer(int64_t number) { return value({{}, static_cast<double>(number), true, false}); }
  bool number_unsigned(uint64_t number) { return value({{}, static_cast<double>(number), true, false}); }
  bool number_float(double number, const std::string& text) { return value({text, number, true, false}); }
  bool string(std::string& text) { return value({text, 0, false, true}); }
  bool binary(Json::binary_t&) { return true; }
  bool key(std::string& text) {
    if (depth_ == 1) root_key_ = text;
    if (in_event() && depth_ == event_depth()) event_key_ = text;
    if (in_event() && depth_ == event_depth() + 1) argument_key_ = text;
    if (depth_ == 2 || depth_ == 3) inner_key_ = text;
    return true;
  }
  bool start_object(size_t) {
    ++depth_;
    if (events_depth_ != 0 && inside_events_ && depth_ == event_depth()) event_ = {};
    return true;
  }
  bool end_object() {
    if (in_event() && depth_ == event_depth()) keep_event();
    if (depth_ == 3 && root_key_ == "deviceProperties") gpus_.push_back(gpu_);
    --depth_;
    return !too_many_;
  }
  bool start_array(size_t) {
    ++depth_;
    const bool is_events = depth_ == 1 || (depth_ == 2 && !inside_events_ && root_key_ == "traceEvents");
    if (is_events && events_depth_ == 0) {
      events_depth_ = depth_;
      inside_events_ = true;
    } else if (in_event() && depth_ == event_depth() + 3 && argument_key_ == "Input Dims") {
      event_.op.shapes.emplace_back();
    }
    return true;
  }
  bool end_array() {
    if (inside_events_ && depth_ == events_depth_) inside_events_ = false;
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    error_position_ = position;
    return false;
  }

 private:
  size_t event_depth() const { return events_depth_ + 1; }
  bool in_event() const { return inside_events_ && depth_ >= event_depth(); }

  bool value(const Scalar& value) {
    if (in_event()) {
      if (depth_ == event_depth()) {
        event_value(value);
      } else if (event_key_ == "args") {
        argument_value(value);
      }
    } else if (depth_ == 3 && root_key_ == "deviceProperties") {
      if (inner_key_ == "id") gpu_.first = small_of(value);
      if (inner_key_ == "name" && value.is_string) gpu_.second = value.text;
    } else if (depth_ == 2 && root_key_ == "distributedInfo" && value.is_number) {
      if (inner_key_ == "rank") trace_.rank = static_cast<int>(std::min(whole_of(value), uint64_t{1} << 30));
      if (inner_key_ == "world_size")
        trace_.world_size = static_cast<int>(std::min(whole_of(value), uint64_t{1} << 30));
    }
    return true;
  }

  void event_value(const Scalar& value) {
    if (event_key_ == "ph") event_.complete_phase = value.text == "X";
    if (event_key_ == "cat") event_.category = category_of(value.text);
    if (event_key_ == "name" && value.is_string) event_.name = value.text;
    if (event_key_ == "ts") event_.has_start = nanoseconds_of(value, &event_.start_ns);
    if (event_key_ == "dur") event_.has_duration = nanoseconds_of(value, &event_.duration_ns);
    if (event_key_ == "pid" || event_key_ == "tid")
      (event_key_ == "pid" ? event_.process : event_.thread) =
          value.is_string ? std::string(value.text) : std::to_string(static_cast<int64_t>(value.number));
  }

  void argument_value(const Scalar& value) {
    const std::string& key = argument_key_;
    const size_t level = depth_ - event_depth();  // 1: of the arguments themselves, 2: in an array, 3: in one in it
    DeviceWork& work = event_.work;
    if (level == 1) {
      if (key == "correlation") work.correlation = event_.synchronization.correlation = whole_of(value);
      if (key == "device") work.device = small_of(value);
      if (key == "stream") {
        work.stream = event_.synchronization.stream = small_of(value);
        event_.synchronization.has_stream = true;
      }
      if (key == "registers per thread") work.registers = small_of(value);
      if (key == "shared memory") work.shared_bytes = small_of(value);
      if (key == "bytes") work.bytes = whole_of(value);
      if (key == "In msg nelems") work.elements = whole_of(value);
      if (key == "Group size") work.ranks = small_of(value);
      if (key == "dtype" && value.is_string) event_.element_type = value.text;
      if (key == "wait_on_stream") {
        event_.synchronization.wait_on_stream = small_of(value);
        event_.synchronization.has_wait_on_stream = value.is_number && value.number >= 0;
      }
      if (key == "wait_on_cuda_event_record_corr_id") event_.synchronization.wait_on_record = whole_of(value);
    } else if (level == 2) {
      if (key == "grid" && event_.grid_values < 3) work.grid[event_.grid_values++] = small_of(value);
      if (key == "block" && event_.block_values < 3) work.block[event_.block_values++] = small_of(value);
      if (key == "Input type") event_.op.types.push_back(name_index(value.text));
      if (key == "Concrete Inputs") event_.op.values.push_back(name_index(value.text));
    } else if (level == 3) {
      if (key == "Input Dims" && !event_.op.shapes.empty() && value.is_number)
        event_.op.shapes.back().push_back(static_cast<int64_t>(std::clamp(value.number, -1e15, 1e15)));
    }
  }

  uint32_t name_index(std::string_view text) {
    if (text.empty()) return 0;
    const auto [found, is_new] =
        name_indices_.try_emplace(std::string(text), static_cast<uint32_t>(trace_.names.size()));
    if (is_new) trace_.names.emplace_back(text);
    return found->second;
  }

  uint32_t thread_index() {
    const auto [found, is_new] =
        threads_.try_emplace(event_.process + "/" + event_.thread, static_cast<uint32_t>(threads_.size()));
    return found->second;
  }

  void keep_event() {
    if (event_.category == Category::kOther || !event_.complete_phase) return;
    if (event_.category == Category::kSynchronization) {
      trace_.synchronizations.push_back(event_.synchronization);
      return;
    }
    const bool is_step = event_.name.rfind("ProfilerStep#", 0) == 0;
    if (event_.category == Category::kOperator && !is_step && event_.op.shapes.empty()) return;
    if (event_.category == Category::kAnnotation && !is_step) return;
    if (!event_.has_start || !event_.has_duration) {
      ++trace_.left_out;
      return;
    }
    too_many_ = ++kept_ > kMostEvents;
    const uint32_t name = name_index(event_.name);
    if (is_step) {
      trace_.steps.push_back({name, thread_index(), event_.start_ns, event_.duration_ns});
      return;
    }
    switch (event_.category) {
      case Category::kKernel:
      case Category::kCopy:
      case Category::kFill: {
        DeviceWork work = event_.work;
        work.kind = event_.category == Category::kKernel ? WorkKind::kKernel
                    : event_.category == Category::kCopy ? WorkKind::kCopy
                                                         : WorkKind::kFill;
        work.name = name;
        work.element_type = name_index(event_.element_type);
        work.start_ns = event_.start_ns;
        work.duration_ns = event_.duration_ns;
        trace_.work.push_back(work);
        break;
      }
      case Category::kRuntime:
        trace_.calls.push_back({name, thread_index(), event_.work.correlation, event_.start_ns, event_.duration_ns});
        break;
      default: {
        CpuOperator op = std::move(event_.op);
        op.name = name;
        op.thread = thread_index();
        op.start_ns = event_.start_ns;
        op.duration_ns = event_.duration_ns;
        trace_.operators.push_back(std::move(op));
        break;
      }
    }
  }

  KinetoTrace& trace_;
  size_t depth_ = 0;         // open containers
  size_t events_depth_ = 0;  // of the array of events; 0: not met
  bool inside_events_ = false;
  std::string root_key_, inner_key_, event_key_, argument_key_;
  Event event_;
  std::pair<uint32_t, std::string> gpu_;
  std::vector<std::pair<uint32_t, std::string>> gpus_;
  std::unordered_map<std::string, uint32_t> name_indices_;
  std::unordered_map<std::string, uint32_t> threads_;
  size_t kept_ = 0;
  bool too_many_ = false;
  size_t error_position_ = 0;
};

void Handler::finish() {
  trace_.threads = static_cast<uint32_t>(threads_.size());
  std::map<uint32_t, size_t> work_on;
  for (const DeviceWork& work : trace_.work) ++work_on[work.device];
  size_t most = 0;
  for (const auto& [device, name] : gpus_) {
    const auto found = work_on.find(device);
    if (found == work_on.end() || found->second <= most) continue;
    most = found->second;
    trace_.gpu = name;
  }
}

}  // namespace

Failure read_kineto(const std::string& path, KinetoTrace* trace) {
  const auto unusable = [&](const std::string& text) { return Failure{FailureKind::kInput, text}; };
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return unusable("no such file: " + path + "; give a trace that torch.profiler exported (*.json, *.json.gz)");
  GzipText text(path);
  if (!text.is_open()) return unusable("file cannot be read: " + path + "; check its permissions");
  trace->path = path;
  Handler handler(trace);
  const bool parsed = Json::sax_parse(text.begin(), text.end(), &handler);
  if (!text.error().empty())
    return unusable("damaged file: " + path + ": " + text.error() + "; export the profiler's trace again");
  if (handler.too_many()) return unusable("too many events: " + path + "; profile fewer steps");
  if (!parsed)
    return unusable("not whole JSON: " + path + ": damaged or cut at byte " + std::to_string(handler.error_position()) +
                    "; export the profiler's trace again");
  if (!handler.found_events())
    return unusable("no profiler trace: " + path + ": it has no traceEvents; give a file that torch.profiler exported");
  handler.finish();
  if (trace->work.empty())
    return unusable("no work on a device: " + path + ": no kernel, copy or fill with a time" +
                    (trace->left_out != 0 ? " (" + std::to_string(trace->left_out) + " events without a usable one)"
                                          : std::string()) +
                    "; profile with ProfilerActivity.CUDA");
  return {};
}

}  // namespace maya::predictor::kineto
