// Kernels of PyTorch 2.15 by family, with arguments as the shim records them, and kernels of public profiler traces,
// which come without arguments. Names as they demangle, parameter lists left out where they tell nothing.
#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

struct Case {
  std::string_view name;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {128, 1, 1};
  std::vector<LaunchView::Scalar> scalars = {};
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
  return work_of(launch);
}

Operator operator_of(const Work& work) { return static_cast<Operator>(work.shape.get(Key::kOperator)); }

OperationRecord rows_record(Family family, Operator op, DataType type, int64_t rows, int64_t columns, bool backward) {
  OperationRecord record(family, "");
  record.set(Key::kOperator, static_cast<int64_t>(op))
      .set(Key::kDataType, static_cast<int64_t>(type))
      .set(Key::kRows, rows)
      .set(Key::kColumns, columns)
      .set(Key::kDirection, backward ? 1 : 0);
  return record;
}

void check_same(const Work& launch, const OperationRecord& record) {
  const Work operation = work_of(record);
  CHECK(launch.family == operation.family);
  CHECK(launch.type == operation.type);
  CHECK(launch.read_bytes == operation.read_bytes);
  CHECK(launch.written_bytes == operation.written_bytes);
  CHECK(launch.flops == operation.flops);
  CHECK(launch.shape.get(Key::kOperator) == record.get(Key::kOperator));
  CHECK(launch.shape.get(Key::kDirection) == record.get(Key::kDirection));
}

TEST_CASE("A launch and the same operation given by rows and columns are the same work") {
  check_same(work({.name = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
                           "false>(int, float, c10::BFloat16 const*)",
                   .grid = {8192, 1, 1},
                   .scalars = {{0, 4, 768}}}),
             rows_record(Family::kNormalization, Operator::kLayerNorm, DataType::kBfloat16, 8192, 768, false));
  check_same(work({.name = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
                           "true>(int, float, c10::BFloat16 const*)",
                   .grid = {512, 1, 1},
                   .scalars = {{0, 4, 1024}}}),
             rows_record(Family::kNormalization, Operator::kRmsNorm, DataType::kBfloat16, 512, 1024, false));
  check_same(work({.name = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, "
                           "float, false>(float const*, float const*, float const*, float const*, float const*, "
                           "float*, int)",
                   .grid = {8192, 1, 1},
                   .scalars = {{48, 4, 768}}}),
             rows_record(Family::kNormalization, Operator::kLayerNorm, DataType::kFloat32, 8192, 768, true));
  check_same(work({.name = "void at::native::(anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, "
                           "10, false, false>(c10::Half*, c10::Half const*, int, int, int, bool const*, int, bool)",
                   .grid = {2048, 1, 1},
                   .block = {32, 4, 1},
                   .scalars = {{16, 4, 8192}, {20, 4, 1000}, {24, 4, 1000}}}),
             rows_record(Family::kSoftmax, Operator::kSoftmax, DataType::kFloat16, 8192, 1000, false));
  check_same(work({.name = "void at::native::(anonymous namespace)::cunn_SpatialSoftMaxBackward<float, float, float, "
                           "int, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(float*, float const*, "
                           "float const*, int, int, int)",
                   .scalars = {{24, 4, 4}, {28, 4, 10}, {32, 4, 64}}}),
             rows_record(Family::kSoftmax, Operator::kLogSoftmax, DataType::kFloat32, 4 * 64, 10, true));
  check_same(work({.name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<"
                           "float, float, float, float>, unsigned int, float, 4, 4> >(P)",
                   .scalars = {{12, 4, 8192}, {16, 4, 768}}}),
             rows_record(Family::kReduction, Operator::kMean, DataType::kFloat32, 768, 8192, false));
  check_same(work({.name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                           "std::array<char*, 3ul>, false>(int, at::native::CUDAFunctor_add<float>, "
                           "std::array<char*, 3ul>)",
                   .scalars = {{0, 4, 1000000}}}),
             rows_record(Family::kElementwise, Operator::kAdd, DataType::kFloat32, 1000, 1000, false));
  check_same(work({.name = "void at::native::vectorized_elementwise_kernel<8, at::native::GeluBackwardCUDAKernelImpl("
                           "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::"
                           "{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}, "
                           "std::array<char*, 3ul>, false>(int)",
                   .scalars = {{0, 4, 25165824}}}),
             rows_record(Family::kElementwise, Operator::kGelu, DataType::kBfloat16, 8192, 3072, true));
}

