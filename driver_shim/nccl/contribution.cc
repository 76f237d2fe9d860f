// Bytes of calls on their way from device memory to the shared area and back.
#include <string.h>

#include <algorithm>

#include "driver_shim/nccl/communicator.h"

namespace maya::nccl {
namespace {

// More known runs than this are cut: the smallest become unknown.
constexpr uint32_t kMostRuns = 256;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

void keep_largest(Runs* runs) {
  if (runs->size() <= kMostRuns) return;
  std::sort(runs->begin(), runs->end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  runs->resize(kMostRuns);
  std::sort(runs->begin(), runs->end());
}

bool read_known(const void* source, uint64_t bytes, std::vector<unsigned char>* out, Runs* runs) {
  out->resize(bytes);
  std::vector<MemoryRange> room(kMostRuns);
  for (;;) {
    auto count = static_cast<uint32_t>(room.size());
    if (shim::driver()->read_known(out->data(), address(source), bytes, room.data(), &count) != CUDA_SUCCESS)
      return false;
    if (count > room.size()) {
      room.resize(count);
      continue;
    }
    for (uint32_t i = 0; i < count; ++i) runs->emplace_back(room[i].address, room[i].bytes);
    return true;
  }
}

}  // namespace

Contribution contribute(const Communicator& communicator, const CollectiveCall& call) {
  Contribution made = parameters_of(call);
  const uint64_t bytes = sent_bytes(call, communicator.rank, communicator.ranks);
  if (bytes == 0 || !travels(call, communicator.ranks)) return made;
  if (!read_known(call.send, bytes, &made.bytes, &made.runs) || made.runs.empty()) {
    made.bytes.clear();
    made.runs.clear();
    return made;
  }
  keep_largest(&made.runs);
  if (!made.user_operation) return made;
  UserOperation operation;
  {
    std::lock_guard<std::mutex> lock(engine_mutex());
    operation = communicator.operations[static_cast<size_t>(call.operation - ncclNumOps)];
  }
  if (operation.device_scalar != nullptr) {
    int known = 0;
    if (shim::driver()->read(operation.scalar, address(operation.device_scalar), type_bytes(call.type), &known) !=
            CUDA_SUCCESS ||
        known == 0) {
      made.bytes.clear();
      made.runs.clear();
      return made;
    }
  }
  scale(made.bytes.data(), bytes / type_bytes(call.type), call.type, operation.scalar);
  return made;
}

void write_record(Communicator& communicator, Record& record, const Contribution& from, const Area::Reader& reader) {
  record.kind = static_cast<uint8_t>(from.kind);
  record.type = static_cast<uint8_t>(from.type);
  record.is_user_operation = from.user_operation ? 1 : 0;
  record.operation = from.operation;
  record.root = from.root;
  record.count = from.count;
  record.run_count = 0;
  record.payload = 0;
  record.payload_bytes = 0;
  const size_t length = std::min(from.api.size(), sizeof record.api - 1);
  memcpy(record.api, from.api.data(), length);
  record.api[length] = 0;
  if (from.runs.empty()) return;
  // The runs, then their bytes.
  std::vector<unsigned char> payload(from.runs.size() * 16);
  for (size_t i = 0; i < from.runs.size(); ++i) {
    const uint64_t words[2] = {from.runs[i].first, from.runs[i].second};
    memcpy(payload.data() + i * 16, words, sizeof words);
  }
  for (const auto& [offset, bytes] : from.runs)
    payload.insert(payload.end(), from.bytes.begin() + static_cast<ptrdiff_t>(offset),
                   from.bytes.begin() + static_cast<ptrdiff_t>(offset + bytes));
  record.payload = communicator.area->append(communicator.rank, payload.data(), payload.size(), reader);
  if (record.payload == 0) return;  // the system has no memory: the bytes are unknown to the others
  record.payload_bytes = payload.size();
  record.run_count = static_cast<uint32_t>(from.runs.size());
}

Contribution read_record(const Area& area, const Record& record, uint64_t whole_bytes) {
  Contribution made;
  made.kind = static_cast<CollectiveKind>(record.kind);
  made.type = static_cast<ncclDataType_t>(record.type);
  made.user_operation = record.is_user_operation != 0;
  made.operation = std::clamp(record.operation, 0, ncclNumOps - 1);
  made.root = record.root;
  made.count = record.count;
  made.api.assign(record.api, strnlen(record.api, sizeof record.api));
  const uint64_t head = static_cast<uint64_t>(record.run_count) * 16;
  if (record.run_count == 0 || record.run_count > kMostRuns || record.payload_bytes < head ||
      record.payload_bytes - head > whole_bytes)
    return made;
  std::vector<unsigned char> payload(record.payload_bytes);
  if (!area.read(record.payload, payload.data(), payload.size())) return made;
  made.bytes.resize(whole_bytes);
  for (uint64_t i = 0, at = head; i < record.run_count; ++i) {
    uint64_t words[2];
    memcpy(words, payload.data() + i * 16, sizeof words);
    if (words[0] > whole_bytes || words[1] > whole_bytes - words[0] || words[1] > payload.size() - at) break;
    memcpy(made.bytes.data() + words[0], payload.data() + at, words[1]);
    made.runs.emplace_back(words[0], words[1]);
    at += words[1];
  }
  return made;
}

}  // namespace maya::nccl
