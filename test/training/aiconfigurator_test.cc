#include <catch2/catch.hpp>

#include "predictor/training/sources/aiconfigurator_gemm.h"
#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

TEST_CASE("A product is cuBLAS' call for x times W transposed, with the spread of its software builds") {
  // Sorted 10, 20, 40: p10 = 12, p90 = 36.
  const Measurement measurement =
      only("gemm_bf16_h100_sxm.csv.gz",
           "m,n,k,sglang_0.5.10,trtllm_1.0.0,vllm_0.14.0,median_us,n_meas\n128,256,512,10,40,20,20,3\n", "h100-sxm");
  CHECK(measurement.source == "aiconfigurator");
  CHECK(measurement.record.get(Key::kM) == 256);
  CHECK(measurement.record.get(Key::kN) == 128);
  CHECK(measurement.record.get(Key::kK) == 512);
  CHECK(measurement.record.get(Key::kTransA) == 1);
  CHECK(measurement.record.get(Key::kTransB) == 0);
  CHECK(measurement.record.get(Key::kTypeA) == static_cast<int64_t>(DataType::kBfloat16));
  CHECK(measurement.time_ns == 20000);
  CHECK(measurement.spread == Approx(3));
  CHECK(measurement.repeats == 3);
  CHECK_FALSE(measurement.sustained);
}

TEST_CASE("8-bit products give bfloat16") {
  const Measurement measurement = only("gemm_fp8_l40s.csv.gz", "m,n,k,median_us\n128,256,512,7\n", "l40s");
  CHECK(measurement.record.get(Key::kTypeA) == static_cast<int64_t>(DataType::kFloat8E4m3));
  CHECK(measurement.record.get(Key::kTypeC) == static_cast<int64_t>(DataType::kBfloat16));
  CHECK(measurement.spread == 1);
}

TEST_CASE("The conversion to 8 bits is a start and a cost for each element") {
  // 4096 x 4096 elements at 2 ps: 33.6 us.
  CHECK(fp8_conversion_ns("h100-sxm", 4096, 4096) == Approx(3000 + 4096 * 4096 * 0.002));
  CHECK(fp8_conversion_ns("a100-sxm-80", 4096, 4096) == 0);
}

TEST_CASE("Tables taken at the power limit are sustained") {
  const Measurement measurement = only("gemm_bf16_b200_sxm_sustained_power.csv.gz",
                                       "m,n,k,time_us,power,power_limit\n128,256,512,7,990,1000\n", "b200-sxm");
  CHECK(measurement.sustained);
  CHECK(measurement.time_ns == 7000);
}

TEST_CASE("Empty products are left out, bad cells refused, other devices passed over") {
  const ScratchFolder folder;
  const std::string path =
      folder.write("gemm_fp8_h100_sxm.csv", "m,n,k,median_us\n0,1,1,5\nx,1,1,5\n1,1,1,\n1,1,1,-5\n2,2,2,5\n");
  const ReadResult result = read(path, "h100-sxm");
  REQUIRE(result.ok);
  CHECK(result.measurements.size() == 1);
  CHECK(result.report.rows_refused() == 3);
  CHECK(result.report.text().find("left out 1 row: empty products") != std::string::npos);
  CHECK(read(path, "h200-sxm").measurements.empty());
}

constexpr char kContextHeader[] =
    "framework,version,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,"
    "step,time_us,window_size\n";

TEST_CASE("Causal attention over a cached prefix and a window") {
  const Measurement measurement =
      only("context_attention_h100_sxm.csv",
           std::string(kContextHeader) + "sglang,0.5,fa3,2,1000,32,8,128,bfloat16,bfloat16,24,50,512.0\n", "h100-sxm");
  CHECK(measurement.record.get(Key::kBatch) == 2);
  CHECK(measurement.record.get(Key::kSeqQ) == 1000);
  CHECK(measurement.record.get(Key::kSeqKv) == 1024);
  CHECK(measurement.record.get(Key::kPrefix) == 24);
  CHECK(measurement.record.get(Key::kWindow) == 512);
  CHECK(measurement.record.get(Key::kHeads) == 32);
  CHECK(measurement.record.get(Key::kKvHeads) == 8);
  CHECK(measurement.record.get(Key::kHeadDim) == 128);
  CHECK(measurement.record.get(Key::kCausal) == 1);
  CHECK(measurement.record.get(Key::kDirection) == 0);
  CHECK(measurement.time_ns == 50000);
}