TEST_CASE("Embedding, by launch and by rows and columns") {
  // 8,192 tokens of 768 float weights: 3,072 bytes each.
  check_same(work({.name = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, "
                           "long, long, bool)",
                   .grid = {8192, 1, 1},
                   .scalars = {{24, 4, 8192}, {32, 8, 3072}, {40, 8, 50304}}}),
             rows_record(Family::kEmbedding, Operator::kNone, DataType::kFloat32, 8192, 768, false));
}

TEST_CASE("A cast to an 8-bit float reads four bytes and writes one") {
  for (const std::string op : {"ConvertFloatToFloat8E5M2Op", "ConvertFloatToFloat8E4M3Op"}) {
    const std::string name = "void at::native::vectorized_elementwise_kernel<8, at::native::" + op +
                             ", std::array<char*, 2ul>, false>(int, at::native::" + op + ", std::array<char*, 2ul>)";
    const Work cast = work({.name = name, .scalars = {{0, 4, 1000}}});
    CHECK(cast.read_bytes == 4000);
    CHECK(cast.written_bytes == 1000);
    CHECK_FALSE(cast.guessed);
  }
}

TEST_CASE("Traffic by operator, worked out by hand") {
  const int64_t bf16 = static_cast<int64_t>(DataType::kBfloat16);
  OperationRecord cross_entropy(Family::kSoftmax, "");
  cross_entropy.set(Key::kOperator, static_cast<int64_t>(Operator::kCrossEntropy));
  cross_entropy.set(Key::kRows, 8192).set(Key::kColumns, 50304).set(Key::kDataType, bf16);
  CHECK(work_of(cross_entropy).read_bytes == 2.0 * 8192 * 50304);  // the logits
  CHECK(work_of(cross_entropy).written_bytes == 0);
  OperationRecord swiglu(Family::kElementwise, "");
  swiglu.set(Key::kOperator, static_cast<int64_t>(Operator::kGatedActivation));
  swiglu.set(Key::kRows, 100).set(Key::kColumns, 200).set(Key::kDataType, bf16).set(Key::kDirection, 1);
  CHECK(work_of(swiglu).read_bytes == 3 * 2.0 * 100 * 200);  // gradient, gate, value
  CHECK(work_of(swiglu).written_bytes == 2 * 2.0 * 100 * 200);
  OperationRecord dropout(Family::kElementwise, "");
  dropout.set(Key::kOperator, static_cast<int64_t>(Operator::kDropout)).set(Key::kElements, 1000);
  dropout.set(Key::kDataType, bf16);
  CHECK(work_of(dropout).read_bytes == 2000);
  CHECK(work_of(dropout).written_bytes == 2000 + 1000);  // a mask of one byte each
  OperationRecord sum(Family::kReduction, "");
  sum.set(Key::kOperator, static_cast<int64_t>(Operator::kSum)).set(Key::kRows, 8).set(Key::kColumns, 1000);
  sum.set(Key::kDataType, bf16);
  CHECK(work_of(sum).read_bytes == 16000);
  CHECK(work_of(sum).written_bytes == 16);
}

TEST_CASE("Functors tell the operation") {
  const auto vectorised = [](std::string functor) {
    const std::string name =
        "void at::native::vectorized_elementwise_kernel<4, " + functor + ", std::array<char*, 2ul>, false>(int)";
    return operator_of(work({.name = name, .scalars = {{0, 4, 100}}}));
  };
  CHECK(vectorised("at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >") ==
        Operator::kScalar);
  CHECK(vectorised("at::native::CUDAFunctorOnSelf_add<float>") == Operator::kScalar);
  CHECK(vectorised("at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()("
                   ") const::{lambda()#2}::operator()() const::{lambda(float)#1}") == Operator::kSilu);
  CHECK(vectorised("at::native::converting_copy_kernel_cuda<float, c10::BFloat16>(at::TensorIteratorBase&)::{lambda("
                   "float)#1}") == Operator::kCopy);
  CHECK(vectorised("at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda("
                   ")#2}::operator()() const::{lambda(float)#1}") == Operator::kTanh);
}

TEST_CASE("Unrolled kernels with casts use the recorded widths") {
  // The residual connection under bfloat16 autocast: float += bfloat16.
  const Work add = work({.name = "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, "
                                 "std::array<char*, 3ul>, 4, TrivialOffsetCalculator<2, unsigned int>, "
                                 "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<2>, "
                                 "at::native::memory::StoreWithCast<1> >(int)",
                         .scalars = {{0, 4, 1000}, {40, 4, 4}, {44, 4, 2}, {52, 4, 4}}});
  CHECK(add.read_bytes == 6000);
  CHECK(add.written_bytes == 4000);
  CHECK(operator_of(add) == Operator::kAdd);
}

