// Kernels of PyTorch 2.15's CUDA libraries that known values go through, one of each family: mangled name and sizes of
// its parameters, as a trace of test/end_to_end/values_program.py holds them.
#pragma once

#include <cstdint>
#include <vector>

namespace maya::test {

struct TorchKernel {
  const char* name;
  std::vector<uint32_t> parameter_bytes;
};

inline const std::vector<TorchKernel>& torch_kernels() {
  static const std::vector<TorchKernel> kernels = {
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_11FillFunctorIbEESt5arrayIPcLm1EELb0EEEviT0_T1_",
       {4, 1, 8}},
      {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_"
       "clEvENKUlvE9_clEvEUlbE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_"
       "6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       {4, 1, 16, 1, 1, 8, 8}},
      {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE9_clEvEUlbE_EEvS4_RKT_EUliE_EEviT1_",
       {4, 536}},
      {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implIZZZNS0_23direct_copy_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE9_clEvEUlbE_EEvS4_RKT_EUliE_EEviT1_",
       {4, 536}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi2EZNS0_27converting_copy_kernel_cudaIblEEvRNS_"
       "18TensorIteratorBaseEEUlbE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZNS0_27converting_copy_kernel_"
       "cudaIblEEvRNS_18TensorIteratorBaseEEUlbE_EEvS5_RKT_EUliE_EEviT1_",
       {4, 536}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIbEESt5arrayIPcLm3EELb0EEEviT0_T1_",
       {4, 1, 24}},
      {"_ZN2at6native27unrolled_elementwise_kernelINS0_21CUDAFunctorOnSelf_"
       "addIlEESt5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjES8_NS0_6memory12LoadWithCastILi1EEENS9_"
       "13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       {4, 16, 16, 1, 1, 8, 8}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_13BinaryFunctorIbbbNS0_15binary_"
       "internal10MulFunctorIbEEEESt5arrayIPcLm3EELb0EEEviT0_T1_",
       {4, 1, 24}},
      {"_ZN2at6native27unrolled_elementwise_kernelINS0_13AUnaryFunctorIlllNS0_15binary_"
       "internal10MulFunctorIlEEEESt5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_"
       "6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       {4, 16, 16, 1, 1, 8, 8}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_13AUnaryFunctorIhhhNS0_15binary_"
       "internal10MulFunctorIhEEEESt5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 2, 16}},
      {"_ZN2at6native27unrolled_elementwise_kernelINS0_13BinaryFunctorIfffNS0_15binary_"
       "internal10DivFunctorIfEEEESt5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjESA_ILi1EjENS0_"
       "6memory12LoadWithCastILi2EEENSD_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       {4, 1, 24, 1, 1, 12, 8}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BUnaryFunctorIfffNS0_15binary_"
       "internal10MulFunctorIfEEEESt5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 8, 16}},
      {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_22reciprocal_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_"
       "6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       {4, 1, 16, 1, 1, 8, 8}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_22reciprocal_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE_clEvENKUlvE3_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15binary_internal21div_floor_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 16, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15binary_internal21div_trunc_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 16, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_51_GLOBAL__N__7b48bba2_12_PowKernel_cu_e5d96c45_"
       "5803729pow_tensor_scalar_kernel_implIhhEEvRNS_18TensorIteratorBaseET0_EUlhE_St5arrayIPcLm2EELb0EEEviS6_T1_",
       {4, 8, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_10AbsFunctorIN3c104HalfEEESt5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16sqrt_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_51_GLOBAL__N__7b48bba2_12_PowKernel_cu_e5d96c45_"
       "5803724pow_tensor_tensor_kernelERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE_clEvEUlhhE_"
       "St5arrayIPcLm3EELb0EEEviT0_T1_",
       {4, 8, 24}},
      {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_51_GLOBAL__N__7b48bba2_12_PowKernel_cu_e5d96c45_5803724pow_"
       "tensor_tensor_kernelERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE_clEvEUlhhE_"
       "St5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjESB_ILi1EjENS0_6memory12LoadWithCastILi2EEENSE_"
       "13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
       {4, 8, 24, 1, 1, 12, 8}},
      {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_51_GLOBAL__N__7b48bba2_12_"
       "PowKernel_cu_e5d96c45_5803724pow_tensor_tensor_kernelERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE2_clEvEUlllE_"
       "EEvS5_RKT_EUliE_EEviT1_",
       {4, 648}},
      {"_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16flip_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_"
       "14TensorIteratorEEUliE_EEvlT1_",
       {8, 520}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZNS0_11sum_functorIbbbEclERNS_"
       "14TensorIteratorEEUlbbE_EEjbLi4ELi4EEEEEvT1_",
       {1040}},
      {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_addIbEEEEvRNS_"
       "18TensorIteratorBaseERKT_EUliE_EEviT1_",
       {4, 648}},
      {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunctorIfffNS0_15binary_"
       "internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
       {4, 648}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_19addcmul_cuda_kernelERNS_"
       "18TensorIteratorBaseERKN3c106ScalarEENKUlvE0_clEvENKUlvE_clEvEUlhhhE_St5arrayIPcLm4EELb0EEEviT0_T1_",
       {4, 16, 32}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_19addcdiv_cuda_kernelERNS_"
       "18TensorIteratorBaseERKN3c106ScalarEENKUlvE0_clEvENKUlvE6_clEvEUlNS4_4HalfESA_SA_E_St5arrayIPcLm4EELb0EEEviT0_"
       "T1_",
       {4, 16, 32}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_45_GLOBAL__N__e59e3811_7_Lerp_cu_e5d96c45_5404918lerp_"
       "scalar_kernelERNS_18TensorIteratorBaseERKN3c106ScalarEENKUlvE0_clEvENKUlvE1_clEvEUlNS5_4HalfESB_E_"
       "St5arrayIPcLm3EELb0EEEviT0_T1_",
       {4, 16, 24}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_45_GLOBAL__N__e59e3811_7_Lerp_cu_e5d96c45_5404918lerp_"
       "tensor_kernelERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfES8_S8_E_"
       "St5arrayIPcLm4EELb0EEEviT0_T1_",
       {4, 1, 32}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_50_GLOBAL__N__30bf7ff7_17_CompareKernels_cu_"
       "8f1b29aa14CompareFunctorIbEESt5arrayIPcLm3EELb0EEEviT0_T1_",
       {4, 4, 24}},
      {"_ZN2at6native27unrolled_elementwise_kernelIZNS0_21compare_scalar_kernelIlEEvRNS_18TensorIteratorBaseENS0_50_"
       "GLOBAL__N__30bf7ff7_17_CompareKernels_cu_8f1b29aa6OpTypeET_EUllE_"
       "St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESD_NS0_6memory12LoadWithCastILi1EEENSE_"
       "13StoreWithCastILi1EEEEEviS7_T0_T2_T3_T4_T5_",
       {4, 24, 16, 1, 1, 8, 8}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_21compare_scalar_kernelIhEEvRNS_18TensorIteratorBaseENS0_"
       "50_GLOBAL__N__30bf7ff7_17_CompareKernels_cu_8f1b29aa6OpTypeET_EUlhE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 16, 16}},
      {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_50_GLOBAL__N__30bf7ff7_17_"
       "CompareKernels_cu_8f1b29aa14CompareFunctorIbEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
       {4, 648}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_23logical_not_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE8_clEvEUlbE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_23bitwise_not_kernel_cudaERNS_18TensorIteratorBaseEEUlbE_"
       "St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15neg_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE_clEvEUlhE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16sign_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE_clEvEUlhE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17floor_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16ceil_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17round_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17trunc_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_19signbit_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUliE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15exp_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17expm1_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE4_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15sin_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15cos_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15tan_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16tanh_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_19sigmoid_kernel_cudaERNS_"
       "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15erf_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16frac_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16atan_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16sinh_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16cosh_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_15log_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_16log2_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17log10_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17log1p_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
       "clEvENKUlvE3_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_17rsqrt_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_"
       "clEvENKUlvE2_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_62_GLOBAL__N__e7db5ad4_23_ActivationSiluKernel_cu_"
       "e5d96c45_4333911silu_kernelERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE3_clEvEUlN3c104HalfEE_"
       "St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 1, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_67_GLOBAL__N__12fa4e86_28_ActivationLeakyReluKernel_cu_"
       "e5d96c45_4275217leaky_relu_kernelERNS_18TensorIteratorBaseERKN3c106ScalarEENKUlvE_clEvENKUlvE1_clEvEUlNS5_"
       "4HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 16, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_66_GLOBAL__N__daf368fa_27_ActivationSoftplusKernel_cu_"
       "e5d96c45_4363415softplus_kernelERNS_18TensorIteratorBaseERKN3c106ScalarES8_ENKUlvE_clEvENKUlvE1_clEvEUlNS5_"
       "4HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
       {4, 16, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_49_GLOBAL__N__037c6ad9_16_TensorCompare_cu_"
       "71e06f4e17clamp_kernel_implERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE_clEvEUlhhhE_"
       "St5arrayIPcLm4EELb0EEEviT0_T1_",
       {4, 1, 32}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_22nan_to_num_kernel_cudaERNS_"
       "18TensorIteratorBaseESt8optionalIdES5_S5_ENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_"
       "T1_",
       {4, 16, 16}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_49_GLOBAL__N__037c6ad9_16_TensorCompare_cu_"
       "71e06f4e17where_kernel_implERNS_14TensorIteratorEENKUlvE_clEvENKUlvE_clEvEUlbhhE_St5arrayIPcLm4EELb0EEEviT0_"
       "T1_",
       {4, 8, 32}},
      {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_49_GLOBAL__N__037c6ad9_16_"
       "TensorCompare_cu_71e06f4e17where_kernel_implERNS_14TensorIteratorEENKUlvE_clEvENKUlvE2_clEvEUlbmmE_EEvRNS_"
       "18TensorIteratorBaseERKT_EUliE_EEviT1_",
       {4, 752}},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb18masked_"
       "fill_kernelERNS_14TensorIteratorERKN3c106ScalarEENKUlvE_clEvENKUlvE8_clEvEUlbbE_St5arrayIPcLm3EELb0EEEviT0_T1_",
       {4, 16, 24}},
      {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_44_GLOBAL__N__b23ef953_11_"
       "Indexing_cu_89862edb18masked_fill_kernelERNS_14TensorIteratorERKN3c106ScalarEENKUlvE_clEvENKUlvE8_clEvEUlbbE_"
       "EEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
       {4, 656}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_14or_kernel_cudaERNS_"
       "14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4ELi4EEEEEvT1_",
       {1040}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_15and_kernel_cudaERNS_"
       "14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4ELi4EEEEEvT1_",
       {1040}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbNS0_"
       "13MaxNanFunctorIbEEEEjbLi4ELi4EEEEEvT1_",
       {1040}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_6MaxOpsIbEEjbLi4ELi4EEEEEvT1_", {1064}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbNS0_"
       "13MinNanFunctorIbEEEEjbLi4ELi4EEEEEvT1_",
       {1040}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_6MinOpsIbEEjbLi4ELi4EEEEEvT1_", {1064}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIhNS0_9ArgMaxOpsIhEEjlLi4ELi4EEEEEvT1_", {1064}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIhNS0_9ArgMinOpsIhEEjlLi4ELi4EEEEEvT1_", {1064}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_9MinMaxOpsIbbiEEjbLi4ELi4EEEEEvT1_", {1040}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_7MeanOpsIS4_ffS4_EEjS4_Li4ELi8EEEEEvT1_",
       {1048}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_10WelfordOpsIS4_fiN4cuda3std3__44pairIS4_"
       "S4_EEEEjS4_Li2ELi2EEEEEvT1_",
       {1064}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_11NormZeroOpsIS4_fS4_EEjS4_"
       "Li4ELi4EEEEEvT1_",
       {1048}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_10NormOneOpsIS4_fS4_EEjS4_Li4ELi4EEEEEvT1_",
       {1048}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_10NormTwoOpsIS4_fS4_Lb1EEEjS4_"
       "Li4ELi4EEEEEvT1_",
       {1048}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_7NormOpsIS4_fS4_Lb1EEEjS4_Li4ELi4EEEEEvT1_",
       {1048}},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_9AbsMaxOpsIS4_fS4_EEjS4_Li4ELi4EEEEEvT1_",
       {1048}},
      {"_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c26CatArrayBatchedCopy_contigINS1_"
       "10OpaqueTypeILj1EEEjLi1ELi128ELi1EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_"
       "16TensorSizeStrideIS8_Lj4EEEiS8_",
       {8, 2720, 32, 4, 4}},
      {"_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_"
       "10OpaqueTypeILj1EEEjLi2ELi64ELi64EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_"
       "16TensorSizeStrideIS8_Lj4EEEiS8_",
       {8, 3392, 32, 4, 4}},
      {"_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c35CatArrayBatchedCopy_alignedK_contigINS1_"
       "10OpaqueTypeILj4EEEjLi1ELi128ELi1ELi16EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_"
       "16TensorSizeStrideIS8_Lj4EEEiS8_",
       {8, 2720, 32, 4, 4}},
      {"_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c30CatArrayBatchedCopy_vectorizedINS1_"
       "10OpaqueTypeILj4EEEjLi1ELi128ELi1ELi16ELi4EEEvPcNS1_25CatArrInputTensorMetadataIT_T0_XT2_EXT3_EEENS1_"
       "16TensorSizeStrideIS8_Lj4EEEiS8_",
       {8, 2720, 32, 4, 4}},
      {"_ZN50_GLOBAL__N__2fa45684_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2at6native15arange_"
       "cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE2_clEvEUllE_EEvT_T0_PN15function_traitsISD_"
       "E11result_typeE",
       {4, 24, 8}},
      {"_ZN14at_cuda_detail3cub6detail4scan20DeviceScanInitKernelINS0_13ScanTileStateIlLb1EEEEEvT_i", {8, 4}},
      {"_ZN14at_cuda_detail3cub6detail4scan16DeviceScanKernelINS2_10policy_hubIllljSt4plusIlEE10Policy1000EPKlPlNS0_"
       "13ScanTileStateIlLb1EEES6_NS0_8NullTypeEjlLb0ESE_EEvT0_T1_T2_iT3_T4_T5_",
       {8, 8, 8, 4, 1, 1, 4}},
      {"_Z19compute_cuda_kernelIlEvPKT_PKlPS0_ll", {8, 8, 8, 8, 8}},
      {"_ZN2at6native44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb21indexSelectSmallIndexIbljLi1ELi1ELin2EEEvNS_"
       "4cuda6detail10TensorInfoIT_T1_EENS5_IKS6_S7_EENS5_IKT0_S7_EEiiS7_l",
       {216, 216, 216, 4, 4, 4, 8}},
      {"_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_internal_"
       "kernelILb0ENS0_10OpaqueTypeILi1EEElEclINS0_12TensorAssignEEEvRNS_14TensorIteratorElllRKT_EUliE_EEviT1_",
       {4, 664}},
      {"_ZN2at6native16roll_cuda_kernelIbEEvPKT_PS2_llllll", {8, 8, 8, 8, 8, 8, 8, 8}},
      {"_ZN2at6native28tensor_kernel_scan_outer_dimIljSt4plusIlEEEvPT_PKS4_jjjS4_T1_", {8, 8, 4, 4, 4, 8, 1}},
      {"_ZN2at6native32tensor_kernel_scan_innermost_dimIlSt4plusIlEEEvPT_PKS4_jjjS4_T0_", {8, 8, 4, 4, 4, 8, 1}},
      {"_ZN2at6native45tensor_kernel_scan_innermost_dim_with_indicesIbSt13greater_equalIbEEEvPKT_PS4_PliijjS4_T0_",
       {8, 8, 8, 4, 4, 4, 4, 1, 1}},
      {"_ZN2at6native41tensor_kernel_scan_outer_dim_with_indicesIbSt13greater_equalIbEEEvPKT_PS4_PljjjS4_T0_",
       {8, 8, 8, 4, 4, 4, 1, 1}},
      {"_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16gpu_index_kernelIZNS0_17index_kernel_implINS0_"
       "10OpaqueTypeILi1EEEEEvRNS_18TensorIteratorBaseEN3c108ArrayRefIlEESA_EUlPcPKclE_EEvS7_SA_SA_RKT_bEUliE_EEvlT1_",
       {8, 1240}},
      {"_ZN14at_cuda_detail3cub6detail6reduce28DeviceReduceSingleTileKernelINS2_10policy_hubIiyN4cuda3std3__"
       "44plusIvEEE10Policy1000EN6thrust38_V_300200_SM_750_800_860_900_1000_120018transform_iteratorIN2at6native43_"
       "GLOBAL__N__a7e516da_10_Nonzero_cu_cba1aaa09NonZeroOpIbEEPKbNSD_11use_defaultESM_EEPiyS9_iiNS7_8identityEEEvT0_"
       "T1_T2_T3_T4_T6_",
       {16, 8, 8, 1, 4, 1}},
      {"_ZN14at_cuda_detail3cub6detail4scan23DeviceCompactInitKernelINS0_13ScanTileStateIiLb1EEEPiEEvT_iT0_",
       {8, 4, 8}},
      {"_ZN14at_cuda_detail3cub6detail6select23DeviceSelectSweepKernelINS2_10policy_hubIlbiLb0ELNS0_"
       "10SelectImplE0EE10Policy1000EN6thrust38_V_300200_SM_750_800_860_900_1000_120017counting_iteratorIlNS9_11use_"
       "defaultESB_SB_NS9_18compile_time_valueILi1EEEEENS9_18transform_iteratorIN2at6native43_GLOBAL__N__a7e516da_10_"
       "Nonzero_cu_cba1aaa09NonZeroOpIbEEPKbSB_SB_EEPlPiNS0_13ScanTileStateIiLb1EEENS0_8NullTypeESS_iNS2_19streaming_"
       "context_tIlLb1EEELS5_0EEEvT0_T1_T2_T3_T4_T5_T6_T7_iT8_NS1_7vsmem_tE",
       {8, 16, 8, 8, 8, 1, 1, 4, 4, 40, 8}},
      {"_ZN2at6native43_GLOBAL__N__a7e516da_10_Nonzero_cu_cba1aaa013write_indicesIlEEvPlNS1_10TensorDimsIT_EEiS5_S3_l",
       {8, 200, 4, 8, 8, 8}},
      {"_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_20cuda_take_put_kernelIbiZZZZZNS0_11take_kernelERNS_"
       "14TensorIteratorERKNS_10TensorBaseEENKUlvE_clEvENKUlvE9_clEvENKUlvE_clEvENKUlvE_clEvEUlRbiE_EEvS4_S7_RKT1_"
       "EUliE_EEvlSE_",
       {8, 944}},
      {"_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_34_cuda_scatter_fill_internal_kernelINS0_"
       "10OpaqueTypeILi1EEElEclINS0_12TensorAssignEEEvRNS_14TensorIteratorES4_lllRKT_EUliE_EEviT1_",
       {4, 560}},
      {"_ZN2at6native25_assert_async_cuda_kernelIbEEvPKT_NS0_3MsgE", {8, 256}},
      {"_ZN14at_cuda_detail3cub6detail10radix_sort31DeviceRadixSortSingleTileKernelINS1_5radix10policy_"
       "hubIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE10Policy1000ELNS0_9SortOrderE0ElSB_yNS1_21identity_decomposer_"
       "tEEEvPKT1_PSG_PKT2_PSK_T3_iiT4_",
       {8, 8, 8, 8, 8, 4, 4, 1}},
      {"_ZN44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb33indexing_backward_kernel_stride_1IhEEvPKlS2_PKT_PS3_llllb",
       {8, 8, 8, 8, 8, 8, 8, 8, 1}},
      {"_ZN44_GLOBAL__N__b23ef953_11_Indexing_cu_89862edb37indexing_backward_kernel_small_strideIhEEvPKlS2_PKT_PS3_"
       "llllb",
       {8, 8, 8, 8, 8, 8, 8, 8, 1}},
      {"_ZN2at6native27unrolled_elementwise_kernelINS0_"
       "11FillFunctorIbEESt5arrayIPcLm1EELi4E23TrivialOffsetCalculatorILi0EjES7_ILi1EjENS0_"
       "6memory15LoadWithoutCastENSA_16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_",
       {4, 1, 8, 1, 1, 1, 1}},
      {"_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_22index_fill_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_"
       "14TensorIteratorElllT_EUliE_EEvlT1_",
       {8, 544}},
      {"_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_22index_copy_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_"
       "14TensorIteratorElllEUliE_EEvlT1_",
       {8, 648}},
      {"_ZN2at6native22warpMergeSortKVInPlaceILin2ELin1ELi128ELi16EblNS0_4LTOpIbLb1EEEjLi32EEEvNS_"
       "4cuda6detail10TensorInfoIT3_T6_EES8_S8_S8_NS6_IT4_S8_EES8_T5_S7_",
       {216, 4, 4, 4, 216, 4, 1, 1}},
      {"_ZN2at6native18radixSortKVInPlaceILin2ELin1ELi32ELi32EbljEEvNS_4cuda6detail10TensorInfoIT3_T5_EES6_S6_S6_NS4_"
       "IT4_S6_EES6_b",
       {216, 4, 4, 4, 216, 4, 1}},
      {"_ZN2at6native20bitonicSortKVInPlaceILin2ELin1ELi16ELi16EblNS0_4LTOpIbLb1EEEjEEvNS_4cuda6detail10TensorInfoIT3_"
       "T6_EES8_S8_S8_NS6_IT4_S8_EES8_T5_",
       {216, 4, 4, 4, 216, 4, 1}},
      {"_ZN2at6native6sbtopk10gatherTopKIhjLi1ELb0EEEvNS_4cuda6detail10TensorInfoIKT_T0_EES8_S8_bS8_S8_NS5_IS6_S8_EES8_"
       "NS5_IlS8_EES8_PS6_",
       {216, 4, 4, 1, 4, 4, 216, 4, 216, 4, 8}},
      {"_ZN2at6native8internal45_GLOBAL__N__45d28d57_12_UniqueCub_cu_fdb07b4126adjacent_difference_kernelIPKhEEvlT_Pi",
       {8, 8, 8}},
      {"_ZN2at6native8internal45_GLOBAL__N__45d28d57_12_UniqueCub_cu_fdb07b4114scatter_kernelElPKlS4_Pl", {8, 8, 8, 8}},
      {"_ZN14at_cuda_detail3cub6detail6reduce23DeviceReduceByKeyKernelINS1_3rle6encode10policy_"
       "hubIlhE10Policy1000EPKhPhN6thrust38_V_300200_SM_750_800_860_900_1000_120017constant_iteratorIllNSD_11use_"
       "defaultEEEPlSH_NS0_24ReduceByKeyScanTileStateIliLb1EEEN4cuda3std3__48equal_toIvEENSM_4plusIvEEilNS2_"
       "17streaming_contextISA_llEEEEvT0_T1_T2_T3_T4_T5_iT6_T7_T8_T10_NS1_7vsmem_tE",
       {8, 8, 16, 8, 8, 8, 4, 1, 1, 4, 48, 8}},
      {"_ZN2at4cuda17kernelHistogram1DIiilLi1ELi2ELin1ELNS0_23CUDAHistogramMemoryTypeE0EZNS0_21CUDA_tensor_"
       "histogramIiiLb0EEEbNS_6TensorES4_S4_lNS_14AccumulateTypeIT0_Lb1EE4typeES8_NS0_13TensorArgTypeES9_S9_EUllE0_"
       "EEvNS0_6detail10TensorInfoIT_T1_EESF_NSC_IKS6_SE_EElS8_S8_SE_T6_",
       {416, 416, 416, 8, 8, 8, 8, 1}},
      {"_ZN2at6native39_GLOBAL__N__b5857774_7_Copy_cu_11f9d6c527transpose_copy_tiled_kernelIjLi4ELi4ELi32ELb0EEEvPKT_"
       "PS3_"
       "llll",
       {8, 8, 8, 8, 8, 8}},
      {"_ZN2at6native39_GLOBAL__N__b5857774_7_Copy_cu_11f9d6c527transpose_copy_tiled_kernelImLi1ELi1ELi32ELb0EEEvPKT_"
       "PS3_"
       "llll",
       {8, 8, 8, 8, 8, 8}},
      {"_ZN2at6native46_GLOBAL__N__c76d7d8e_13_SortStable_cu_f7bb90a127fill_reverse_indices_kernelEPliNS_"
       "4cuda6detail10Int"
       "DividerIjEE",
       {8, 4, 12}},
      {"_ZN2at4cuda17kernelHistogram1DIlllLi1ELi2ELin1ELNS0_23CUDAHistogramMemoryTypeE0EZNS0_21CUDA_tensor_"
       "histogramIllLb0EEEbNS_6TensorES4_S4_lNS_14AccumulateTypeIT0_Lb1EE4typeES8_NS0_13TensorArgTypeES9_S9_EUllE0_"
       "EEvNS0_6detail10TensorInfoIT_T1_EESF_NSC_IKS6_SE_EElS8_S8_SE_T6_",
       {416, 416, 416, 8, 8, 8, 8, 1}},
      {"_ZN2at6native49_GLOBAL__N__173e7606_16_Bucketization_cu_723a43a424searchsorted_cuda_kernelIhlEEvPT0_PKT_S7_"
       "PKllllbb",
       {8, 8, 8, 8, 8, 8, 8, 1, 1}},
      {"_ZN2at6native16triu_tril_kernelIbiLb0ELi8ELb0EEEvNS_4cuda6detail10TensorInfoIT_T0_EENS4_IKS5_S6_EEllS6_",
       {216, 216, 8, 8, 4}},
      {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_11FillFunctorIbEEEEvRNS_"
       "18TensorIteratorBaseERKT_EUliE_EEviT1_",
       {4, 432}},
      {"_ZN2at6native57_GLOBAL__N__7e105b8f_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi2EEENS1_21BinaryOpScalarFunctorIN3c104HalfELi2ELi1ELi1EEEJSt4plusIfEfEEEvT_T0_DpT1_",
       {24200, 1, 1, 4}},
      {"_ZN2at6native55_GLOBAL__N__f86471ef_22_ForeachBinaryOpList_cu_a911ec4325multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi3EEENS1_24BinaryOpListAlphaFunctorIN3c104HalfELi3ELi2ELi2EEEJSt4plusIfEfEEEvT_T0_DpT1_",
       {24200, 1, 1, 4}},
      {"_ZN2at6native61_GLOBAL__N__832b9cb6_28_ForeachBinaryOpScalarList_cu_dda10a6925multi_tensor_apply_kernelINS1_"
       "28TensorListScalarListMetadataIfLi2EEENS1_"
       "25BinaryOpScalarListFunctorIN3c104HalfELi2ELi1ELi1EEEJSt4plusIfEEEEvT_T0_DpT1_",
       {25984, 1, 1}},
      {"_ZN2at6native63_GLOBAL__N__d2244290_30_ForeachBinaryOpScalarTensor_cu_64fe0ca525multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi2EEENS1_27BinaryOpScalarTensorFunctorIN3c104HalfELi2ELi1ELi1EEEJSt10multipliesIfEPS7_"
       "fEEEvT_T0_DpT1_",
       {24200, 1, 1, 8, 4}},
      {"_ZN2at6native50_GLOBAL__N__637ba612_17_ForeachUnaryOp_cu_77fe623d25multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi2EEENS1_14UnaryOpFunctorIN3c104HalfELi2ELi1ELi1EEEJNS0_3AbsIfEEEEEvT_T0_DpT1_",
       {24200, 1, 1}},
      {"_ZN2at6native50_GLOBAL__N__637ba612_17_ForeachUnaryOp_cu_77fe623d25multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi1EEENS1_11ZeroFunctorIN3c104HalfELi1ELi1ELi0EEEJEEEvT_T0_DpT1_",
       {25768, 1}},
      {"_ZN2at6native51_GLOBAL__N__99dedba0_18_ForeachReduceOp_cu_b83ec48c25multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi1EEENS0_13LpNormFunctorIN3c104HalfELNS0_8NormTypeE1ES7_Li1ELi1ELi0EEEJPfPKlEEEvT_T0_"
       "DpT1_",
       {25768, 1, 8, 8}},
      {"_ZN2at6native14lpnorm_cleanupIN3c104HalfELNS0_8NormTypeE1ES3_Lb1EfEEvPKT3_NS0_19TensorListAddressesEPKli",
       {8, 25600, 8, 4}},
      {"_ZN2at6native51_GLOBAL__N__99dedba0_18_ForeachReduceOp_cu_b83ec48c25multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi1EEENS0_12LpMaxFunctorIN3c104HalfELi1ELi1ELi0EEEJPS7_PKlEEEvT_T0_DpT1_",
       {25768, 1, 8, 8}},
      {"_ZN2at6native13lpmax_cleanupIN3c104HalfEEEvPKT_NS0_19TensorListAddressesEPKli", {8, 25600, 8, 4}},
      {"_ZN2at6native54_GLOBAL__N__ae7e1889_21_ForeachPointwiseOp_cu_ef478fac25multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi4EEENS1_24PointwiseOpScalarFunctorIN3c104HalfELi4ELi3ELi3EEEJSt10multipliesIfEfEEEvT_T0_"
       "DpT1_",
       {23528, 1, 1, 4}},
      {"_ZN2at6native52_GLOBAL__N__913c22e1_19_ForeachTernaryOp_cu_5285c63625multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi3EEENS1_22TernaryOpScalarFunctorIN3c104HalfELi3ELi2ELi2EEEJNS0_11LerpFunctorIfEEfEEEvT_"
       "T0_DpT1_",
       {24200, 1, 1, 4}},
      {"_ZN2at6native55_GLOBAL__N__f86471ef_22_ForeachBinaryOpList_cu_a911ec4325multi_tensor_apply_kernelINS1_"
       "18TensorListMetadataILi2EEENS1_11CopyFunctorIfN3c104HalfELi2ELi1ELi1EEEJNS0_4CopyIfS7_EEEEEvT_T0_DpT1_",
       {24200, 1, 1}},
  };
  return kernels;
}

}  // namespace maya::test
