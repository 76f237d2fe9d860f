// Kernels as they appear in real launches: names of PyTorch's, Triton's and FlashAttention's kernels, sizes worked out
// by hand.
#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

struct Case {
  std::string_view name;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {128, 1, 1};
  std::vector<LaunchView::Scalar> scalars = {};
  uint32_t parameters = 0;
};

Work work(const Case& launch_case) {
  LaunchView launch;
  launch.mangled_name = launch_case.name;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = launch_case.grid[i];
    launch.block[i] = launch_case.block[i];
  }
  launch.scalars = launch_case.scalars.data();
  launch.scalar_count = static_cast<uint32_t>(launch_case.scalars.size());
  launch.parameter_count = launch_case.parameters;
  return work_of(launch);
}

TEST_CASE("Vectorised elementwise kernels: arrays give the arity, the functor the type, offset 0 the count") {
  const Work add = work(
      {.name =
           "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
           "std::array<char*, 3ul>, false>(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
       .grid = {1000, 1, 1},
       .scalars = {{0, 4, 1000000}}});
  CHECK(add.family == Family::kElementwise);
  CHECK(add.type == DataType::kBfloat16);
  CHECK(add.read_bytes == 2 * 2e6);
  CHECK(add.written_bytes == 2e6);
  CHECK(add.shape.get(Key::kElements) == 1000000);
  CHECK_FALSE(add.guessed);

  const Work compare =
      work({.name = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, bool, "
                    "at::native::(anonymous namespace)::CompareEqFunctor<float> >, std::array<char*, 3ul> >(int)",
            .scalars = {{0, 4, 1000}}});
  CHECK(compare.read_bytes == 8000);
  CHECK(compare.written_bytes == 1000);

  const Work fill =
      work({.name = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
            .scalars = {{0, 4, 1000}}});
  CHECK(fill.family == Family::kFill);
  CHECK(fill.read_bytes == 0);
  CHECK(fill.written_bytes == 4000);
}

TEST_CASE("Lambdas say what they take, in both spellings") {
  const Work device = work(
      {.name =
           "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
           "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() "
           "const::{lambda(c10::BFloat16)#1}, "
           "std::array<char*, 2ul> >(int)",
       .scalars = {{0, 4, 500}}});
  CHECK(device.type == DataType::kBfloat16);
  CHECK(device.read_bytes == 1000);
  CHECK(device.written_bytes == 1000);
  const Work host = work(
      {.name = "void at::native::vectorized_elementwise_kernel<2, __nv_hdl_wrapper_t<false, true, false, "
               "__nv_dl_tag<void (*)(at::TensorIteratorBase&), &at::native::sigmoid_backward_kernel_cuda, 2u>, float "
               "(float, float)>, std::array<char*, 3ul>, false>(int)",
       .scalars = {{0, 4, 500}}});
  CHECK(host.type == DataType::kFloat32);
  CHECK(host.read_bytes == 4000);
  CHECK(host.written_bytes == 2000);
}

TEST_CASE("Converting copies read one type and write the other") {
  const Work copy =
      work({.name = "void at::native::vectorized_elementwise_kernel<8, at::native::converting_copy_kernel_cuda<float, "
                    "c10::BFloat16>(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul>, false>(int)",
            .scalars = {{0, 4, 1000}}});
  CHECK(copy.read_bytes == 4000);
  CHECK(copy.written_bytes == 2000);
}

TEST_CASE("Without recorded arguments the grid gives the count") {
  const Work add =
      work({.name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                    "at::detail::Array<char*, 3> >(int)",
            .grid = {102400, 1, 1}});
  CHECK(add.shape.get(Key::kElements) == 102400ll * 128 * 4);  // 52,428,800 = 32768 x 1600: NeuSight's table
}

