#include "predictor/kineto/dependencies.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

namespace maya::predictor::kineto {
namespace {

bool is_stream_wait(std::string_view name) { return name == "cudaStreamWaitEvent" || name == "cuStreamWaitEvent"; }
bool is_record(std::string_view name) {
  return name.rfind("cudaEventRecord", 0) == 0 || name.rfind("cuEventRecord", 0) == 0;
}

class Finder {
 public:
  Finder(const KinetoTrace& trace, const Launches& launches) : trace_(trace), launches_(launches) {
    latest_.assign(trace.work.size(), 0);
    for (const uint32_t i : launches.order) streams_[stream_key(trace.work[i])].push_back(i);
  }

  std::vector<Dependency> find() {
    recorded_waits();
    unexplained_delays();
    std::sort(found_.begin(), found_.end(), [&](const Dependency& a, const Dependency& b) {
      return std::pair(launches_.place[a.work], a.after) < std::pair(launches_.place[b.work], b.after);
    });
    found_.erase(
        std::unique(found_.begin(), found_.end(),
                    [](const Dependency& a, const Dependency& b) { return a.work == b.work && a.after == b.after; }),
        found_.end());
    return std::move(found_);
  }

 private:
  const DeviceWork& work(uint32_t i) const { return trace_.work[i]; }

  void add(uint32_t waits, uint32_t after, bool recorded) {
    // What ended only after the other had started cannot have been waited for.
    if (work(after).end_ns() > work(waits).start_ns + kClockError_ns) return;
    found_.push_back({waits, after, recorded});
    latest_[waits] = std::max(latest_[waits], work(after).end_ns());
  }

  void recorded_waits() {
    struct Thread {
      uint32_t last_work = kNoIndex;
      std::vector<uint32_t> waiting_for;  // work that the thread's next work on another stream waits for
    };
    std::unordered_map<uint64_t, const Synchronization*> told;
    for (const Synchronization& s : trace_.synchronizations)
      if (s.correlation != 0) told[s.correlation] = &s;
    std::map<uint32_t, Thread> threads;
    std::map<uint64_t, std::vector<uint32_t>> stream_waits;  // by stream: work that its next work waits for
    std::unordered_map<uint64_t, uint32_t> last_on_stream;
    // By the correlation of a record that is waited for: the stream it is on, and the last work there at that time.
    struct Record {
      uint32_t stream = 0;
      uint32_t last_work = kNoIndex;
    };
    std::unordered_map<uint64_t, Record> records;
    for (const Synchronization& s : trace_.synchronizations)
      if (s.wait_on_record != 0 && s.has_wait_on_stream) records[s.wait_on_record].stream = s.wait_on_stream;

    for (const uint32_t c : launches_.calls) {
      const RuntimeCall& call = trace_.calls[c];
      const std::string_view name = trace_.names[call.name];
      Thread& thread = threads[call.thread];
      const uint64_t device = thread.last_work == kNoIndex ? 0 : uint64_t{work(thread.last_work).device} << 32;
      if (const auto record = records.find(call.correlation); record != records.end() && is_record(name)) {
        const auto last = last_on_stream.find(device | record->second.stream);
        if (last != last_on_stream.end()) record->second.last_work = last->second;
      }
      if (is_stream_wait(name)) {
        const auto found = told.find(call.correlation);
        const Synchronization* const s = found == told.end() ? nullptr : found->second;
        if (s != nullptr && s->has_stream && s->has_wait_on_stream) {
          const auto record = records.find(s->wait_on_record);
          const auto last = last_on_stream.find(device | s->wait_on_stream);
          const uint32_t after = record != records.end()        ? record->second.last_work
                                 : last != last_on_stream.end() ? last->second
                                                                : kNoIndex;
          if (after != kNoIndex && s->stream != s->wait_on_stream) stream_waits[device | s->stream].push_back(after);
        } else if (thread.last_work != kNoIndex) {
          thread.waiting_for.push_back(thread.last_work);
        }
      }
      for (const uint32_t i : launches_.work_of[c]) {
        for (const uint32_t after : thread.waiting_for)
          if (stream_key(work(after)) != stream_key(work(i))) add(i, after, true);
        thread.waiting_for.clear();
        if (const auto waits = stream_waits.find(stream_key(work(i))); waits != stream_waits.end()) {
          for (const uint32_t after : waits->second) add(i, after, true);
          stream_waits.erase(waits);
        }
        thread.last_work = i;
        last_on_stream[stream_key(work(i))] = i;
      }
    }
  }

  void unexplained_delays() {
    for (const uint32_t i : launches_.order) {
      const uint32_t c = launches_.call_of[i];
      if (c == kNoIndex) continue;
      const uint32_t previous = launches_.previous[i];
      uint64_t explained = std::max(trace_.calls[c].end_ns(), latest_[i]);
      if (previous != kNoIndex) explained = std::max(explained, work(previous).end_ns());
      if (work(i).start_ns <= explained + kSlack_ns) continue;
      uint32_t cause = kNoIndex;
      for (const auto& [stream, list] : streams_) {
        if (stream == stream_key(work(i)) || stream >> 32 != work(i).device) continue;
        const auto later =
            std::upper_bound(list.begin(), list.end(), work(i).start_ns + kClockError_ns,
                             [&](uint64_t time_ns, uint32_t other) { return time_ns < work(other).end_ns(); });
        if (later == list.begin()) continue;
        const uint32_t other = *(later - 1);
        if (launches_.place[other] > launches_.place[i] || work(other).end_ns() <= explained) continue;
        if (work(other).end_ns() + kReach_ns < work(i).start_ns) continue;
        if (cause == kNoIndex || work(other).end_ns() > work(cause).end_ns()) cause = other;
      }
      if (cause != kNoIndex) add(i, cause, false);
    }
  }

  const KinetoTrace& trace_;
  const Launches& launches_;
  std::map<uint64_t, std::vector<uint32_t>> streams_;  // work of each, in order
  std::vector<uint64_t> latest_;                       // by work: the latest end of what it is known to wait for
  std::vector<Dependency> found_;
};

}  // namespace

std::vector<Dependency> find_dependencies(const KinetoTrace& trace, const Launches& launches) {
  return Finder(trace, launches).find();
}

}  // namespace maya::predictor::kineto
