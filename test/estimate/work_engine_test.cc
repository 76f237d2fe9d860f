// Kernels of Transformer Engine 2.20, as the shim records a layer of 1,024 features, 4,096 inside its feed-forward
// part, over 2,048 tokens, on an H100 (MXFP8 on a B200). Bytes by hand: each tensor once, bfloat16 2, 8-bit floats 1.
#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

struct Case {
  std::string name;
  uint32_t blocks = 1, threads = 128;
  std::vector<LaunchView::Scalar> scalars = {};
};

Work work(const Case& launch_case) {
  LaunchView launch;
  launch.mangled_name = launch_case.name;
  launch.grid[0] = launch_case.blocks;
  launch.block[0] = launch_case.threads;
  launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
  launch.scalars = launch_case.scalars.data();
  launch.scalar_count = static_cast<uint32_t>(launch_case.scalars.size());
  return work_of(launch);
}

Operator operator_of(const Work& work) { return static_cast<Operator>(work.shape.get(Key::kOperator)); }

// Every case: known family, nothing guessed.
void check(const Work& work, Family family, Operator op, double read_bytes, double written_bytes) {
  CHECK(work.family == family);
  CHECK(operator_of(work) == op);
  CHECK(work.read_bytes == read_bytes);
  CHECK(work.written_bytes == written_bytes);
  CHECK_FALSE(work.guessed);
}

constexpr double kHidden = 2048.0 * 1024, kInner = 2048.0 * 4096;
const std::string kEmpty = "transformer_engine::Empty";

std::string activation(const std::string& name) {
  return "&(float transformer_engine::" + name + "<float, float>(float, " + kEmpty + " const&))";
}

TEST_CASE("Norms: rows and columns of their structure, not the grid", "[engine]") {
  const std::string traits =
      "transformer_engine::normalization::Kernel_traits<__nv_bfloat16, __nv_bfloat16, OUT, float, unsigned int, 1024u, "
      "1u, "
      "4u, 1u, 16u, transformer_engine::normalization::Kernel_traits_base<1024u, __nv_bfloat16, __nv_bfloat16, OUT, "
      "float, "
      "unsigned int, 128u> >";
  const auto norm = [&](const std::string& kernel, std::string out, uint32_t blocks) {
    std::string filled = traits;
    for (size_t at; (at = filled.find("OUT")) != std::string::npos;) filled.replace(at, 3, out);
    const std::string name = "void transformer_engine::normalization::" + kernel + "<" + filled +
                             ">(transformer_engine::"
                             "normalization::KernelParams)";
    return work({name, blocks, 128, {{0, 4, blocks}, {8, 4, 2048}, {12, 4, 1024}}});
  };
  // Weight and bias beside the input, mean and deviation beside the result.
  const double weights = 2 * 1024 * 2, statistics = 2 * 2048 * 4;
  check(norm("ln_fwd_tuned_kernel", "__nv_bfloat16", 792), Family::kNormalization, Operator::kLayerNorm,
        2 * kHidden + weights, 2 * kHidden + statistics);
  check(norm("ln_fwd_general_kernel", "__nv_fp8_e4m3", 660), Family::kNormalization, Operator::kLayerNorm,
        2 * kHidden + weights, kHidden + statistics);
  // Gradient, input, one weight, statistics; the input's gradient, and two rows of 32-bit sums for each of 264 blocks.
  const Work backward = norm("ln_bwd_tuned_kernel", "__nv_bfloat16", 264);
  check(backward, Family::kNormalization, Operator::kLayerNorm, 4 * kHidden + weights / 2 + statistics,
        2 * kHidden + 2 * 264 * 1024 * 4);
  CHECK(backward.shape.get(Key::kDirection) == 1);
  check(norm("rmsnorm_fwd_tuned_kernel", "__nv_bfloat16", 1056), Family::kNormalization, Operator::kRmsNorm,
        2 * kHidden + weights / 2, 2 * kHidden + statistics / 2);
  check(work({"void transformer_engine::normalization::ln_bwd_finalize_tuned_kernel<transformer_engine::normalization::"
              "Kernel_traits_finalize<1024u, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float> >(transformer_engine::"
              "normalization::BackwardKernelParams)",
              32,
              1024,
              {{0, 4, 264}, {8, 4, 2048}, {12, 4, 1024}}}),
        Family::kReduction, Operator::kSum, 2 * 264 * 1024 * 4, 0);
}

