// Where the time goes, by hand. Work is given as (engine, start, end, launched late).
#include "predictor/breakdown.h"

#include <catch2/catch.hpp>
#include <tuple>

using namespace maya::predictor;

namespace {

struct Timeline {
  Program program;
  Simulation simulation;
  void add(Engine engine, uint64_t start, uint64_t end, bool late = false) {
    HostCall call;
    call.kind = CallKind::kEnqueue;
    call.engine = engine;
    program.calls.push_back(call);
    simulation.work_start_ns.push_back(start);
    simulation.work_end_ns.push_back(end);
    simulation.launched_late.push_back(late);
  }
};

uint64_t total(const Breakdown& b) { return b.compute + b.exposed_communication + b.copies + b.host_bound + b.idle; }

}  // namespace

TEST_CASE("compute hides communication, both hide copies") {
  Timeline t;
  t.add(Engine::kCompute, 10, 50);
  t.add(Engine::kCompute, 20, 30);        // beside the first: counted once
  t.add(Engine::kCommunication, 40, 80);  // 10 hidden, 30 exposed
  t.add(Engine::kCopyIn, 0, 15);          // 10 exposed
  t.add(Engine::kCopyOut, 70, 95);        // 15 exposed
  t.add(Engine::kHost, 0, 1000);          // no device work
  const Breakdown b = break_down(t.program, t.simulation, {{0, 100}}).front();
  CHECK(b.compute == 40);
  CHECK(b.communication == 40);
  CHECK(b.exposed_communication == 30);
  CHECK(b.copies == 10 + 15);
  CHECK(b.host_bound == 5);  // after the last work only the host goes on
  CHECK(b.idle == 0);
  CHECK(total(b) == 100);
}

TEST_CASE("a gap belongs to the host when the next work was launched late") {
  Timeline t;
  t.add(Engine::kCompute, 0, 10);
  t.add(Engine::kCompute, 12, 20);        // queued: its gap is idle time
  t.add(Engine::kCompute, 50, 60, true);  // launched late: 30 for the host
  const Breakdown b = break_down(t.program, t.simulation, {{0, 60}}).front();
  CHECK(b.compute == 28);
  CHECK(b.idle == 2);
  CHECK(b.host_bound == 30);
}

TEST_CASE("several intervals, each sums up to its length") {
  Timeline t;
  t.add(Engine::kCompute, 5, 105);
  t.add(Engine::kCopyIn, 150, 170);
  const std::vector<Breakdown> parts = break_down(t.program, t.simulation, {{0, 50}, {50, 110}, {160, 200}});
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].compute == 45);
  CHECK(total(parts[0]) == 50);
  CHECK(parts[1].compute == 55);
  CHECK(total(parts[1]) == 60);
  CHECK(parts[2].copies == 10);
  CHECK(total(parts[2]) == 40);
}
