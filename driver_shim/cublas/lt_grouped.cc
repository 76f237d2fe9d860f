#include "driver_shim/cublas/lt_grouped.h"

#include <vector>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/common/recording.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

// `count` integers from device memory; false when one of them is not known.
bool read_sizes(const void* array, int32_t width, int64_t count, std::vector<int64_t>* sizes) {
  const MayaTable* table = shim::driver();
  if (table == nullptr || array == nullptr) return false;
  const bool wide = width == CUBLASLT_INTEGER_WIDTH_64;
  std::vector<int32_t> narrow(wide ? 0 : count);
  sizes->resize(count);
  int all_known = 0;
  void* destination = wide ? static_cast<void*>(sizes->data()) : static_cast<void*>(narrow.data());
  const uint64_t bytes = count * (wide ? sizeof(int64_t) : sizeof(int32_t));
  if (table->read(destination, reinterpret_cast<CUdeviceptr>(array), bytes, &all_known) != CUDA_SUCCESS ||
      all_known == 0)
    return false;
  if (!wide) sizes->assign(narrow.begin(), narrow.end());
  return true;
}

struct GroupSizes {
  std::vector<int64_t> rows, columns, leading;

  bool read(const MatrixLayout& layout) {
    return read_sizes(layout.rows_array, layout.sizes_width, layout.batch_count, &rows) &&
           read_sizes(layout.columns_array, layout.sizes_width, layout.batch_count, &columns) &&
           read_sizes(layout.leading_array, layout.leading_width, layout.batch_count, &leading);
  }
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
    int64_t flops = 0, read_bytes = 0, written_bytes = 0, largest = 0, largest_flops = -1;
    const std::vector<int64_t>& inner = desc.transa == CUBLAS_OP_N ? sizes_a.columns : sizes_a.rows;
    for (int64_t i = 0; i < groups; ++i) {
      const int64_t m = sizes_d.rows[i], n = sizes_d.columns[i], k = inner[i];
      const int64_t group_flops = m * n * k * multiply_add_flops(d.data_type());
      if (group_flops > largest_flops) largest = i, largest_flops = group_flops;
      flops += group_flops;
      read_bytes += storage_bytes(a.data_type(), m * k) + storage_bytes(b.data_type(), k * n);
      written_bytes += storage_bytes(d.data_type(), m * n);
    }
    record.set(Key::kM, sizes_d.rows[largest]).set(Key::kN, sizes_d.columns[largest]).set(Key::kK, inner[largest]);
    record.set(Key::kFlops, flops).set(Key::kReadBytes, read_bytes).set(Key::kWrittenBytes, written_bytes);
    if (std::vector<void*> matrices; shim::read_pointer_array(d_array, groups, &matrices)) {
      for (int64_t i = 0; i < groups; ++i)
        writes.add_matrix(matrices[i], storage_bytes(d.data_type(), sizes_d.rows[i]), sizes_d.columns[i],
                          storage_bytes(d.data_type(), sizes_d.leading[i]));
    }
  }
  return status_of(shim::record(stream, record, writes));
}

}  // namespace maya::cublas