TEST_CASE("Unrolled and strided forms") {
  const Work unrolled = work(
      {.name = "void at::native::unrolled_elementwise_kernel<at::native::AbsFunctor<float>, std::array<char*, 2ul>, "
               "4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, "
               "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)",
       .scalars = {{0, 4, 100}}});
  CHECK(unrolled.family == Family::kElementwise);
  CHECK(unrolled.read_bytes + unrolled.written_bytes == 100 * (2 + 4));  // casts: one side is taken to have 16 bits
  const Work strided =
      work({.name = "void at::native::elementwise_kernel<128, 4, "
                    "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::Half> "
                    ">(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::Half> const&)::{lambda(int)#1}>(int)",
            .scalars = {{0, 4, 100}}});
  CHECK(strided.type == DataType::kFloat16);
  // One of two inputs is broadcast (a bias, a mask): it comes from the cache.
  CHECK(strided.read_bytes == 200);
  CHECK(strided.written_bytes == 200);
  CHECK(strided.shape.get(Key::kImplementation) == static_cast<int64_t>(Implementation::kBroadcast));
  // A copy has one input: it is a transposition.
  const Work copied =
      work({.name = "void at::native::elementwise_kernel<128, 4, "
                    "at::native::gpu_kernel_impl_nocast<at::native::AbsFunctor<float> "
                    ">(at::TensorIteratorBase&, at::native::AbsFunctor<float> const&)::{lambda(int)#1}>(int)",
            .scalars = {{0, 4, 100}}});
  CHECK(copied.read_bytes == 400);
  CHECK(copied.shape.get(Key::kImplementation) == static_cast<int64_t>(Implementation::kStrided));
}

TEST_CASE("Softmax: rows from batch or blocks, row length from its integer") {
  const Work warp = work(
      {.name =
           "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false, "
           "32>(c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
       .grid = {2048, 1, 1},
       .block = {32, 4, 1},
       .scalars = {{16, 4, 8192}, {20, 4, 1000}, {24, 4, 1000}}});
  CHECK(warp.family == Family::kSoftmax);
  CHECK(warp.read_bytes == 2.0 * 8192 * 1000);
  const Work block = work(
      {.name = "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, c10::BFloat16, float, float, "
               "at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float "
               "const*, long)",
       .grid = {8192, 1, 1},
       .block = {1024, 1, 1},
       .scalars = {{24, 8, 50304}}});
  CHECK(block.shape.get(Key::kRows) == 8192);
  CHECK(block.shape.get(Key::kColumns) == 50304);
  CHECK(block.read_bytes == 2 * 4.0 * 8192 * 50304);
  CHECK(block.written_bytes == 2.0 * 8192 * 50304);
  CHECK(block.shape.get(Key::kDirection) == 1);
}

TEST_CASE("Layer norm, forward and both halves of backward") {
  const Work forward =
      work({.name = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
                    "false>(int, float, c10::BFloat16 const*)",
            .grid = {8192, 1, 1},
            .scalars = {{0, 4, 768}}});
  CHECK(forward.family == Family::kNormalization);
  CHECK(forward.read_bytes == 2.0 * 8192 * 768 + 2 * 2.0 * 768);      // the input, and both weights
  CHECK(forward.written_bytes == 2.0 * 8192 * 768 + 2 * 4.0 * 8192);  // mean and deviation of each row
  const Work input =
      work({.name = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float, "
                    "false>(float const*, float const*, float const*, float const*, float const*, float*, int)",
            .grid = {8192, 1, 1},
            .scalars = {{48, 4, 768}}});
  CHECK(input.read_bytes == 2 * 4.0 * 8192 * 768 + 4.0 * 768 + 2 * 4.0 * 8192);
  CHECK(input.written_bytes == 4.0 * 8192 * 768);
  const Work weights = work(
      {.name = "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::Half, float, 32u, "
               "1u, 32u, true, true, true>(long, long, c10::Half const*)",
       .grid = {24, 1, 1},
       .scalars = {{0, 8, 8192}, {8, 8, 768}}});
  CHECK(weights.read_bytes == 2 * 2.0 * 8192 * 768);
}