TEST_CASE("Strided kernels without arguments: elements of a thread are the second template argument") {
  const Work copy = work({.name = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                                  "at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, "
                                  "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int)",
                          .grid = {12000, 1, 1}});
  CHECK(copy.shape.get(Key::kElements) == 12000 * 128 * 2);
}

TEST_CASE("Pooling and up-sampling: batch, channels, height, width") {
  // 32 x 64 x 112 x 112 to 56 x 56, as in ResNet-50's stem.
  const Work forward = work(
      {.name = "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int)",
       .grid = {25088, 1, 1},
       .block = {256, 1, 1},
       .scalars = {{0, 4, 6422528}, {16, 8, 64}, {24, 8, 112}, {32, 8, 112}, {40, 4, 56}, {44, 4, 56}, {48, 4, 3}}});
  CHECK(forward.family == Family::kPooling);
  CHECK(forward.read_bytes == 4.0 * 32 * 64 * 112 * 112);
  CHECK(forward.written_bytes == (4.0 + 8) * 32 * 64 * 56 * 56);  // and the place of each maximum
  CHECK_FALSE(forward.guessed);
  const Work backward =
      work({.name = "void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float, int>(float const*)",
            .scalars = {{16, 4, 32}, {20, 4, 64}, {24, 4, 112}, {28, 4, 112}, {32, 4, 56}, {36, 4, 56}}});
  CHECK(backward.read_bytes == (4.0 + 8) * 32 * 64 * 56 * 56);
  CHECK(backward.written_bytes == 4.0 * 32 * 64 * 112 * 112);
  CHECK(backward.shape.get(Key::kDirection) == 1);
  const Work nearest = work({.name = "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<float, "
                                     "&at::native::nearest_neighbor_compute_source_index>(float const*)",
                             .scalars = {{16, 8, 256}, {24, 8, 7}, {32, 8, 7}, {40, 8, 14}, {48, 8, 14}}});
  CHECK(nearest.read_bytes == 4.0 * 256 * 7 * 7);
  CHECK(nearest.written_bytes == 4.0 * 256 * 14 * 14);
  CHECK(work({.name = "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int)"}).guessed);
}

TEST_CASE("Up-sampling of rows and volumes, of 4 x 6 rows from 32 to 64 or 50 and 2 x 3 volumes from 4 x 6 x 8") {
  const std::string space = "void at::native::(anonymous namespace)::upsample_";
  struct Sampling {
    std::string name;
    std::vector<uint64_t> sizes;
    uint32_t blocks;
    double read, written;  // elements
  };
  const double volume = 4 * 6 * 8, large_volume = 8 * volume;
  const Sampling cases[] = {
      {"nearest1d_out_frame<float>(float const*)", {4, 6, 32, 64}, 1, 4 * 6 * 32, 4 * 6 * 64},
      {"nearest1d_backward_out_frame<float, float>(float const*)", {4, 6, 64, 32}, 1, 4 * 6 * 64, 4 * 6 * 32},
      {"nearest3d_out_frame<float>(float const*)", {2, 3, 4, 6, 8, 8, 12, 16}, 9, 6 * volume, 6 * large_volume},
      {"nearest3d_backward_out_frame<float>(float*)", {2, 3, 8, 12, 16, 4, 6, 8}, 2, 6 * large_volume, 6 * volume},
      // 1,200 elements in three blocks of 512
      {"linear1d_out_frame_unrolled<float, float>(float)", {4, 6, 32}, 3, 4 * 6 * 32, 3 * 512},
      {"linear1d_out_frame_backward_unrolled<float, float>(float)", {4, 6, 32}, 3, 3 * 512, 4 * 6 * 32},
      {"trilinear3d_out_frame<float, float>(int)", {1536, 2, 3, 4, 6, 8}, 3, 6 * volume, 6 * 1536},
      {"trilinear3d_backward_out_frame<float, float>(int)", {1536, 2, 3, 4, 6, 8}, 6, 6 * 1536, 6 * volume},
  };
  for (const Sampling& one : cases) {
    INFO(one.name);
    const std::string name = space + one.name;
    Case recorded{.name = name, .grid = {one.blocks, 1, 1}, .block = {512, 1, 1}};
    for (const uint64_t size : one.sizes)
      recorded.scalars.push_back({static_cast<uint16_t>(8 * recorded.scalars.size()), 8, size});
    const Work made = work(recorded);
    CHECK(made.read_bytes == 4 * one.read);
    CHECK(made.written_bytes == 4 * one.written);
    CHECK_FALSE(made.guessed);
  }
}

