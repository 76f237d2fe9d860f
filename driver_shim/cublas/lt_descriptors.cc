// Create, destroy, initialise in place, set and get of cublasLt's descriptors.
#include "driver_shim/cublas/lt_descriptors.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/lt_attribute.h"

namespace maya::cublas {
namespace {

#define LAYOUT(ID, MEMBER) MAYA_LT_ATTRIBUTE(ID, MatrixLayout, MEMBER)
constexpr Attribute kLayoutAttributes[] = {
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_TYPE, type),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_ORDER, order),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_COLS, columns),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_LD, leading),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch_count),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, plane_offset),
    LAYOUT(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, batch_mode),
    LAYOUT(CUBLASLT_GROUPED_MATRIX_LAYOUT_ROWS_ARRAY, rows_array),
    LAYOUT(CUBLASLT_GROUPED_MATRIX_LAYOUT_COLS_ARRAY, columns_array),
    LAYOUT(CUBLASLT_GROUPED_MATRIX_LAYOUT_LD_ARRAY, leading_array),
    LAYOUT(CUBLASLT_GROUPED_MATRIX_LAYOUT_ROWS_COLS_ARRAY_INTEGER_WIDTH, sizes_width),
    LAYOUT(CUBLASLT_GROUPED_MATRIX_LAYOUT_LD_ARRAY_INTEGER_WIDTH, leading_width),
};

#define MATMUL(ID, MEMBER) MAYA_LT_ATTRIBUTE(ID, MatmulDesc, MEMBER)
constexpr Attribute kMatmulAttributes[] = {
    MATMUL(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute_type),
    MATMUL(CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale_type),
    MATMUL(CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_TRANSA, transa),
    MATMUL(CUBLASLT_MATMUL_DESC_TRANSB, transb),
    MATMUL(CUBLASLT_MATMUL_DESC_TRANSC, transc),
    MATMUL(CUBLASLT_MATMUL_DESC_FILL_MODE, fill_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue),
    MATMUL(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias),
    MATMUL(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, bias_batch_stride),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_leading),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, aux_batch_stride),
    MATMUL(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, alpha_vector_batch_stride),
    MATMUL(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, sm_count_target),
    MATMUL(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a_scale),
    MATMUL(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b_scale),
    MATMUL(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, c_scale),
    MATMUL(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, d_scale),
    MATMUL(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, d_amax),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, aux_type),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, aux_scale),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, aux_amax),
    MATMUL(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast_accumulation),
    MATMUL(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type),
    MATMUL(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, a_scale_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, b_scale_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, c_scale_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, d_scale_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, aux_scale_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, d_out_scale),
    MATMUL(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, d_out_scale_mode),
    MATMUL(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, emulation),
    MATMUL(CUBLASLT_MATMUL_DESC_ALPHA_BATCH_STRIDE, alpha_batch_stride),
    MATMUL(CUBLASLT_MATMUL_DESC_BETA_BATCH_STRIDE, beta_batch_stride),
};

#define TRANSFORM(ID, MEMBER) MAYA_LT_ATTRIBUTE(ID, TransformDesc, MEMBER)
constexpr Attribute kTransformAttributes[] = {
    TRANSFORM(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, scale_type),
    TRANSFORM(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, pointer_mode),
    TRANSFORM(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, transa),
    TRANSFORM(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, transb),
};

#define PREFERENCE(ID, MEMBER) MAYA_LT_ATTRIBUTE(ID, MatmulPreference, MEMBER)
constexpr Attribute kPreferenceAttributes[] = {
    PREFERENCE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, search_mode),
    PREFERENCE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, max_workspace_bytes),
    PREFERENCE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction_scheme_mask),
    PREFERENCE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, min_alignment_a),
    PREFERENCE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, min_alignment_b),
    PREFERENCE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, min_alignment_c),
    PREFERENCE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, min_alignment_d),
    PREFERENCE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, max_waves),
    PREFERENCE(CUBLASLT_MATMUL_PREF_IMPL_MASK, implementation_mask),
    PREFERENCE(CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM, average_reduction),
    PREFERENCE(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS, average_rows),
    PREFERENCE(CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS, average_columns),
};

// Average sizes of grouped products are documented as 32 bits; Transformer Engine passes 64, and works.
bool is_average(int id) {
  return id == CUBLASLT_MATMUL_PREF_GROUPED_AVERAGE_REDUCTION_DIM ||
         id == CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_ROWS ||
         id == CUBLASLT_MATMUL_PREF_GROUPED_DESC_D_AVERAGE_COLS;
}

#define EMULATION(ID, MEMBER) MAYA_LT_ATTRIBUTE(ID, EmulationDesc, MEMBER)
constexpr Attribute kEmulationAttributes[] = {
    EMULATION(CUBLASLT_EMULATION_DESC_STRATEGY, strategy),
    EMULATION(CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT, special_values),
    EMULATION(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_CONTROL, mantissa_control),
    EMULATION(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, max_mantissa_bits),
    EMULATION(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET, mantissa_bit_offset),
    EMULATION(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, mantissa_bit_count),
};

// What cublasLt.h of CUDA 12.9 sets aside for a layout and for a preference.
constexpr size_t kLeastBytes = 8 * sizeof(uint64_t);
static_assert(offsetof(MatrixLayout, rows_array) <= kLeastBytes);  // CUDA 12 has no grouped layouts
static_assert(sizeof(MatmulPreference) <= kLeastBytes);

// A descriptor on the heap, holding `initial`.
template <typename Ours, typename Opaque>
cublasStatus_t create(Opaque** descriptor, const Ours& initial) {
  if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *descriptor = new (std::nothrow) Opaque;
  return *descriptor == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : initialize(*descriptor, sizeof(Opaque), initial);
}