TEST_CASE("Casts: a result, and a transposed one beside it", "[engine]") {
  const std::string pointers =
      "(__nv_bfloat16 const*, float const*, __nv_fp8_e4m3*, __nv_fp8_e4m3*, float const*, float*, "
      "float*, unsigned long, unsigned long)";
  const std::vector<LaunchView::Scalar> sizes = {{56, 8, 1024}, {64, 8, 2048}};
  // Compiled at run time, and before.
  check(work({"cast_transpose_optimized_kernel" + pointers, 512, 128, sizes}), Family::kElementwise, Operator::kCopy,
        2 * kHidden, 2 * kHidden);
  const std::string general =
      "void transformer_engine::detail::(anonymous namespace)::cast_transpose_general_kernel<8ul, "
      "8ul, __nv_bfloat16, __nv_fp8_e4m3>" +
      pointers;
  check(work({general, 512, 128, sizes}), Family::kElementwise, Operator::kCopy, 2 * kHidden, 2 * kHidden);
  check(work({"transpose_optimized_kernel(__nv_fp8_e4m3 const*, float const*, __nv_fp8_e4m3*, unsigned long, unsigned "
              "long)",
              512,
              128,
              {{24, 8, 4096}, {32, 8, 2048}}}),
        Family::kElementwise, Operator::kCopy, kInner, kInner);
  check(
      work({"cast_transpose_fusion_kernel_optimized(transformer_engine::CTDBiasDActParam<__nv_bfloat16, __nv_bfloat16, "
            "__nv_fp8_e5m2, float>, unsigned long, unsigned long, unsigned long)",
            512,
            256,
            {{72, 8, 1024}, {80, 8, 2048}, {88, 8, 512}}}),
      Family::kElementwise, Operator::kCopy, 2 * kHidden, 2 * kHidden);
  // With the gradient of an activation, whose input is read too.
  const Work gradient = work(
      {"void transformer_engine::detail::cast_transpose_fused_kernel_notaligned<true, true, false, float, transformer_"
       "engine::CTDBiasDActParam<__nv_bfloat16, __nv_bfloat16, __nv_fp8_e5m2, float>, 2, 4, "
       "transformer_engine::Empty, " +
           activation("dgelu") +
           ">(transformer_engine::CTDBiasDActParam<__nv_bfloat16, __nv_bfloat16, __nv_fp8_e5m2, float>, unsigned long, "
           "unsigned long, unsigned long)",
       512,
       256,
       {{72, 8, 4096}, {80, 8, 2048}, {88, 8, 512}}});
  check(gradient, Family::kElementwise, Operator::kGelu, 4 * kInner, 2 * kInner);
  CHECK(gradient.shape.get(Key::kDirection) == 1);
  check(work({"void transformer_engine::(anonymous namespace)::block_scaled_cast_transpose_kernel<true, float, "
              "__nv_bfloat16, "
              "__nv_fp8_e4m3>(__nv_bfloat16 const*, __nv_fp8_e4m3*, __nv_fp8_e4m3*, float*, float*, unsigned long, "
              "unsigned "
              "long, unsigned long, unsigned long, unsigned long, unsigned long, float, CUtensorMap_st, bool, float "
              "const*)",
              192,
              256,
              {{40, 8, 1024}, {48, 8, 3072}, {56, 8, 1}, {64, 8, 8}, {72, 8, 1}, {80, 8, 24}}}),
        Family::kElementwise, Operator::kCopy, 2.0 * 3072 * 1024, 2.0 * 3072 * 1024);
}