TEST_CASE("index_add reads the source and what it adds to, and writes as much") {
  const Work made = work({.name = "void at::native::indexFuncLargeIndex<float, long, unsigned int, 2, 2, -2, false, "
                                  "at::native::(anonymous namespace)::ReduceAdd>(at::cuda::detail::TensorInfo<float, "
                                  "unsigned int>)",
                          .grid = {118, 1, 1},
                          .block = {128, 1, 1},
                          .scalars = {{0, 4, 1}, {4, 4, 1}, {8, 4, 15000}, {12, 4, 300}, {16, 8, 16}, {24, 8, 800}}});
  CHECK(made.family == Family::kIndex);
  CHECK(made.read_bytes == 4.0 * 2 * 15000);
  CHECK(made.written_bytes == 4.0 * 15000);
  CHECK_FALSE(made.guessed);
}

TEST_CASE("Group norm's passes") {
  // 32 images of 512 channels and 7 x 7 pixels in 32 groups: 1,024 groups of 784 elements.
  const Work moments = work({.name = "void at::native::(anonymous namespace)::RowwiseMomentsContiguousCUDAKernel<4, "
                                     "float, float>(long, float, float const*)",
                             .grid = {1024, 1, 1},
                             .scalars = {{0, 8, 784}}});
  CHECK(moments.family == Family::kNormalization);
  CHECK(operator_of(moments) == Operator::kGroupNorm);
  CHECK(moments.read_bytes == 4.0 * 32 * 512 * 7 * 7);
  CHECK(moments.written_bytes == 0);
  const Work gradients = work({.name = "void at::native::(anonymous namespace)::"
                                       "ComputeInternalGradientsContiguousCUDAKernel<1, float>(long, float const*)",
                               .grid = {16384, 1, 1},
                               .scalars = {{0, 8, 49}}});
  CHECK(gradients.read_bytes == 2 * 4.0 * 32 * 512 * 7 * 7);
}

TEST_CASE("Depthwise convolution: arguments give the shape") {
  const Work forward = work(
      {.name = "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(A)",
       .grid = {784, 1, 1},
       .scalars = {{140, 4, 802816}, {144, 4, 512}, {148, 4, 1}, {152, 4, 7}, {156, 4, 7}, {160, 4, 7}, {164, 4, 7}}});
  CHECK(forward.family == Family::kConvolution);
  CHECK(forward.flops == 2.0 * 32 * 7 * 7 * 512 * 3 * 3);
  CHECK_FALSE(forward.guessed);
  const Work filter =
      work({.name = "void at::native::(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float, "
                    "unsigned int>(A)",
            .grid = {4608, 1, 1},
            .scalars = {{120, 4, 32},
                        {124, 4, 512},
                        {128, 4, 512},
                        {132, 4, 1},
                        {136, 4, 7},
                        {140, 4, 7},
                        {144, 4, 7},
                        {148, 4, 7}}});
  CHECK(filter.flops == forward.flops);  // 4,608 = 512 filters of 3 x 3
  CHECK(filter.shape.get(Key::kConvDirection) == 2);
}

TEST_CASE("Sort and scan: the item count among CUB's arguments") {
  const std::string policy =
      "at_cuda_detail::cub::detail::radix::policy_hub<long, at::cuda::cub::detail::OpaqueType<8>, unsigned long "
      "long>::Policy1000";
  const std::string onesweep =
      "void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<" + policy + ", long>(int*)";
  const Work pass = work({.name = onesweep, .scalars = {{64, 4, 8192}, {68, 4, 0}, {72, 4, 8}}});
  CHECK(pass.family == Family::kSort);
  CHECK(pass.read_bytes == (8.0 + 8) * 8192);  // key and value
  CHECK(pass.written_bytes == (8.0 + 8) * 8192);
  CHECK_FALSE(pass.guessed);
  const std::string histogram =
      "void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortHistogramKernel<" + policy + ", long>(long*)";
  CHECK(work({.name = histogram, .scalars = {{16, 8, 8192}, {24, 4, 0}, {28, 4, 16}}}).read_bytes == 8.0 * 8192);
  // A tile state is an address, not a count.
  const Work scan = work({.name = "void at_cuda_detail::cub::detail::scan::DeviceScanKernel<at_cuda_detail::cub::"
                                  "detail::scan::policy_hub<long, long, long, unsigned int, Sum>::Policy1000>(long*)",
                          .scalars = {{16, 8, 104555418401792}, {24, 4, 0}, {48, 4, 8192}}});
  CHECK(scan.read_bytes == 8.0 * 8192);
  const Work top = work({.name = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(T)",
                         .scalars = {{216, 4, 1000}, {220, 4, 5}, {228, 4, 64}}});
  CHECK(top.read_bytes == 4.0 * 1000 * 64);
  CHECK(top.written_bytes == (4.0 + 8) * 5 * 64);
}

