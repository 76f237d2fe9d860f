#include "cli/trace/definitions.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace maya::cli::trace {
namespace {

constexpr size_t kLongestDemangled_bytes = 4096;  // longer mangled names are shown as they are

constexpr size_t kShownBegin = 100;
constexpr size_t kShownEnd = 40;

}  // namespace

std::string demangled(const std::string& name) {
  if (name.size() > kLongestDemangled_bytes) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

std::string abbreviated(const std::string& name) {
  if (name.size() <= kShownBegin + kShownEnd + 3) return name;
  const auto inside_character = [&](size_t at) { return (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80; };
  size_t begin = kShownBegin;
  size_t end = name.size() - kShownEnd;
  while (begin > 0 && inside_character(begin)) --begin;
  while (end < name.size() && inside_character(end)) ++end;
  return name.substr(0, begin) + "..." + name.substr(end);
}

std::string ProcessDefinitions::string(uint32_t id) const {
  const auto found = strings.find(id);
  return found != strings.end() ? found->second : "?" + std::to_string(id);
}

std::string ProcessDefinitions::kernel_of(uint32_t configuration) const {
  const auto found = configurations.find(configuration);
  if (found == configurations.end()) return "?" + std::to_string(configuration);
  const auto kernel = kernels.find(found->second.kernel());
  return kernel != kernels.end() ? demangled(string(kernel->second.name()))
                                 : "?" + std::to_string(found->second.kernel());
}

std::string ProcessDefinitions::api_of(uint32_t operation) const {
  const auto found = operations.find(operation);
  return found != operations.end() ? string(found->second.api()) : "?" + std::to_string(operation);
}

void Definitions::add(const maya::trace::PacketView& packet) {
  while (processes_.size() <= packet.process) {
    processes_.emplace_back();
    processes_.back().first_time_ns = packet.time_ns;
  }
  if (packet.message == nullptr) return;
  ProcessDefinitions& process = processes_[packet.process];
  const proto::Packet& message = *packet.message;
  switch (message.kind_case()) {
    case proto::Packet::kProcess:
      process.header = message.process();
      break;
    case proto::Packet::kString:
      process.strings.emplace(message.string().id(), message.string().text());
      break;
    case proto::Packet::kKernel:
      process.kernels.emplace(message.kernel().id(), message.kernel());
      break;
    case proto::Packet::kConfiguration:
      process.configurations.emplace(message.configuration().id(), message.configuration());
      break;
    case proto::Packet::kOperationDescriptor:
      process.operations.emplace(message.operation_descriptor().id(), message.operation_descriptor());
      break;
    default:
      break;
  }
}

}  // namespace maya::cli::trace
