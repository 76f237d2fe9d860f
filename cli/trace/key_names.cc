#include "cli/trace/key_names.h"

#include <iterator>

#include "predictor/core/operation.h"

namespace maya::cli::trace {
namespace {

// Indexed by maya::Key.
constexpr const char* kNames[] = {"none",
                                  "m",
                                  "n",
                                  "k",
                                  "batch",
                                  "type_a",
                                  "type_b",
                                  "type_c",
                                  "type_d",
                                  "compute_type",
                                  "trans_a",
                                  "trans_b",
                                  "lda",
                                  "ldb",
                                  "ldc",
                                  "stride_a",
                                  "stride_b",
                                  "stride_c",
                                  "epilogue",
                                  "workspace_bytes",
                                  "groups",
                                  "elements",
                                  "incx",
                                  "incy",
                                  "bytes",
                                  "data_type",
                                  "red_op",
                                  "root",
                                  "peer",
                                  "communicator",
                                  "sequence",
                                  "ranks",
                                  "collective",
                                  "seq_q",
                                  "seq_kv",
                                  "heads",
                                  "kv_heads",
                                  "head_dim",
                                  "causal",
                                  "direction",
                                  "rows",
                                  "columns",
                                  "channels",
                                  "height",
                                  "width",
                                  "filters",
                                  "filter_height",
                                  "filter_width",
                                  "stride",
                                  "pad",
                                  "dilation",
                                  "conv_groups",
                                  "conv_direction",
                                  "flops",
                                  "read_bytes",
                                  "written_bytes",
                                  "alpha",
                                  "beta",
                                  "group_call",
                                  "implementation",
                                  "nodes"};
static_assert(std::size(kNames) == static_cast<size_t>(Key::kNodes) + 1);

}  // namespace

std::string key_name(uint32_t key) { return key < std::size(kNames) ? kNames[key] : "key" + std::to_string(key); }

}  // namespace maya::cli::trace