TEST_CASE("Activations and their gradients, gated ones too", "[engine]") {
  const std::string pointwise = "(__nv_bfloat16 const*, float const*, __nv_fp8_e4m3*, float const*, float*, float*, " +
                                kEmpty + ", unsigned long, unsigned long)";
  const std::vector<LaunchView::Scalar> count = {{56, 8, 8388608}, {64, 8, 524288}};
  check(work({"void transformer_engine::unary_kernel<16, true, float, " + kEmpty + ", " + activation("gelu") +
                  ", __nv_bfloat16, __nv_fp8_e4m3>" + pointwise,
              1024, 512, count}),
        Family::kElementwise, Operator::kGelu, 2 * kInner, kInner);
  check(work({"void transformer_engine::unary_kernel<16, true, float, " + kEmpty +
                  ", &transformer_engine::dispatch::fp8::detail::identity, __nv_bfloat16, __nv_fp8_e4m3>" + pointwise,
              1024, 512, count}),
        Family::kElementwise, Operator::kCopy, 2 * kInner, kInner);
  check(work({"void transformer_engine::unary_grad_kernel<16, true, float, " + kEmpty + ", " + activation("dgelu") +
                  ", __nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(__nv_bfloat16 const*, __nv_bfloat16 const*, "
                  "__nv_bfloat16*, "
                  "float const*, float*, float*, " +
                  kEmpty + ", unsigned long, unsigned long)",
              1024, 512, count}),
        Family::kElementwise, Operator::kGelu, 4 * kInner, 2 * kInner);
  // 2,048 rows of 4,096 results from twice as many inputs.
  check(work({"void transformer_engine::gated_act_kernel<16, true, float, " + kEmpty + ", " + activation("silu") +
                  ", __nv_bfloat16, __nv_bfloat16>(__nv_bfloat16 const*, __nv_bfloat16*, float const*, float*, float*, "
                  "unsigned long, unsigned long, " +
                  kEmpty + ", unsigned long)",
              1024,
              512,
              {{40, 8, 2048}, {48, 8, 4096}, {64, 8, 256}}}),
        Family::kElementwise, Operator::kGatedActivation, 4 * kInner, 2 * kInner);
  check(work({"void transformer_engine::dgated_act_kernel<16, true, float, " + kEmpty + ", " + activation("silu") +
                  ", " + activation("dsilu") +
                  ", __nv_bfloat16, __nv_bfloat16>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, float "
                  "const*, "
                  "float*, float*, unsigned long, unsigned long, " +
                  kEmpty + ", unsigned long)",
              1024,
              512,
              {{48, 8, 2048}, {56, 8, 4096}, {72, 8, 256}}}),
        Family::kElementwise, Operator::kGatedActivation, 6 * kInner, 4 * kInner);
}

TEST_CASE("MXFP8: a factor of a byte for 32 elements, along rows and columns", "[engine]") {
  const double both = 2 * (1 + 1.0 / 32);
  const std::string maps =
      "(CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, unsigned char*, unsigned char*, "
      "float const*, float*, float*, unsigned long, unsigned long, unsigned long, unsigned long)";
  const std::vector<LaunchView::Scalar> sizes = {{568, 8, 2048}, {576, 8, 4096}, {584, 8, 128}, {592, 8, 4096}};
  const auto quantize = [&](const std::string& flags, const std::string& op, const std::string& sides) {
    return work({"void transformer_engine::dispatch::mxfp8::quantize_kernel::quantize_mxfp8_kernel<" + flags + ", " +
                     kEmpty + ", " + op + ", __nv_bfloat16, __nv_fp8_e4m3, " + sides +
                     ", true, 64ul, 64ul, 64ul, false>" + maps,
                 2048, 64, sizes});
  };
  const std::string none = "(float (*)(float, " + kEmpty + " const&))0";
  check(quantize("true, false, false", none, "true, true"), Family::kElementwise, Operator::kCopy, 2 * kInner,
        both * kInner);
  check(quantize("false, false, false", none, "true, false"), Family::kElementwise, Operator::kCopy, 2 * kInner,
        both / 2 * kInner);
  check(quantize("false, false, true", activation("gelu"), "true, true"), Family::kElementwise, Operator::kGelu,
        2 * kInner, both * kInner);
  check(quantize("true, true, false", activation("dgelu"), "true, true"), Family::kElementwise, Operator::kGelu,
        4 * kInner, both * kInner);
  const std::string cast_only =
      "void transformer_engine::dispatch::mxfp8::quantize_kernel::specialized::quantize_mxfp8_kernel_"
      "cast_only<transformer_engine::dispatch::mxfp8::quantize_kernel::specialized::";
  const std::vector<LaunchView::Scalar> hidden = {{408, 4, 2048}, {412, 4, 1024}, {416, 4, 32}, {420, 4, 1024}};
  check(work({cast_only + "CastTraitsSwizzle<__nv_bfloat16, __nv_fp8_e4m3, 2, 1, 4, true, true>, 0, 0>(CUtensorMap_st)",
              256, 64, hidden}),
        Family::kElementwise, Operator::kCopy, 2 * kHidden, both * kHidden);
  check(work({cast_only + "CastTraits<__nv_bfloat16, __nv_fp8_e4m3, true, false, true>, 0>(__nv_bfloat16*)", 256, 64,
              hidden}),
        Family::kElementwise, Operator::kCopy, 2 * kHidden, both / 2 * kHidden);
}