TEST_CASE("Embedding backward with sorted indices") {
  const Work sums =
      work({.name = "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(long const*)",
            .grid = {9011, 1, 1},
            .block = {768, 1, 1},
            .scalars = {{24, 8, 8192}, {32, 8, 768}, {64, 8, 768}}});
  CHECK(sums.read_bytes == 4.0 * 8192 * 768 + 8.0 * 8192);
  CHECK(sums.written_bytes == 4.0 * 8192 * 768);
  CHECK(sums.shape.get(Key::kDirection) == 1);
  CHECK_FALSE(sums.guessed);
}

TEST_CASE("Concatenation: recorded lengths, else the grid of the contiguous forms") {
  // Three tensors of 8 x 12 x 1024 x 64 stacked. The result's sizes lie behind its pointer and 3,392 bytes: 64 x (8 + 3
  // x 4
  // + 1) of the inputs and 64 x 32 of their strides.
  const Work stacked =
      work({.name = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::"
                    "OpaqueType<2u>, unsigned int, 4, 64, 64>(A)",
            .grid = {264, 3, 1},
            .block = {512, 1, 1},
            .scalars = {{3432, 4, 0},
                        {3436, 4, 786432},
                        {1032, 4, 6291456},
                        {3400, 4, 3},
                        {3404, 4, 8},
                        {3408, 4, 12},
                        {3412, 4, 65536}}});
  CHECK(stacked.read_bytes == 2.0 * 3 * 6291456);
  CHECK(operator_of(stacked) == Operator::kConcatenate);
  CHECK_FALSE(stacked.guessed);
  // The vectorised form counts vectors of 8 elements: 8 x 128 x 96 of them.
  const Work vectorised = work({.name = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_vectorized<at::"
                                        "native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1, 16, "
                                        "8>(char*)",
                                .grid = {256, 3, 1},
                                .scalars = {{2056, 4, 262144}, {2728, 4, 8}, {2732, 4, 128}, {2736, 4, 96}}});
  CHECK(vectorised.read_bytes == 2.0 * 8 * 128 * 768);
  const Work contiguous = work({.name = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_vectorized<at::"
                                        "native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1, 16, "
                                        "8>(char*)",
                                .grid = {256, 3, 1}});
  CHECK(contiguous.type == DataType::kBfloat16);
  CHECK(contiguous.read_bytes == 16.0 * 128 * 256 * 3);
  CHECK_FALSE(contiguous.guessed);
}

TEST_CASE("bitsandbytes: an optimizer with states of a byte each", "[work]") {
  // 1,024 x 4,096 parameters in blocks of 256: parameter, gradient, and two bytes read; parameter and two bytes
  // written.
  const Work update =
      work({.name = "void kOptimizerStatic8bit2StateBlockwise<float, 0, 256, 1>(float*, float*, unsigned char*, "
                    "unsigned char*, float, float, float, float, float, int, float, float*, float*, float*, float*, "
                    "float, float, bool, int)",
            .grid = {16384, 1, 1},
            .block = {256, 1, 1}});
  CHECK(update.family == Family::kOptimizer);
  CHECK(update.read_bytes == (4 + 4 + 1 + 1) * 4194304.0);
  CHECK(update.written_bytes == (4 + 1 + 1) * 4194304.0);
  CHECK_FALSE(update.guessed);
  // 256 rows of 4,096 half-precision activations made bytes.
  const Work bytes =
      work({.name = "void kInt8VectorQuant<__half, 1024, 0>(__half*, signed char*, float*, float, int, int)",
            .grid = {256, 1, 1},
            .block = {1024, 1, 1},
            .scalars = {{28, 4, 256}, {32, 4, 4096}}});
  CHECK(bytes.read_bytes == 2.0 * 1048576);
  CHECK(bytes.written_bytes == 1048576);
}