TEST_CASE("FlashAttention of several frameworks is one median; other kernels and 8-bit caches are left out") {
  const ScratchFolder folder;
  const std::string path = folder.write("context_attention_h100_sxm.csv",
                                        std::string(kContextHeader) +
                                            "sglang,0.5,fa3,2,1000,32,8,128,bfloat16,bfloat16,0,50,\n"
                                            "vllm,0.24,vllm_flash_attn_fa3,2,1000,32,8,128,bfloat16,bfloat16,0,60,0.0\n"
                                            "vllm,0.24,vllm_flash_attn_fa3,2,1000,32,8,128,bfloat16,fp8,0,30,0.0\n"
                                            "trtllm,1,torch_flow,2,1000,32,8,128,bfloat16,bfloat16,0,20,0.0\n"
                                            "sglang,0.5,triton,2,1000,32,8,512,bfloat16,bfloat16,0,900,0.0\n");
  const ReadResult result = read(path, "h100-sxm");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 1);
  CHECK(result.measurements[0].time_ns == 55000);
  CHECK(result.measurements[0].repeats == 2);
  CHECK(result.report.text().find("left out 1 row: attention over 8-bit caches") != std::string::npos);
  CHECK(result.report.text().find("left out 2 rows: attention kernels that training programs do not run") !=
        std::string::npos);
}

TEST_CASE("On B200 TensorRT-LLM's kernels stand in where FlashAttention is missing") {
  const ScratchFolder folder;
  const std::string header = "framework,version,kernel_source,batch_size,isl,num_heads,head_dim,attn_dtype,time_us\n";
  const ReadResult result = read(folder.write("encoder_attention_b200_sxm.csv",
                                              header + "trtllm,1,torch_flow,1,100,2,64,bfloat16,4\n"
                                                       "sglang,1,flash_attention_v4,1,100,2,64,bfloat16,6\n"
                                                       "trtllm,1,torch_flow,1,200,2,64,bfloat16,5\n"
                                                       "vllm,1,vllm_flashinfer_trtllmdecode,1,300,2,64,bfloat16,5\n"),
                                 "b200-sxm");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 2);
  CHECK(result.measurements[0].record.get(Key::kSeqQ) == 100);
  CHECK(result.measurements[0].time_ns == 6000);
  CHECK(result.measurements[0].record.get(Key::kCausal) == 0);
  CHECK(result.measurements[0].record.get(Key::kKvHeads) == 2);
  CHECK(result.measurements[1].record.get(Key::kSeqQ) == 200);
}

TEST_CASE("An expert layer is the share of one device") {
  // 64 tokens of 8 experts each are 512 rows; of 4 devices each has 128 rows and 32 of 128 experts, and half of the
  // inner size.
  const std::string header =
      "framework,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
      "distribution,time_us\n";
  const Measurement measurement =
      only("moe_bf16_h200_sxm.csv",
           header +
               "sglang,sglang_fused_moe_triton,bfloat16,64,2048,768,8,128,2,4,balanced,100\n"
               "sglang,sglang_fused_moe_triton,bfloat16,64,2048,768,8,128,2,4,power_law_1.2,200\n"
               "trtllm,moe_torch_flow_cutlass,bfloat16,64,2048,768,8,128,2,4,balanced,50\n",
           "h200-sxm");
  CHECK(measurement.record.family == Family::kGroupedGemm);
  CHECK(measurement.record.get(Key::kOperator) == static_cast<int64_t>(Operator::kMixtureOfExperts));
  CHECK(measurement.record.get(Key::kGroups) == 32);
  CHECK(measurement.record.get(Key::kRows) == 128);
  CHECK(measurement.record.get(Key::kM) == 384);
  CHECK(measurement.record.get(Key::kN) == 4);
  CHECK(measurement.record.get(Key::kK) == 2048);
  CHECK(measurement.record.get(Key::kFlops) == 3 * 2 * 128 * 384 * 2048);
  CHECK(measurement.time_ns == 100000);
}

TEST_CASE("Products of latent attention are batched over heads, in milliseconds") {
  const ScratchFolder folder;
  const ReadResult result =
      read(folder.write("mla_bmm_h100_sxm.csv",
                        "framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n"
                        "SGLang,0.5,NVIDIA H100 80GB HBM3,mla_gen_pre,default,bfloat16,1024,16,0.02\n"
                        "SGLang,0.5,NVIDIA H100 80GB HBM3,mla_gen_post,default,bfloat16,1024,16,0.03\n"),
           "h100-sxm");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 2);
  const OperationRecord& before = result.measurements[0].record;
  CHECK(before.get(Key::kBatch) == 16);
  CHECK(before.get(Key::kM) == 512);
  CHECK(before.get(Key::kN) == 1024);
  CHECK(before.get(Key::kK) == 128);
  CHECK(before.get(Key::kTransA) == 0);
  CHECK(result.measurements[0].time_ns == Approx(20000));
  CHECK(result.measurements[1].record.get(Key::kM) == 128);
  CHECK(result.measurements[1].record.get(Key::kK) == 512);
}

}  // namespace
}  // namespace maya::training
