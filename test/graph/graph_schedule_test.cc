// Orders, lanes and times of graphs, each worked out by hand.
#include "virtual_device/graph_schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using maya::device::GraphSchedule;
using maya::device::schedule_graph;
using maya::device::ScheduledWork;

namespace {

GraphSchedule schedule(const std::vector<ScheduledWork>& nodes, uint64_t gap_ns = 0) {
  GraphSchedule made;
  uint32_t on_circle = 0;
  REQUIRE(schedule_graph(nodes, gap_ns, &made, &on_circle));
  return made;
}

using Indices = std::vector<uint32_t>;

}  // namespace

TEST_CASE("A chain is one lane, its times add up with a gap between") {
  const GraphSchedule s = schedule({{{}, 0, 100}, {{0}, 0, 200}, {{1}, 0, 50}}, 10);
  CHECK(s.order == Indices{0, 1, 2});
  CHECK(s.lanes == 1);
  CHECK(s.start_ns == std::vector<uint64_t>{0, 110, 320});
  CHECK(s.span_ns == 370);
  CHECK(s.joins.empty());
}

TEST_CASE("Nodes that only order others take no time and no gap") {
  const GraphSchedule s = schedule({{{}, 0, 100}, {{0}, 0, 0}, {{1}, 0, 100}}, 10);
  CHECK(s.span_ns == 210);
}

TEST_CASE("Dependencies that come later in the list are waited for") {
  const GraphSchedule s = schedule({{{2}, 0, 1}, {{0}, 0, 1}, {{}, 0, 1}});
  CHECK(s.order == Indices{2, 0, 1});
  CHECK(s.lanes == 1);
}

TEST_CASE("A diamond runs on two lanes") {
  // 0 -> 1 (100), 0 -> 2 (300), both -> 3
  const GraphSchedule s = schedule({{{}, 0, 10}, {{0}, 0, 100}, {{0}, 0, 300}, {{1, 2}, 0, 10}});
  CHECK(s.lanes == 2);
  CHECK(s.lane == Indices{0, 0, 1, 0});
  CHECK(s.waits[2] == Indices{0});
  CHECK(s.waits[3] == Indices{2});
  CHECK(s.signals == std::vector<bool>{true, false, true, false});
  CHECK(s.joins.empty());  // the launch stream has waited for the branch already
  CHECK(s.start_ns == std::vector<uint64_t>{0, 10, 10, 310});
  CHECK(s.span_ns == 320);
}

TEST_CASE("A branch that nothing follows is joined at the end") {
  const GraphSchedule s = schedule({{{}, 0, 10}, {{0}, 0, 10}, {{0}, 0, 500}});
  CHECK(s.joins == Indices{2});
  CHECK(s.signals[2]);
  CHECK(s.span_ns == 510);
}

TEST_CASE("Work of one stream stays on one lane, and knows what it has waited for") {
  // Compute (hint 1): 0, 2, 4. Communication (hint 2): 1, 3. Each piece of compute waits for the communication before.
  const GraphSchedule s =
      schedule({{{}, 1, 10}, {{0}, 2, 30}, {{0}, 1, 10}, {{1, 2}, 2, 30}, {{2, 3}, 1, 10}, {{4, 1}, 1, 10}});
  CHECK(s.lanes == 2);
  CHECK(s.lane == Indices{0, 1, 0, 1, 0, 0});
  CHECK(s.waits[4] == Indices{3});
  CHECK(s.waits[5].empty());  // node 1 ended before node 3 began
  CHECK(s.start_ns[4] == 70);
}

TEST_CASE("A circle has no order, and one of its nodes is named") {
  GraphSchedule made;
  uint32_t on_circle = 99;
  CHECK_FALSE(
      schedule_graph({{{}, 0, 1}, {{0, 3}, 0, 1}, {{1}, 0, 1}, {{2}, 0, 1}, {{3}, 0, 1}}, 0, &made, &on_circle));
  CHECK((on_circle == 1 || on_circle == 2 || on_circle == 3));
}

TEST_CASE("Many branches fold into the lanes that there are, every dependency kept") {
  std::mt19937 random(7);
  std::vector<ScheduledWork> nodes(2000);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    nodes[i].duration_ns = 1 + random() % 100;
    for (int d = 0; i != 0 && d < 3; ++d) nodes[i].dependencies.push_back(random() % i);
    std::sort(nodes[i].dependencies.begin(), nodes[i].dependencies.end());
    nodes[i].dependencies.erase(std::unique(nodes[i].dependencies.begin(), nodes[i].dependencies.end()),
                                nodes[i].dependencies.end());
  }
  const GraphSchedule s = schedule(nodes, 5);
  CHECK(s.lanes <= GraphSchedule::kMostLanes);
  std::vector<uint64_t> free_ns(s.lanes, 0);
  uint64_t span_ns = 0;
  for (const uint32_t i : s.order) {
    for (const uint32_t from : nodes[i].dependencies) CHECK(s.end_ns[from] <= s.start_ns[i]);
    CHECK(s.start_ns[i] >= free_ns[s.lane[i]]);
    free_ns[s.lane[i]] = s.end_ns[i];
    span_ns = std::max(span_ns, s.end_ns[i]);
  }
  CHECK(s.span_ns == span_ns);
}