TEST_CASE("one thread that looks at a sum costs next to nothing") {
  const Work check =
      work({.name = "at::native::(anonymous namespace)::masked_scatter_size_check(long const*, bool const*, "
                    "long)",
            .block = {1, 1, 1},
            .scalars = {{16, 8, 131072}}});
  CHECK(check.read_bytes + check.written_bytes <= 16);
  CHECK_FALSE(check.guessed);
}

TEST_CASE("Tiled transposes: sides count units of several elements, which lie in squares", "[work]") {
  // PyTorch 2.15, x.T.contiguous() of 4,096 x 512: the arguments as recorded, all of it read and written once.
  const auto transpose = [](const char* arguments, int64_t columns, int64_t rows) {
    return work({.name = "void at::native::(anonymous namespace)::transpose_copy_tiled_kernel<" +
                         std::string(arguments) + ", 4, 32, false>(unsigned int const*, unsigned int*, long, long)",
                 .grid = {4, 32, 1},
                 .block = {8, 32, 1},
                 .scalars = {{16, 8, static_cast<uint64_t>(columns)}, {24, 8, static_cast<uint64_t>(rows)}}});
  };
  const double elements = 4096.0 * 512;
  CHECK(transpose("unsigned int, 4", 128, 1024).read_bytes == elements);      // bool
  CHECK(transpose("unsigned int, 2", 256, 2048).read_bytes == 2 * elements);  // bfloat16
  CHECK(transpose("unsigned int, 1", 512, 4096).read_bytes == 4 * elements);  // float
  CHECK(transpose("unsigned int, 2", 256, 2048).written_bytes == 2 * elements);
  CHECK_FALSE(transpose("unsigned int, 2", 256, 2048).guessed);
}

TEST_CASE("places of elements that are not zero: a thread each", "[work]") {
  // 4 blocks of 256 threads: 1,024 numbers of 8 bytes read, and at least as many written.
  const Work places = work({.name = "void at::native::(anonymous namespace)::write_indices<long>(long*, at::native::"
                                    "(anonymous namespace)::TensorDims<long>, int, long, long*, long)",
                            .grid = {4, 1, 1},
                            .block = {256, 1, 1}});
  CHECK(places.family == Family::kIndex);
  CHECK(places.read_bytes == 8.0 * 1024);
  CHECK(places.written_bytes == 8.0 * 1024);
  CHECK_FALSE(places.guessed);
}

TEST_CASE("Copies around the collectives of sharded models: recorded chunk and row sizes") {
  // A block of FSDP2 on 2 ranks, 196,864 parameters: bfloat16 gradients to a float32 buffer, two chunks of half of
  // them.
  const Work reduced =
      work({.name = "void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(c10::BFloat16**, "
                    "float*, long*, long*, long*, long*, long*, long*, long, long, long)",
            .grid = {193, 2, 1},
            .block = {128, 1, 1},
            .scalars = {{64, 8, 787456}, {72, 8, 393728}, {80, 8, 2}}});
  CHECK(reduced.read_bytes == 2.0 * 196864);
  CHECK(reduced.written_bytes == 4.0 * 196864);
  CHECK(operator_of(reduced) == Operator::kConcatenate);
  CHECK_FALSE(reduced.guessed);
  // Two ranks' shards of 98,432 bfloat16 parameters each, copied out to the parameters.
  const Work gathered =
      work({.name = "at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(char**, char**, "
                    "long*, long*, long*, long, long)",
            .grid = {100, 2, 1},
            .block = {128, 1, 1},
            .scalars = {{40, 8, 196864}, {48, 8, 2}}});
  CHECK(gathered.read_bytes == 2.0 * 196864);
  CHECK(gathered.written_bytes == 2.0 * 196864);
}

