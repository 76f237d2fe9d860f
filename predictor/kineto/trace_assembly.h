// Puts a trace file together from packets with times: chunks by thread, definitions first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace_proto/maya_trace.pb.h"

namespace maya::predictor::kineto {

class TraceAssembly {
 public:
  // Definitions (strings, kernels, configurations...) have no time.
  proto::Packet* add_definition() { return &definitions_.emplace_back(); }
  // A call of a thread. Those of one thread at one time keep the order in which they were added.
  proto::Packet* add(uint32_t thread, uint64_t time_ns);
  // The bytes of the file, which is complete.
  std::string finish(const proto::ProcessHeader& header);

 private:
  struct Timed {
    uint64_t time_ns;
    proto::Packet packet;
  };
  std::vector<proto::Packet> definitions_;
  std::vector<std::vector<Timed>> threads_;
};

}  // namespace maya::predictor::kineto
