// Builds traces for tests, through the real reader: what is described here is encoded, and load() decodes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "predictor/core/operation.h"
#include "trace_proto/loaded_trace.h"
#include "trace_proto/maya_trace.pb.h"

namespace maya::test {

class TraceBuilder {
 public:
  explicit TraceBuilder(const std::string& device = "h100-sxm");

  proto::ProcessHeader& header() { return header_; }
  bool finished = true;  // write the end of the process

  // Every call happens at `now` of `thread` and takes Maya `own_ns`; `now` moves by the gap first.
  uint32_t thread = 0;
  uint32_t stream = 0;
  uint64_t now_ns = 1'000'000;
  uint64_t own_ns = 0;
  uint32_t group = 0;  // ncclGroup of the operations that follow
  TraceBuilder& after(uint64_t gap_ns) {
    now_ns += gap_ns;
    return *this;
  }

  // An elementwise kernel of PyTorch's naming over `elements`, or any kernel by its mangled name.
  void launch(const std::string& mangled, uint32_t blocks, uint32_t threads = 128);
  void gemm(int64_t m, int64_t n, int64_t k);
  void operation(const OperationRecord& record);
  void copy(proto::Copy::Kind kind, uint64_t bytes, bool asynchronous, bool pageable);
  void fill(uint64_t bytes);
  void allocate(uint64_t address, uint64_t bytes, proto::Layer layer = proto::LAYER_ALLOCATIONS,
                proto::Allocation::Kind kind = proto::Allocation::DEVICE);
  void free(uint64_t address);
  void fail_allocation(uint64_t requested_bytes, uint64_t free_bytes);
  void event(proto::EventCall::Call call, uint32_t event);
  void synchronize(proto::Synchronization::Scope scope);
  void describe_stream(uint32_t id, uint32_t flags);
  void range(proto::RangeMark::Call call, const std::string& text);
  void packet(proto::Packet packet);

  std::string bytes() const;
  trace::LoadedTrace load() const;

 private:
  uint32_t string_id(const std::string& text);
  struct Timed {
    uint64_t time_ns;
    proto::Packet packet;
  };
  proto::ProcessHeader header_;
  std::map<uint32_t, std::vector<Timed>> threads_;
  std::map<std::string, uint32_t> strings_, kernels_, configurations_, operations_;
  std::map<uint64_t, proto::Allocation> live_;
  std::vector<proto::Packet> definitions_;
};

// Three training steps of a small model: initial copies, a first step that also fills optimizer state, and two equal
// ones. Forward and optimizer run on thread 0, the backward pass on thread 1.
void add_training(TraceBuilder* builder, int steps, int layers = 4, uint64_t gap_ns = 5'000);

}  // namespace maya::test
