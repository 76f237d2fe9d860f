#include "driver_shim/cublas/lt_grouped.h"

#include <vector>

#include "driver_shim/common/recording.h"
#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

class GroupSizes {
 public:
  std::vector<int64_t> rows, columns, leading;

  bool read(const MatrixLayout& layout) {
    const auto groups = static_cast<uint64_t>(layout.batch_count);
    const bool wide = layout.sizes_width == CUBLASLT_INTEGER_WIDTH_64;
    if (!shim::read_integer_array(layout.rows_array, groups, wide, &rows) ||
        !shim::read_integer_array(layout.columns_array, groups, wide, &columns) ||
        !shim::read_integer_array(layout.leading_array, groups, layout.leading_width == CUBLASLT_INTEGER_WIDTH_64,
                                  &leading))
      return false;
    // Sizes that a kernel would have written, or bytes that are no sizes at all.
    for (uint64_t i = 0; i < groups; ++i)
      if (!is_size(rows[i]) || !is_size(columns[i]) || !is_size(leading[i])) return false;
    return true;
  }

 private:
  // So that products of two count elements of some memory, and of three go into a double.
  static bool is_size(int64_t size) { return size >= 0 && size <= INT32_MAX; }
};

}  // namespace

cublasStatus_t record_grouped(const MatmulDesc& desc, const MatrixLayout& a, const MatrixLayout& b,
                              const MatrixLayout& d, const void* d_array, uint64_t workspace_bytes, CUstream stream) {
  const int64_t groups = d.batch_count;
  OperationRecord record(Family::kGroupedGemm, "cublasLtMatmul");
  record.set(Key::kGroups, groups).set(Key::kBatch, groups);
  record.set(Key::kTypeA, static_cast<int64_t>(data_type(a.data_type())))
      .set(Key::kTypeB, static_cast<int64_t>(data_type(b.data_type())));
  record.set(Key::kTypeD, static_cast<int64_t>(data_type(d.data_type())));
  record.set(Key::kComputeType,
             static_cast<int64_t>(compute_data_type(static_cast<cublasComputeType_t>(desc.compute_type))));
  record.set(Key::kTransA, desc.transa).set(Key::kTransB, desc.transb).set(Key::kWorkspaceBytes, workspace_bytes);

  shim::WriteList writes;
  GroupSizes sizes_a, sizes_d;
  if (sizes_a.read(a) && sizes_d.read(d)) {
    double flops = 0, read_bytes = 0, written_bytes = 0, largest_flops = -1;
    size_t largest = 0;
    const auto bytes = [](cudaDataType type, int64_t rows, int64_t columns) {
      return static_cast<double>(storage_bytes(type, static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns)));
    };
    const std::vector<int64_t>& inner = desc.transa == CUBLAS_OP_N ? sizes_a.columns : sizes_a.rows;
    for (size_t i = 0; i < sizes_d.rows.size(); ++i) {
      const int64_t m = sizes_d.rows[i], n = sizes_d.columns[i], k = inner[i];
      const double group_flops = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                                 static_cast<double>(multiply_add_flops(d.data_type()));
      if (group_flops > largest_flops) largest = i, largest_flops = group_flops;
      flops += group_flops;
      read_bytes += bytes(a.data_type(), m, k) + bytes(b.data_type(), k, n);
      written_bytes += bytes(d.data_type(), m, n);
    }
    record.set(Key::kM, sizes_d.rows[largest]).set(Key::kN, sizes_d.columns[largest]).set(Key::kK, inner[largest]);
    record.set(Key::kFlops, shim::counted(flops))
        .set(Key::kReadBytes, shim::counted(read_bytes))
        .set(Key::kWrittenBytes, shim::counted(written_bytes));
    if (std::vector<void*> matrices; shim::read_pointer_array(d_array, groups, &matrices)) {
      for (int64_t i = 0; i < groups; ++i)
        writes.add_matrix(matrices[i], storage_bytes(d.data_type(), sizes_d.rows[i]), sizes_d.columns[i],
                          storage_bytes(d.data_type(), sizes_d.leading[i]));
    }
  }
  return status_of(shim::record(stream, record, writes));
}

}  // namespace maya::cublas