TEST_CASE("Reductions: the two recorded counts of the configuration") {
  const Work sum = work({.name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, F, "
                                 "unsigned int, float, 4, 4> >(P)",
                         .grid = {24, 1, 1},
                         .scalars = {{12, 4, 8192}, {16, 4, 768}}});
  CHECK(sum.family == Family::kReduction);
  CHECK(sum.read_bytes == 2.0 * 8192 * 768);
  CHECK(sum.written_bytes == 4.0 * 768);  // the fourth argument: sums are given as float
  CHECK_FALSE(sum.guessed);
  CHECK(
      work(
          {.name =
               "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, F, unsigned int, float, 4, 4> >(P)"})
          .guessed);
}

TEST_CASE("Embedding forward and backward") {
  const Work gather =
      work({.name = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, "
                    "long, bool)",
            .grid = {8192, 1, 1},
            .scalars = {{24, 4, 8192}, {32, 8, 1536}, {40, 8, 50304}}});
  CHECK(gather.family == Family::kEmbedding);
  CHECK(gather.read_bytes == 8192.0 * 1536 + 8192 * 8.0);  // and the indices
  const Work backward = work(
      {.name = "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long "
               "const*, float const*, float*, int, long, int)",
       .grid = {24, 1, 1},
       .scalars = {{24, 4, 8192}, {32, 8, 768}, {40, 4, 0}}});
  CHECK(backward.read_bytes == 2 * 4.0 * 8192 * 768 + 8192 * 8.0);
  CHECK(backward.written_bytes == 4.0 * 8192 * 768);
}

TEST_CASE("Multi-tensor apply: a block is a chunk of 65,536 elements") {
  const Work adam =
      work({.name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
                    "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(P)",
            .grid = {320, 1, 1},
            .block = {512, 1, 1}});
  CHECK(adam.family == Family::kOptimizer);
  CHECK(adam.read_bytes == 4 * 4.0 * 320 * 65536);
  CHECK(adam.written_bytes == 3 * 4.0 * 320 * 65536);
  const Work norm = work(
      {.name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
               "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, "
               "(at::native::NormType)1, float, 1, 1, 0>, float*, int>(P)",
       .grid = {10, 1, 1},
       .block = {512, 1, 1}});
  CHECK(norm.read_bytes == 2.0 * 10 * 65536);
  CHECK(norm.written_bytes == 0);
}

TEST_CASE("FlashAttention: shape from traits and grid") {
  // GPT-2 small, batch 8, 1024 tokens: 12 heads of 64; query tiles of 128.
  const Work forward = work(
      {.name = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
               "cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, "
               "false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
       .grid = {8, 8, 12}});
  CHECK(forward.family == Family::kAttention);
  CHECK(forward.type == DataType::kBfloat16);
  CHECK(forward.flops == 4.0 * 8 * 12 * 64 * 1024 * 1024 / 2);  // causal
  CHECK(forward.shape.get(Key::kSeqQ) == 1024);
  CHECK(forward.shape.get(Key::kHeadDim) == 64);
  CHECK_FALSE(forward.guessed);
  const Work backward = work(
      {.name = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, "
               "128, 8, 4, 4, 4, false, false, cutlass::half_t, Flash_kernel_traits<64, 128, 128, 8, "
               "cutlass::half_t> >, false, false, false, false, true, true, false>(pytorch_flash::Flash_bwd_params)",
       .grid = {8, 8, 12}});
  CHECK(backward.flops == 10.0 * 8 * 12 * 64 * 1024 * 1024);
  CHECK(backward.type == DataType::kFloat16);
  const Work dot = work(
      {.name = "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, "
               "false, false, cutlass::half_t, Flash_kernel_traits<64, 128, 128, 8, cutlass::half_t> > >(P)",
       .grid = {8, 8, 12}});
  CHECK(dot.family == Family::kElementwise);
  CHECK(dot.read_bytes == 2 * 2.0 * 8 * 12 * 1024 * 64);
}

