#include "predictor/timeline.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "predictor/json_writer.h"
#include "predictor/numbers.h"
#include "predictor/output_file.h"
#include "predictor/text.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

constexpr size_t kLongestName = 200;
constexpr double kBytesPerMebibyte = 1 << 20;

// Microseconds with the nanoseconds kept, as the format wants its times.
std::string us(uint64_t ns) {
  std::string fraction = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

std::string host_call_name(const RankPrediction& rank, uint32_t i) {
  const trace::Event& event = rank.trace->events[i];
  switch (event.kind) {
    case EventKind::kLaunch:
      return "launch";
    case EventKind::kOperation:
      return rank.costs.costs[rank.costs.of_event[i]].name;
    case EventKind::kCopy:
      return "copy";
    case EventKind::kFill:
      return "memset";
    case EventKind::kAllocation:
      return "allocate " + bytes_for_people(rank.trace->allocations[event.index].bytes());
    case EventKind::kFree:
      return "free";
    case EventKind::kAllocationFailure:
      return "out of memory";
    case EventKind::kEventCall: {
      static constexpr const char* kNames[] = {"event create",      "event record", "stream wait event",
                                               "event synchronize", "event query",  "event elapsed",
                                               "event destroy"};
      const int call = rank.trace->event_calls[event.index].call();
      return call >= 0 && call < 7 ? kNames[call] : "event";
    }
    case EventKind::kSynchronization: {
      static constexpr const char* kNames[] = {"device synchronize", "stream synchronize", "stream query"};
      const int scope = rank.trace->synchronizations[event.index].scope();
      return scope >= 0 && scope < 3 ? kNames[scope] : "synchronize";
    }
    case EventKind::kHostFunction:
      return "host function";
    case EventKind::kGraphLaunch:
      return "graph launch";
    default:
      return {};
  }
}

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path) {}

  Failure write(const Prediction& prediction, const std::vector<size_t>& ranks) {
    file_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (const size_t i : ranks) write_rank(prediction.ranks[i], i);
    file_.write("\n]}\n");
    return file_.close();
  }

 private:
  void item(const std::string& fields) {
    file_.write(first_ ? "\n{" : ",\n{");
    file_.write(fields);
    file_.write("}");
    first_ = false;
  }

  static std::string track(uint64_t process, uint64_t thread) {
    return "\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread);
  }

  void name_track(const char* what, uint64_t process, uint64_t thread, const std::string& name) {
    item(std::string("\"ph\":\"M\",\"name\":\"") + what + "\"," + track(process, thread) +
         ",\"args\":{\"name\":" + json_string(name) + "}");
  }

  void span(uint64_t process, uint64_t thread, uint64_t begin_ns, uint64_t end_ns, const std::string& name,
            const char* category, const std::string& arguments) {
    item("\"ph\":\"X\",\"name\":" + json_string(shorten(name, kLongestName)) + ",\"cat\":\"" + category + "\"," +
         track(process, thread) + ",\"ts\":" + us(begin_ns) + ",\"dur\":" + us(saturating_subtract(end_ns, begin_ns)) +
         ",\"args\":{" + arguments + "}");
  }

  void write_rank(const RankPrediction& rank, size_t index) {
    const uint64_t host = 2 * index + 1, device = 2 * index + 2;
    std::string suffix = " (rank " + std::to_string(rank.rank);
    if (rank.ranks.size() > 1) suffix += ", also for " + std::to_string(rank.ranks.size() - 1) + " others";
    suffix += ")";
    name_track("process_name", host, 0, "host" + suffix);
    name_track("process_name", device, 0, rank.device + suffix);
    std::set<uint32_t> threads, streams;
    open_ranges_.clear();
    for (uint32_t i = 0; i < rank.program.calls.size(); ++i) {
      const trace::Event& event = rank.trace->events[i];
      if (threads.insert(event.thread).second)
        name_track("thread_name", host, event.thread, "host thread " + std::to_string(event.thread));
      if (event.kind == EventKind::kRange) write_range(rank, i, host);
      const std::string name = host_call_name(rank, i);
      if (name.empty()) continue;
      span(host, event.thread, rank.simulation.call_start_ns[i], rank.simulation.call_end_ns[i], name, "host", "");
      if (rank.costs.of_event[i] == kNone || rank.simulation.work_start_ns[i] == kNever_ns) continue;
      if (streams.insert(event.stream).second)
        name_track("thread_name", device, event.stream, "stream " + std::to_string(event.stream));
      write_work(rank, i, host, device);
    }
    write_steps(rank, device);
    write_memory(rank, device);
  }

  // NVTX: ranges that a thread pushes and pops lie around its calls; others are begun and ended by number; marks.
  void write_range(const RankPrediction& rank, uint32_t i, uint64_t host) {
    const trace::Event& event = rank.trace->events[i];
    const proto::RangeMark& mark = rank.trace->ranges[event.index];
    const uint64_t now_ns = rank.simulation.call_start_ns[i];
    std::vector<std::pair<std::string, uint64_t>>& open = open_ranges_[event.thread];
    const std::string name = json_string(shorten(std::string(rank.trace->string(mark.text())), kLongestName));
    const std::string place = track(host, event.thread) + ",\"ts\":" + us(now_ns);
    // Numbers hold for one process.
    const std::string numbered =
        ",\"cat\":\"nvtx\",\"id\":\"" + std::to_string(host) + "." + std::to_string(mark.id()) + "\",";
    switch (mark.call()) {
      case proto::RangeMark::PUSH:
        open.emplace_back(rank.trace->string(mark.text()), now_ns);
        break;
      case proto::RangeMark::POP:
        if (open.empty()) return;
        span(host, event.thread, open.back().second, now_ns, open.back().first, "nvtx", "");
        open.pop_back();
        break;
      case proto::RangeMark::START:
        item("\"ph\":\"b\",\"name\":" + name + numbered + place);
        break;
      case proto::RangeMark::END:
        item("\"ph\":\"e\",\"name\":\"\"" + numbered + place);
        break;
      default:
        item("\"ph\":\"i\",\"s\":\"t\",\"name\":" + name + ",\"cat\":\"nvtx\"," + place);
        break;
    }
  }

  void write_work(const RankPrediction& rank, uint32_t i, uint64_t host, uint64_t device) {
    const trace::Event& event = rank.trace->events[i];
    const OperationCost& cost = rank.costs.costs[rank.costs.of_event[i]];
    const std::string family(family_name(cost.work.family));
    const std::string launched = us(rank.simulation.call_start_ns[i]);
    const std::string started = us(rank.simulation.work_start_ns[i]);
    span(device, event.stream, rank.simulation.work_start_ns[i], rank.simulation.work_end_ns[i], cost.name,
         family.c_str(),
         "\"provenance\":" + json_string(provenance_name(cost.estimate.provenance)) +
             ",\"low_us\":" + fixed(cost.estimate.low_ns / 1e3, 3) +
             ",\"high_us\":" + fixed(cost.estimate.high_ns / 1e3, 3) + waited(rank, i));
    const std::string id = "\"cat\":\"launch\",\"name\":\"launch\",\"id\":" + std::to_string(next_arrow_++);
    item("\"ph\":\"s\"," + id + "," + track(host, event.thread) + ",\"ts\":" + launched);
    item("\"ph\":\"f\",\"bp\":\"e\"," + id + "," + track(device, event.stream) + ",\"ts\":" + started);
  }

  // How long a communication waited for the others before its data moved.
  static std::string waited(const RankPrediction& rank, uint32_t i) {
    const uint32_t communication = rank.program.calls[i].communication;
    if (communication == kNone || rank.simulation.matched_ns[communication] == kNever_ns) return {};
    return ",\"waited_us\":" +
           us(saturating_subtract(rank.simulation.matched_ns[communication], rank.simulation.work_start_ns[i]));
  }

  void write_steps(const RankPrediction& rank, uint64_t device) {
    constexpr uint64_t kStepsTrack = 1'000'000'000;  // above all stream ids that programs get
    if (rank.steps.steps.empty()) return;
    name_track("thread_name", device, kStepsTrack, "steps");
    for (size_t k = 0; k < rank.steps.steps.size(); ++k)
      span(device, kStepsTrack, rank.step_begin_ns[k], rank.step_begin_ns[k] + rank.step_ns[k],
           "step " + std::to_string(k) + (k < rank.steps.warm_up ? " (warm-up)" : ""), "step", "");
  }

  void write_memory(const RankPrediction& rank, uint64_t process) {
    for (const MemoryPoint& point : rank.memory.points) {
      std::string values;
      const std::pair<const char*, int> layers[] = {{"allocations", proto::LAYER_ALLOCATIONS},
                                                    {"workspaces", proto::LAYER_WORKSPACES},
                                                    {"communication", proto::LAYER_COMMUNICATION},
                                                    {"modules", proto::LAYER_MODULES},
                                                    {"context", proto::LAYER_CONTEXT}};
      for (const auto& [name, layer] : layers)
        values += std::string(values.empty() ? "\"" : ",\"") + name +
                  "\":" + fixed(static_cast<double>(point.layers[static_cast<size_t>(layer)]) / kBytesPerMebibyte, 3);
      item("\"ph\":\"C\",\"name\":\"memory of device " + std::to_string(point.device) + " (MiB)\"," +
           track(process, 0) + ",\"ts\":" + us(rank.simulation.call_start_ns[point.event]) + ",\"args\":{" + values +
           "}");
    }
  }

  OutputFile file_;
  bool first_ = true;
  uint64_t next_arrow_ = 1;
  std::map<uint32_t, std::vector<std::pair<std::string, uint64_t>>> open_ranges_;  // by thread: name and begin
};

}  // namespace

