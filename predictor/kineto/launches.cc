#include "predictor/kineto/launches.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace maya::predictor::kineto {

Launches find_launches(const KinetoTrace& trace) {
  Launches launches;
  launches.calls.resize(trace.calls.size());
  std::iota(launches.calls.begin(), launches.calls.end(), 0u);
  std::stable_sort(launches.calls.begin(), launches.calls.end(),
                   [&](uint32_t a, uint32_t b) { return trace.calls[a].start_ns < trace.calls[b].start_ns; });
  std::unordered_map<uint64_t, uint32_t> by_correlation;
  for (const uint32_t call : launches.calls)
    if (trace.calls[call].correlation != 0) by_correlation.try_emplace(trace.calls[call].correlation, call);

  launches.call_of.assign(trace.work.size(), kNoIndex);
  launches.work_of.resize(trace.calls.size());
  for (uint32_t i = 0; i < trace.work.size(); ++i) {
    const auto found = by_correlation.find(trace.work[i].correlation);
    if (found == by_correlation.end()) continue;
    launches.call_of[i] = found->second;
    launches.work_of[found->second].push_back(i);
  }
  const auto starts_earlier = [&](uint32_t a, uint32_t b) { return trace.work[a].start_ns < trace.work[b].start_ns; };
  for (std::vector<uint32_t>& work : launches.work_of) std::stable_sort(work.begin(), work.end(), starts_earlier);

  launches.order.resize(trace.work.size());
  std::iota(launches.order.begin(), launches.order.end(), 0u);
  std::stable_sort(launches.order.begin(), launches.order.end(), starts_earlier);
  launches.enqueued_ns.resize(trace.work.size());
  std::unordered_map<uint64_t, uint64_t> follower;  // by stream: when the work that follows was enqueued
  for (auto i = launches.order.rbegin(); i != launches.order.rend(); ++i) {
    const DeviceWork& work = trace.work[*i];
    uint64_t enqueued_ns = work.start_ns - std::min(work.start_ns, kBefore_ns);
    const auto [next, is_last] = follower.try_emplace(stream_key(work), enqueued_ns);
    if (!is_last && next->second > 0) enqueued_ns = std::min(enqueued_ns, next->second - 1);
    if (launches.call_of[*i] != kNoIndex) enqueued_ns = trace.calls[launches.call_of[*i]].start_ns;
    launches.enqueued_ns[*i] = next->second = enqueued_ns;
  }
  std::stable_sort(launches.order.begin(), launches.order.end(),
                   [&](uint32_t a, uint32_t b) { return launches.enqueued_ns[a] < launches.enqueued_ns[b]; });
  launches.place.resize(trace.work.size());
  launches.previous.assign(trace.work.size(), kNoIndex);
  std::unordered_map<uint64_t, uint32_t> last;
  for (uint32_t at = 0; at < launches.order.size(); ++at) {
    const uint32_t i = launches.order[at];
    launches.place[i] = at;
    const auto [known, is_new] = last.try_emplace(stream_key(trace.work[i]), i);
    if (!is_new) launches.previous[i] = std::exchange(known->second, i);
  }
  return launches;
}

}  // namespace maya::predictor::kineto
