// Kernels of PyTorch's wheels built with CUDA 12 that are laid out otherwise than in 2.15: mangled name and sizes of
// parameters, as traces of test/end_to_end/values_program.py hold them. 24: of 2.4.0 (CUDA 12.1; 2.5 has the same), the
// others of 2.8.0 (CUDA 12.8; 2.6 to 2.10 have the same).
#pragma once

#include "torch_kernels.h"

namespace maya::test {

inline const TorchKernel kScan24 = {
    "_ZN14at_cuda_detail3cub16DeviceScanKernelINS0_16DeviceScanPolicyIlE9Policy600EPKlPlNS0_"
    "13ScanTileStateIlLb1EEESt4plusIlENS0_8NullTypeEilEEvT0_T1_T2_iT3_T4_T5_",
    {8, 8, 8, 4, 1, 1, 4}};
inline const TorchKernel kScan28 = {
    "_ZN14at_cuda_detail3cub16DeviceScanKernelINS0_16DeviceScanPolicyIlSt4plusIlEE9Policy900EPKlPlNS0_"
    "13ScanTileStateIlLb1EEES4_NS0_8NullTypeEjlLb0EEEvT0_T1_T2_iT3_T4_T5_",
    {8, 8, 8, 4, 1, 1, 4}};
inline const TorchKernel kCount24 = {
    "_ZN14at_cuda_detail3cub28DeviceReduceSingleTileKernelINS0_18DeviceReducePolicyIiiNS0_3SumEE9Policy600ENS0_"
    "22TransformInputIteratorIbN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_cba1aaa09NonZeroOpIfEEPKflEEPiiS3_"
    "iiEEvT0_T1_T2_T3_T4_",
    {16, 8, 4, 1, 4}};
inline const TorchKernel kCount28 = {
    "_ZN14at_cuda_detail3cub28DeviceReduceSingleTileKernelINS0_18DeviceReducePolicyIiyN4cuda3std3__"
    "44plusIvEEE9Policy600ENS0_22TransformInputIteratorIbN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_"
    "cba1aaa09NonZeroOpIfEEPKflEEPiyS7_iiNS5_10__identityEEEvT0_T1_T2_T3_T4_T6_",
    {16, 8, 8, 1, 4, 1}};
inline const TorchKernel kList24 = {
    "_ZN14at_cuda_detail3cub23DeviceSelectSweepKernelINS0_16DispatchSelectIfINS0_21CountingInputIteratorIllEENS0_"
    "22TransformInputIteratorIbN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_cba1aaa09NonZeroOpIfEEPKflEEPlPiNS0_"
    "8NullTypeESG_iLb0ELb0EE18PtxSelectIfPolicyTES4_SD_SE_SF_NS0_13ScanTileStateIiLb1EEESG_SG_iLb0EEEvT0_T1_T2_T3_T4_"
    "T5_T6_T7_i",
    {8, 16, 8, 8, 8, 1, 1, 4, 4}};
inline const TorchKernel kList28 = {
    "_ZN14at_cuda_detail3cub23DeviceSelectSweepKernelINS0_6detail24device_select_policy_hubIlbiLb0ELb0EE9Policy900ENS0_"
    "21CountingInputIteratorIllEENS0_22TransformInputIteratorIbN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_"
    "cba1aaa09NonZeroOpIfEEPKflEEPlPiNS0_13ScanTileStateIiLb1EEENS0_8NullTypeESL_iLb0ELb0EEEvT0_T1_T2_T3_T4_T5_T6_T7_"
    "iNS2_7vsmem_tE",
    {8, 16, 8, 8, 8, 1, 1, 4, 4, 8}};
inline const TorchKernel kCountMany24 = {
    "_ZN14at_cuda_detail3cub18DeviceReduceKernelINS0_18DeviceReducePolicyIiiNS0_3SumEE9Policy600ENS0_"
    "22TransformInputIteratorIbN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_cba1aaa09NonZeroOpIbEEPKblEEiS3_iEEvT0_"
    "PT3_T1_NS0_13GridEvenShareISI_EET2_",
    {16, 8, 4, 40, 1}};
inline const TorchKernel kCountMany28 = {
    "_ZN14at_cuda_detail3cub18DeviceReduceKernelINS0_18DeviceReducePolicyIiyN4cuda3std3__44plusIvEEE9Policy600ENS0_"
    "22TransformInputIteratorIbN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_cba1aaa09NonZeroOpIbEEPKblEEyS7_iNS5_10_"
    "_identityEEEvT0_PT3_T1_NS0_13GridEvenShareISN_EET2_T4_",
    {16, 8, 8, 72, 1, 1}};
inline const TorchKernel kSumParts24 = {
    "_ZN14at_cuda_detail3cub28DeviceReduceSingleTileKernelINS0_18DeviceReducePolicyIiiNS0_3SumEE9Policy600EPiS6_iS3_"
    "iiEEvT0_T1_T2_T3_T4_",
    {8, 8, 4, 1, 4}};
inline const TorchKernel kSumParts28 = {
    "_ZN14at_cuda_detail3cub28DeviceReduceSingleTileKernelINS0_18DeviceReducePolicyIiyN4cuda3std3__"
    "44plusIvEEE9Policy600EPiSA_iS7_iiNS5_10__identityEEEvT0_T1_T2_T3_T4_T6_",
    {8, 8, 4, 1, 4, 1}};
inline const TorchKernel kWriteIndices24 = {
    "_ZN2at6native43_GLOBAL__N__e625f313_10_Nonzero_cu_cba1aaa013write_indicesIiEEvPlNS1_10TensorDimsIT_EEiS5_",
    {8, 100, 4, 4}};
inline const TorchKernel kInitTiles = {
    "_ZN14at_cuda_detail3cub23DeviceCompactInitKernelINS0_24ReduceByKeyScanTileStateIliLb1EEEPlEEvT_iT0_", {8, 4, 8}};
inline const TorchKernel kSort24 = {
    "_ZN14at_cuda_detail3cub31DeviceRadixSortSingleTileKernelINS0_"
    "21DeviceRadixSortPolicyIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE9Policy800ELb0ElS8_yEEvPKT1_PSB_PKT2_PSF_T3_ii",
    {8, 8, 8, 8, 8, 4, 4}};
inline const TorchKernel kSort28 = {
    "_ZN14at_cuda_detail3cub31DeviceRadixSortSingleTileKernelINS0_"
    "21DeviceRadixSortPolicyIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE9Policy900ELb0ElS8_yNS0_6detail21identity_"
    "decomposer_tEEEvPKT1_PSD_PKT2_PSH_T3_iiT4_",
    {8, 8, 8, 8, 8, 4, 4, 1}};
inline const TorchKernel kSortPass24 = {
    "_ZN14at_cuda_detail3cub29DeviceRadixSortOnesweepKernelINS0_"
    "21DeviceRadixSortPolicyIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE9Policy800ELb0ElS8_yiiEEvPT5_SC_PT3_PKSD_PT1_"
    "PKSH_PT2_PKSL_T4_ii",
    {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4}};
inline const TorchKernel kSortPass28 = {
    "_ZN14at_cuda_detail3cub29DeviceRadixSortOnesweepKernelINS0_"
    "21DeviceRadixSortPolicyIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE9Policy900ELb0ElS8_yiiNS0_6detail21identity_"
    "decomposer_tEEEvPT5_SE_PT3_PKSF_PT1_PKSJ_PT2_PKSN_T4_iiT6_",
    {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 1}};
inline const TorchKernel kSortCounts24 = {
    "_ZN14at_cuda_detail3cub30DeviceRadixSortHistogramKernelINS0_"
    "21DeviceRadixSortPolicyIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE9Policy800ELb0ElyEEvPT2_PKT1_SB_ii",
    {8, 8, 8, 4, 4}};
inline const TorchKernel kSortSums24 = {
    "_ZN14at_cuda_detail3cub33DeviceRadixSortExclusiveSumKernelINS0_"
    "21DeviceRadixSortPolicyIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE9Policy800EyEEvPT0_",
    {8}};
inline const TorchKernel kDistinct24 = {
    "_ZN14at_cuda_detail3cub23DeviceReduceByKeyKernelINS0_19DispatchReduceByKeyIPKlPlNS0_"
    "21ConstantInputIteratorIliEES5_S5_NS0_8EqualityENS0_3SumEilE20PtxReduceByKeyPolicyES4_S5_S7_S5_S5_NS0_"
    "24ReduceByKeyScanTileStateIliLb1EEES8_S9_ilEEvT0_T1_T2_T3_T4_T5_iT6_T7_T8_",
    {8, 8, 16, 8, 8, 8, 4, 1, 1, 4}};
inline const TorchKernel kDistinct28 = {
    "_ZN14at_cuda_detail3cub23DeviceReduceByKeyKernelINS0_6detail35device_run_length_encode_policy_"
    "hubIllE9Policy900EPKlPlNS0_21ConstantInputIteratorIliEES8_S8_NS0_24ReduceByKeyScanTileStateIliLb1EEEN4cuda3std3__"
    "48equal_toIvEENSF_4plusIvEEilEEvT0_T1_T2_T3_T4_T5_iT6_T7_T8_",
    {8, 8, 16, 8, 8, 8, 4, 1, 1, 4}};
inline const TorchKernel kIndexAdd = {
    "_ZN2at6native19indexFuncSmallIndexIlljLi1ELi1ELin2ENS0_44_GLOBAL__N__50c743a2_11_Indexing_cu_"
    "89862edb9ReduceAddEEEvNS_4cuda6detail10TensorInfoIT_T1_EENS6_IKS7_S8_EENS6_IKT0_S8_EEiiS8_llRKT5_S7_",
    {216, 216, 216, 4, 4, 4, 8, 8, 8, 8}};
inline const TorchKernel kLinspaceHalf = {
    "_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2at6native17linspace_"
    "cuda_outERKN3c106ScalarES6_lRNS1_6TensorEENKUlvE0_clEvENKUlvE3_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_"
    "typeE",
    {4, 40, 8}};
inline const TorchKernel kToHalf = {
    "_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_24float16_copy_kernel_cudaERNS_18TensorIteratorBaseEEUlfE_"
    "St5arrayIPcLm2EEEEviT0_T1_",
    {4, 1, 16}};
inline const TorchKernel kAssert = {"_ZN2at6native25_assert_async_cuda_kernelIbEEvPKT_NS0_3MsgE", {8, 256}};
inline const TorchKernel kCopyLists = {
    "_ZN2at6native55_GLOBAL__N__d25d856e_22_ForeachBinaryOpList_cu_a911ec4325multi_tensor_apply_kernelINS1_"
    "18TensorListMetadataILi2EEENS1_14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4CopyIffEEEEEvT_T0_DpT1_",
    {3144, 1, 1}};
inline const TorchKernel kScalars = {
    "_ZN2at6native61_GLOBAL__N__538ad94b_28_ForeachBinaryOpScalarList_cu_dda10a6925multi_tensor_apply_kernelINS1_"
    "28TensorListScalarListMetadataIfLi2EEENS1_25BinaryOpScalarListFunctorIfLi2ELi1ELi1EEEJSt4plusIfEEEEvT_T0_DpT1_",
    {3392, 1, 1}};
inline const TorchKernel kNormParts = {
    "_ZN2at6native51_GLOBAL__N__d9d46141_18_ForeachReduceOp_cu_b83ec48c25multi_tensor_apply_kernelINS1_"
    "18TensorListMetadataILi1EEENS0_13LpNormFunctorIfLNS0_8NormTypeE1EfLi1ELi1ELi0EEEJPfiEEEvT_T0_DpT1_",
    {3368, 1, 8, 4}};
inline const TorchKernel kNorms = {
    "_ZN2at6native14lpnorm_cleanupIfLNS0_8NormTypeE1EffEEvPKT2_NS0_19TensorListAddressesEi", {8, 3200, 4}};
inline const TorchKernel kMaximumParts = {
    "_ZN2at6native51_GLOBAL__N__d9d46141_18_ForeachReduceOp_cu_b83ec48c25multi_tensor_apply_kernelINS1_"
    "18TensorListMetadataILi1EEENS0_12LpMaxFunctorIfLi1ELi1ELi0EEEJPfiEEEvT_T0_DpT1_",
    {3368, 1, 8, 4}};
inline const TorchKernel kMaxima = {"_ZN2at6native13lpmax_cleanupIfEEvPKT_NS0_19TensorListAddressesEi", {8, 3200, 4}};
inline const TorchKernel kFiniteCheck = {
    "_ZN2at6native46_GLOBAL__N__1df100ae_13_AmpKernels_cu_3810c27325multi_tensor_apply_kernelINS1_"
    "18TensorListMetadataILi1EEENS1_14UnaryOpFunctorIfLi1ELi1ELi0EEEJZZZNS0_47_amp_foreach_non_finite_check_and_"
    "unscale_cuda_EN3c108ArrayRefINS_6TensorEEERS9_RKS9_ENKUlvE_clEvENKUlvE0_clEvEUlfE_EEEvT_T0_DpT1_",
    {3368, 1, 24}};

inline std::vector<TorchKernel> cuda_12_kernels() {
  return {kScan24,       kScan28,     kCount24,      kCount28,        kList24,     kList28,     kCountMany24,
          kCountMany28,  kSumParts24, kSumParts28,   kWriteIndices24, kInitTiles,  kSort24,     kSort28,
          kSortPass24,   kSortPass28, kSortCounts24, kSortSums24,     kDistinct24, kDistinct28, kIndexAdd,
          kLinspaceHalf, kToHalf,     kAssert,       kCopyLists,      kScalars,    kNormParts,  kNorms,
          kMaximumParts, kMaxima,     kFiniteCheck};
}

}  // namespace maya::test