TEST_CASE("Attention kernels: recorded fields of their structure") {
  // Memory-efficient attention of 3 x 5 heads of 40, 200 queries on 300 keys.
  const Work forward =
      work({.name = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::"
                    "arch::Sm80, true, 64, 64, 64, true, true>::Params)",
            .grid = {4, 5, 3},
            .scalars = {{96, 4, 40}, {104, 4, 200}, {108, 4, 300}, {116, 1, 0}, {192, 4, 3}, {204, 4, 5}}});
  CHECK(forward.flops == 4.0 * 3 * 5 * 200 * 300 * 40);
  CHECK_FALSE(forward.guessed);
  const Work backward =
      work({.name = "fmha_cutlassB_f32_aligned_64x64_k64_sm80(P)",
            .grid = {4, 5, 3},
            .scalars = {{144, 4, 40}, {152, 4, 200}, {156, 4, 200}, {160, 4, 5}, {168, 1, 1}, {384, 4, 3}}});
  CHECK(backward.flops == 10.0 * 3 * 5 * 200 * 200 / 2 * 40);
  CHECK(work({.name = "fmha_cutlassB_f32_aligned_64x64_k64_sm80(P)", .grid = {4, 5, 3}}).guessed);
  // FlashAttention with 6 heads on 2 key heads.
  const Work grouped = work(
      {.name = "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, "
               "8, 4, 4, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 8, "
               "cutlass::bfloat16_t> >, false, false, false, false, false, false, false>(P)",
       .grid = {3, 3, 6},
       .scalars = {{96, 4, 6}, {100, 4, 2}, {176, 4, 3}, {180, 4, 200}, {184, 4, 300}, {192, 4, 40}}});
  CHECK(grouped.flops == 10.0 * 3 * 6 * 200 * 300 * 40);
  CHECK(grouped.shape.get(Key::kKvHeads) == 2);
}

TEST_CASE("Triton reductions: rows, columns, and which tensors are whole") {
  const Work loss = work(
      {.name = "triton_red_fused__log_softmax_prepare_softmax_online_19", .scalars = {{24, 4, 8192}, {28, 4, 50304}}});
  CHECK(loss.family == Family::kSoftmax);
  CHECK(loss.shape.get(Key::kRows) == 8192);
  CHECK(loss.shape.get(Key::kColumns) == 50304);
  // The logits once, 16 or 32 bits wide.
  CHECK(loss.read_bytes > 2.0 * 8192 * 50304);
  CHECK(loss.read_bytes < 4.0 * 8192 * 50304);
  CHECK(loss.written_bytes < 5.0 * 8192);
  const Work norm = work({.name = "triton_per_fused__to_copy__unsafe_view_add_native_layer_norm_native_layer_norm_"
                                  "backward_13",
                          .scalars = {{56, 4, 8192}, {60, 4, 768}}});
  // Two read, two written: 75.5 MB by the generated source.
  CHECK(norm.read_bytes + norm.written_bytes == Approx(75.5e6).epsilon(0.05));
  CHECK(operator_of(norm) == Operator::kLayerNorm);
}

TEST_CASE("Training libraries: rows of Triton kernels, blockwise quantisation") {
  // Unsloth's RMS norm over 16,384 tokens of 4,096; the last number is epsilon, 1e-6 as a float.
  const Work norm = work({.name = "_rms_layernorm_forward",
                          .grid = {16384, 1, 1},
                          .block = {256, 1, 1},
                          .scalars = {{8, 4, 4096}, {24, 4, 4096}, {48, 4, 4096}, {52, 4, 897988541}}});
  check_same(norm, rows_record(Family::kNormalization, Operator::kRmsNorm, DataType::kBfloat16, 16384, 4096, false));
  const Work rotary = work({.name = "_rope_embedding",
                            .grid = {16384, 8, 1},
                            .scalars = {{8, 4, 4096}, {24, 4, 128}, {40, 4, 128}, {44, 4, 4096}}});
  CHECK(rotary.read_bytes == 2.0 * 16384 * 4096);
  CHECK_FALSE(rotary.guessed);
  // Llama-2 7B's embedding of 131 M weights in NF4 with a factor for each 64.
  const Work wide = work({.name = "void kDequantizeBlockwise<__half, 512, 64, 8, 2>(float*, unsigned char*, float*, "
                                  "__half*, int, int)",
                          .grid = {128000, 1, 1},
                          .block = {64, 1, 1},
                          .scalars = {{32, 4, 32}, {36, 4, 131072000}}});
  CHECK(wide.read_bytes == 131072000 * (0.5 + 4.0 / 64));
  CHECK(wide.written_bytes == 131072000 * 2.0);
  const Work product = work({.name = "void gemm_4bit_sm80_m16n8k16<__nv_bfloat16, 128, 128, 64>(__nv_bfloat16 const*)",
                             .grid = {1, 250, 1},
                             .scalars = {{64, 4, 110}, {68, 4, 32000}, {72, 4, 4096}, {76, 4, 64}}});
  CHECK(product.family == Family::kGemm);
  CHECK(product.flops == 2.0 * 110 * 32000 * 4096);
  CHECK_FALSE(product.guessed);
}