TEST_CASE("Factors of whole tensors: the maximum reads them, the rest is short", "[engine]") {
  check(work({"void transformer_engine::(anonymous namespace)::amax_kernel<16, true, __nv_bfloat16>(__nv_bfloat16 "
              "const*, float*, "
              "unsigned long, unsigned long, float const*)",
              384,
              512,
              {{16, 8, 3145728}, {24, 8, 196608}}}),
        Family::kReduction, Operator::kMax, 2 * 3145728, 0);
  check(work({"void transformer_engine::detail::reduce_dbias_kernel<4, float, __nv_bfloat16>(__nv_bfloat16*, float "
              "const*, int, "
              "int)",
              2,
              256,
              {{16, 4, 2048}, {20, 4, 16}}}),
        Family::kReduction, Operator::kSum, 4 * 2048 * 16, 0);
  for (const std::string kernel :
       {"(anonymous namespace)::zero_amax_kernel(float*, float const*)",
        "(anonymous namespace)::compute_scale_from_amax_kernel(float const*, float*, float, bool, float, float const*)",
        "delayed_scaling_recipe::(anonymous namespace)::amax_and_scale_update_impl::kernel_bulk(float*)",
        "fused_attn::extract_seed_and_offset(long*, bool, long*, unsigned long, long*, unsigned long, unsigned int)"}) {
    const Work small = work({"transformer_engine::" + kernel, 1, 1});
    CHECK_FALSE(small.guessed);
    CHECK(small.read_bytes + small.written_bytes < 64);
  }
}

TEST_CASE("Rotary embedding and the router of experts", "[engine]") {
  // 512 x 4 tokens, 16 heads of 64.
  check(work({"void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(__nv_bfloat16 const*, int const*, "
              "float const*, int "
              "const*, __nv_bfloat16*, bool, int, int, int, int, int, int, int, int, int, int, int, int, int, int)",
              2048,
              128,
              {{44, 4, 1}, {48, 4, 0}, {52, 4, 512}, {56, 4, 16}, {60, 4, 64}, {64, 4, 64}}}),
        Family::kElementwise, Operator::kRotary, 2 * kHidden, 2 * kHidden);
  // 2,048 tokens and 8 experts.
  const Work router =
      work({"void transformer_engine::fused_router::fused_topk_with_score_function_forward_kernel<float, float, "
            "(NVTERoutingMapFormat)0, (transformer_engine::fused_router::TopkFuncType)1, 2, int, (transformer_engine::"
            "fused_router::QBMode)1>(float const*, int, int, int)",
            256,
            128,
            {{8, 4, 2048}, {12, 4, 8}, {16, 4, 2}}});
  CHECK(router.family == Family::kSoftmax);
  CHECK(router.read_bytes == 4.0 * 2048 * 8);
  CHECK_FALSE(router.guessed);
}

}  // namespace
}  // namespace maya
