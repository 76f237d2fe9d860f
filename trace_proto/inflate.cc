#include "trace_proto/inflate.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

namespace maya::trace {
namespace {

constexpr int kMostWindowLog = 25;  // 32 MiB, the limit of what one frame may hold
constexpr size_t kStep_bytes = 1 << 20;

struct FreeStream {
  void operator()(ZSTD_DCtx* stream) const { ZSTD_freeDCtx(stream); }
};

}  // namespace

bool inflate(const uint8_t* frame, size_t size, size_t limit_bytes, std::vector<uint8_t>* out, std::string* reason) {
  std::unique_ptr<ZSTD_DCtx, FreeStream> stream(ZSTD_createDCtx());
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kMostWindowLog);
  out->clear();
  ZSTD_inBuffer in = {frame, size, 0};
  size_t used = 0;
  while (true) {
    out->resize(std::min(used + kStep_bytes, limit_bytes + 1));
    ZSTD_outBuffer to = {out->data(), out->size(), used};
    const size_t left = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(left)) {
      *reason = std::string("packed packets cannot be inflated: ") + ZSTD_getErrorName(left);
      return false;
    }
    const bool progressed = to.pos != used;
    used = to.pos;
    if (used > limit_bytes) {
      *reason = "packed packets inflate beyond the limit";
      return false;
    }
    if (left == 0) break;
    if (in.pos == in.size && to.pos < to.size && !progressed) {
      *reason = "packed packets are cut";
      return false;
    }
  }
  if (in.pos != in.size) {
    *reason = "bytes follow the packed packets";
    return false;
  }
  out->resize(used);
  return true;
}

}  // namespace maya::trace