TEST_CASE("Every kernel of public traces has a family") {
  const auto family = [](std::string_view name) { return work({.name = name, .grid = {64, 2, 1}}).family; };
  CHECK(family("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT") == Family::kGemm);
  CHECK(family("volta_sgemm_128x32_nt") == Family::kGemm);
  CHECK(family("sm90_xmma_gemm_bf16f32_bf16f32_f32_nt_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
               "kernel__5x_cublas") == Family::kGemm);
  CHECK(family("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_64x3_tn_align2>(P)") ==
        Family::kGemm);
  CHECK(family("sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
               "warpgroupsize1x1x1_g1_execute_kernel__5x_cudnn") == Family::kConvolution);
  CHECK(family("cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1") == Family::kConvolution);
  CHECK(family("void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)") == Family::kConvolution);
  CHECK(family("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(float)") ==
        Family::kNormalization);
  CHECK(family("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)") == Family::kCollective);
  CHECK(family("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)") == Family::kPointToPoint);
  CHECK(family("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::"
               "CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<128"
               ">, cute::C<128>, cute::C<128> >, 128, cutlass::bfloat16_t> > > >(P)") == Family::kAttention);
  CHECK(family("void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>(A)") ==
        Family::kEmbedding);
  CHECK(family("void dpsk::ep::internode::combine<true>(int4*)") == Family::kCollective);
  CHECK(family("triton__0d1d2d3d4d5d6d") == Family::kElementwise);
  CHECK(family("triton_tem_fused_addmm_0") == Family::kGemm);
  CHECK(family("triton_tem_fused_flex_attention_backward_0") == Family::kAttention);
}

TEST_CASE("Whatever the arguments and however a name ends, work is finite and not negative") {
  constexpr std::string_view kNames[] = {
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(",
      "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*)",
      "void at::native::(anonymous namespace)::conv_depthwise2d_backward_kernel<3, 1, float, int>(A)",
      "void at::native::(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float, unsigned int>(A)",
      "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int)",
      "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 64, 64>(A)",
      "void at::native::(anonymous namespace)::RowwiseMomentsChannelsLastCUDAKernel<float, float>(long)",
      "void flash::compute_attn_ws<T>(P)",
      "void cutlass::device_kernel<flash::FlashAttnFwdSm90<CollectiveMainloop",
      "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<",
      "void vllm::rotary_embedding_kernel<float, float, true>(long const*)",
      "void vllm::reshape_and_cache_kernel<__nv_bfloat16, __nv_bfloat16>(A)",
      "void pytorch_flash::flash_fwd_splitkv_combine_kernel<T<64>, 8, 99>(P)",
      "fmha_cutlassB_f32_aligned_",
      "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<>(int)",
      "triton_red_fused_native_layer_norm_0",
      "_rms_layernorm_backward",
      "void kDequantizeBlockwise<>(A)",
      "kernelPointwiseApply",
  };
  constexpr uint64_t kValues[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, ~uint64_t{0}};
  for (std::string_view name : kNames) {
    for (uint64_t value : kValues) {
      Case launch{.name = name, .grid = {3, 5, 7}};
      for (uint16_t i = 0; i < 8; ++i)
        launch.scalars.push_back({static_cast<uint16_t>(8 * i), static_cast<uint16_t>(i % 2 == 0 ? 8 : 4), value});
      const Work result = work(launch);
      CHECK(result.family != Family::kUnknown);
      CHECK((result.read_bytes >= 0 && result.read_bytes < 1e70));
      CHECK((result.written_bytes >= 0 && result.written_bytes < 1e70));
      CHECK((result.flops >= 0 && result.flops < 1e90));
    }
  }
}

TEST_CASE("cuDNN's layout kernels move 32 x 32 elements a block") {
  // 512 images of 64 channels and 224 x 224 pixels: 1,568 x 2 x 512 blocks.
  const Work transposed = work({.name = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
                                        "(cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>)",
                                .grid = {1568, 2, 512},
                                .block = {256, 1, 1}});
  CHECK(transposed.read_bytes == 4.0 * 512 * 64 * 224 * 224);
  CHECK(transposed.written_bytes == 4.0 * 512 * 64 * 224 * 224);
}

}  // namespace
}  // namespace maya