Failure write_timeline(const Prediction& prediction, const std::string& path, const std::vector<size_t>& ranks) {
  std::vector<size_t> chosen = ranks;
  if (chosen.empty())
    for (size_t i = 0; i < std::min(prediction.ranks.size(), kRanksInTimeline); ++i) chosen.push_back(i);
  return Writer(path).write(prediction, chosen);
}

Failure choose_ranks(const Prediction& prediction, const std::string& list, std::vector<size_t>* chosen) {
  std::set<size_t> found;
  const auto wrong = [&] {
    return Failure{FailureKind::kUsage, "not a list of ranks: " + list + "; give numbers and ranges such as 0,3,8-11"};
  };
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    int32_t first = 0, last = 0;
    const char* const end = list.data() + comma;
    auto parsed = std::from_chars(list.data() + at, end, first);
    if (parsed.ec != std::errc()) return wrong();
    last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || parsed.ptr != end || first < 0 || last < first) return wrong();
    bool any = false;
    for (size_t i = 0; i < prediction.ranks.size(); ++i) {
      const RankPrediction& rank = prediction.ranks[i];
      const bool stands_for_one = std::any_of(rank.ranks.begin(), rank.ranks.end(),
                                              [&](int32_t each) { return each >= first && each <= last; });
      if (!stands_for_one && (rank.rank < first || rank.rank > last)) continue;
      found.insert(i);
      any = true;
    }
    if (!any)
      return {FailureKind::kUsage,
              "no such rank in the traces: " + list.substr(at, comma - at) + "; the report lists the ranks"};
    at = comma + 1;
  }
  chosen->assign(found.begin(), found.end());
  return {};
}

Failure write_memory_timeline(const Prediction& prediction, const std::string& path) {
  OutputFile file(path);
  file.write(
      "rank,device,time_ms,total_bytes,context_bytes,modules_bytes,workspaces_bytes,communication_bytes,allocations_"
      "bytes\n");
  for (const RankPrediction& rank : prediction.ranks) {
    for (const MemoryPoint& point : rank.memory.points) {
      const auto bytes = [&](int layer) { return std::to_string(point.layers[static_cast<size_t>(layer)]); };
      file.write(std::to_string(rank.rank) + "," + std::to_string(point.device) + "," +
                 fixed(static_cast<double>(rank.simulation.call_start_ns[point.event]) / 1e6, 6) + "," +
                 std::to_string(sum(point.layers)) + "," + bytes(proto::LAYER_CONTEXT) + "," +
                 bytes(proto::LAYER_MODULES) + "," + bytes(proto::LAYER_WORKSPACES) + "," +
                 bytes(proto::LAYER_COMMUNICATION) + "," + bytes(proto::LAYER_ALLOCATIONS) + "\n");
    }
  }
  return file.close();
}

}  // namespace maya::predictor