template <typename Opaque>
cublasStatus_t destroy(Opaque* descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

MatrixLayout plain_layout(cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading) {
  MatrixLayout layout;
  layout.type = type, layout.rows = rows, layout.columns = columns, layout.leading = leading;
  return layout;
}

MatrixLayout grouped_layout(cudaDataType type, int groups, const void* rows, const void* columns, const void* leading) {
  MatrixLayout layout;
  layout.type = type, layout.batch_count = groups, layout.batch_mode = CUBLASLT_BATCH_MODE_GROUPED;
  layout.rows_array = rows, layout.columns_array = columns, layout.leading_array = leading;
  return layout;
}

MatmulDesc matmul_desc(cublasComputeType_t compute, cudaDataType scale) {
  MatmulDesc desc;
  desc.compute_type = compute, desc.scale_type = scale;
  return desc;
}

TransformDesc transform_desc(cudaDataType scale) {
  TransformDesc desc;
  desc.scale_type = scale;
  return desc;
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

MAYA_API cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t bytes,
                                                          cudaDataType type, uint64_t rows, uint64_t columns,
                                                          int64_t leading) {
  return initialize(layout, bytes, plain_layout(type, rows, columns, leading), kLeastBytes);
}

MAYA_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                                   uint64_t columns, int64_t leading) {
  return create(layout, plain_layout(type, rows, columns, leading));
}

MAYA_API cublasStatus_t cublasLtGroupedMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t bytes,
                                                                 cudaDataType type, int groups, const void* rows,
                                                                 const void* columns, const void* leading) {
  return initialize(layout, bytes, grouped_layout(type, groups, rows, columns, leading));
}

MAYA_API cublasStatus_t cublasLtGroupedMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, int groups,
                                                          const void* rows, const void* columns, const void* leading) {
  return create(layout, grouped_layout(type, groups, rows, columns, leading));
}

MAYA_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }

MAYA_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                         cublasLtMatrixLayoutAttribute_t id, const void* value,
                                                         size_t bytes) {
  return set_attribute(kLayoutAttributes, layout, id, value, bytes);
}

MAYA_API cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                         cublasLtMatrixLayoutAttribute_t id, void* value, size_t bytes,
                                                         size_t* written) {
  return get_attribute(kLayoutAttributes, layout, id, value, bytes, written);
}

MAYA_API cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t bytes,
                                                        cublasComputeType_t compute, cudaDataType_t scale) {
  return initialize(desc, bytes, matmul_desc(compute, scale));
}

MAYA_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                                 cudaDataType_t scale) {
  return create(desc, matmul_desc(compute, scale));
}

MAYA_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(desc); }

MAYA_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t id,
                                                       const void* value, size_t bytes) {
  return set_attribute(kMatmulAttributes, desc, id, value, bytes);
}

MAYA_API cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t id,
                                                       void* value, size_t bytes, size_t* written) {
  return get_attribute(kMatmulAttributes, desc, id, value, bytes, written);
}

MAYA_API cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t desc, size_t bytes,
                                                                 cudaDataType scale) {
  return initialize(desc, bytes, transform_desc(scale));
}

MAYA_API cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* desc, cudaDataType scale) {
  return create(desc, transform_desc(scale));
}

MAYA_API cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t desc) { return destroy(desc); }

MAYA_API cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                                cublasLtMatrixTransformDescAttributes_t id,
                                                                const void* value, size_t bytes) {
  return set_attribute(kTransformAttributes, desc, id, value, bytes);
}

MAYA_API cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                                cublasLtMatrixTransformDescAttributes_t id, void* value,
                                                                size_t bytes, size_t* written) {
  return get_attribute(kTransformAttributes, desc, id, value, bytes, written);
}

MAYA_API cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t bytes) {
  return initialize(preference, bytes, MatmulPreference{}, kLeastBytes);
}

MAYA_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, MatmulPreference{});
}

MAYA_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

MAYA_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                             cublasLtMatmulPreferenceAttributes_t id, const void* value,
                                                             size_t bytes) {
  if (is_average(id) && bytes == sizeof(int64_t) && value != nullptr) {
    int64_t wide = 0;
    std::memcpy(&wide, value, sizeof wide);
    const auto average = static_cast<uint32_t>(std::clamp<int64_t>(wide, 0, UINT32_MAX));
    return set_attribute(kPreferenceAttributes, preference, id, &average, sizeof average);
  }
  return set_attribute(kPreferenceAttributes, preference, id, value, bytes);
}

MAYA_API cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                             cublasLtMatmulPreferenceAttributes_t id, void* value,
                                                             size_t bytes, size_t* written) {
  return get_attribute(kPreferenceAttributes, preference, id, value, bytes, written);
}

MAYA_API cublasStatus_t cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t desc, size_t bytes) {
  return initialize(desc, bytes, EmulationDesc{});
}

MAYA_API cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t* desc) {
  return create(desc, EmulationDesc{});
}

MAYA_API cublasStatus_t cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t desc) { return destroy(desc); }

MAYA_API cublasStatus_t cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t desc,
                                                          cublasLtEmulationDescAttributes_t id, const void* value,
                                                          size_t bytes) {
  return set_attribute(kEmulationAttributes, desc, id, value, bytes);
}

MAYA_API cublasStatus_t cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t desc,
                                                          cublasLtEmulationDescAttributes_t id, void* value,
                                                          size_t bytes, size_t* written) {
  return get_attribute(kEmulationAttributes, desc, id, value, bytes, written);
}
