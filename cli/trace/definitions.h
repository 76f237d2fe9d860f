// What the ids in a trace stand for, gathered in a pass over the whole file: a definition may stand behind its first
// use.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace_proto/reader.h"

namespace maya::cli::trace {

struct ProcessDefinitions {
  std::unordered_map<uint32_t, std::string> strings;
  std::unordered_map<uint32_t, proto::KernelDescriptor> kernels;
  std::unordered_map<uint32_t, proto::LaunchConfiguration> configurations;
  std::unordered_map<uint32_t, proto::OperationDescriptor> operations;
  proto::ProcessHeader header;
  uint64_t first_time_ns = 0;

  // "?" and the id when the file does not define it.
  std::string string(uint32_t id) const;
  // Demangled kernel name of a launch configuration.
  std::string kernel_of(uint32_t configuration) const;
  // Entry point of a library operation.
  std::string api_of(uint32_t operation) const;
};

class Definitions {
 public:
  void add(const maya::trace::PacketView& packet);
  const std::vector<ProcessDefinitions>& processes() const { return processes_; }

 private:
  std::vector<ProcessDefinitions> processes_;
};

std::string demangled(const std::string& name);
// Beginning and end of a long name, for lines that people read.
std::string abbreviated(const std::string& name);

}  // namespace maya::cli::trace
