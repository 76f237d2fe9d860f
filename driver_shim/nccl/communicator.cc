#include "driver_shim/nccl/communicator.h"

#include <map>

namespace maya::nccl {
namespace {

thread_local std::string last_error_text;

std::mutex cliques_mutex;
std::map<uint64_t, std::shared_ptr<Clique>>& cliques() {
  static auto* const all = new std::map<uint64_t, std::shared_ptr<Clique>>;
  return *all;
}

}  // namespace

ncclResult_t failed(ncclResult_t result, std::string text) {
  last_error_text = std::move(text);
  return result;
}

const char* last_error() { return last_error_text.c_str(); }

bool valid(ncclComm_t comm, const char* api) {
  if (comm != nullptr && comm->magic == ncclComm::kMagic) return true;
  failed(ncclInvalidArgument, std::string(api) + ": the communicator is null, destroyed or corrupted");
  return false;
}

size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

DataType type_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return DataType::kInt8;
    case ncclUint8:
      return DataType::kUint8;
    case ncclInt32:
    case ncclUint32:
      return DataType::kInt32;
    case ncclInt64:
    case ncclUint64:
      return DataType::kInt64;
    case ncclFloat16:
      return DataType::kFloat16;
    case ncclFloat32:
      return DataType::kFloat32;
    case ncclFloat64:
      return DataType::kFloat64;
    case ncclBfloat16:
      return DataType::kBfloat16;
    case ncclFloat8e4m3:
      return DataType::kFloat8E4m3;
    case ncclFloat8e5m2:
      return DataType::kFloat8E5m2;
    default:
      return DataType::kNone;
  }
}

std::shared_ptr<Clique> clique_of(uint64_t unique, int ranks) {
  std::lock_guard<std::mutex> lock(cliques_mutex);
  std::shared_ptr<Clique>& clique = cliques()[unique];
  if (clique == nullptr) {
    clique = std::make_shared<Clique>(ranks);
    clique->unique = unique;
  }
  return clique;
}

void forget_clique(uint64_t unique) {
  std::lock_guard<std::mutex> lock(cliques_mutex);
  cliques().erase(unique);
}

}  // namespace maya::nccl