TEST_CASE("Triton: the offset of the first count tells how many tensors there are") {
  const Work pointwise =
      work({.name = "triton_poi_fused_add_mul_0", .grid = {1024, 1, 1}, .scalars = {{24, 4, 1 << 20}}});
  CHECK(pointwise.family == Family::kElementwise);
  CHECK(pointwise.shape.get(Key::kElements) == 1 << 20);
  CHECK(pointwise.read_bytes == 2 * pointwise.written_bytes);  // three pointers: two read, one written
  CHECK_FALSE(pointwise.guessed);
  const Work reduction = work(
      {.name = "triton_red_fused_native_layer_norm_1", .grid = {8192, 1, 1}, .scalars = {{32, 4, 8192}, {36, 4, 768}}});
  CHECK(reduction.family == Family::kNormalization);
  CHECK(reduction.shape.get(Key::kElements) == 8192 * 768);
  CHECK(work({.name = "triton_poi_fused_embedding_0"}).family == Family::kEmbedding);
  CHECK(work({.name = "triton_poi_fused_add_0"}).guessed);
}

TEST_CASE("XLA: elements from grid, block and unrolling, tensors from the number of pointers") {
  // Launches that JAX 0.10.2 made: w - 0.1 * g over 1024 x 1024 float32, three pointers, 2048 blocks of 128.
  const Work subtract = work({.name = "loop_subtract_fusion", .grid = {2048, 1, 1}, .parameters = 3});
  CHECK(subtract.family == Family::kElementwise);
  CHECK(subtract.shape.get(Key::kElements) == 1024 * 1024);
  CHECK(subtract.read_bytes == 2 * 4.0 * 1024 * 1024);
  CHECK(subtract.written_bytes == 4.0 * 1024 * 1024);
  CHECK_FALSE(subtract.guessed);
  // 8 x 1024 float32 by 8192 threads: not unrolled.
  const Work add = work({.name = "loop_add_fusion", .grid = {64, 1, 1}, .parameters = 2});
  CHECK(add.shape.get(Key::kElements) == 8 * 1024);
  // Sizes are a rule, not recorded: analytic, from a quarter to four times the median.
  const Estimate estimated = estimate(*device::find_builtin_profile("h100-sxm"), subtract);
  CHECK(estimated.provenance == Provenance::kAnalytic);
  CHECK(estimated.high_ns == Approx(4 * estimated.median_ns));

  CHECK(work({.name = "wrapped_broadcast", .parameters = 2}).read_bytes == 0);
  const Work concatenate = work({.name = "wrapped_concatenate", .grid = {1024, 1, 1}, .parameters = 32});
  CHECK(concatenate.read_bytes == concatenate.written_bytes);
  CHECK(work({.name = "input_reduce_fusion_3", .parameters = 2}).family == Family::kReduction);
  CHECK(work({.name = "triton_softmax_5_0", .parameters = 2}).family == Family::kSoftmax);
  CHECK(work({.name = "gemm_fusion_dot_general_8", .parameters = 3}).family == Family::kGemm);
  CHECK_FALSE(work({.name = "void stream_executor::gpu::xla_fp_comparison<float>(float*, float*, float, unsigned long, "
                            "int*)"})
                  .guessed);
  CHECK(work({.name = "my::some_fusion_kernel(int)"}).family == Family::kUnknown);
}

TEST_CASE("Unknown kernels are bounded by their grid and say so") {
  const Work unknown = work({.name = "my_kernel", .grid = {100, 2, 1}, .block = {256, 1, 1}});
  CHECK(unknown.family == Family::kUnknown);
  CHECK(unknown.guessed);
  CHECK(unknown.read_bytes == 32.0 * 100 * 2 * 256);
  CHECK(estimate(*device::find_builtin_profile("h100-sxm"), unknown).provenance == Provenance::kUnknown);
}

TEST_CASE("A demangled name that is passed in is used, a mangled one is demangled") {
  LaunchView launch;
  launch.mangled_name = "_ZN2at6native3fooEi";
  CHECK(work_of(launch).family == Family::kUnknown);
  CHECK(work_of(launch, "triton_poi_fused_0").family == Family::kElementwise);
}

}  // namespace
}  // namespace maya
