// SimuMax, FlashAttention's charts, Liger's benchmarks and vidur's profiles.
#include <catch2/catch.hpp>

#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

TEST_CASE("SimuMax: a share of the stated peak becomes a time") {
  const ScratchFolder folder;
  // 2 * 4096 * 1536 * 5120 operations at half of 312 TFLOP/s: 64424509440 / 156e12 = 412977.6 ns.
  const ReadResult result = read(folder.write("configs/system/a100_pcie.json",
                                              R"({"accelerator": {"op": {
                     "matmul": {"tflops": 312, "accurate_efficient_factor": {
                       "b=1, m=4096, k=5120, n=1536, layout=TN, accumulate=False, out_dtype=bf16": 0.5,
                       "b=1, m=1536, k=4096, n=5120, layout=NT, accumulate=True, out_dtype=fp32": 0.5,
                       "b=1, m=1536, layout=NT": 0.5,
                       "b=1, m=4096, k=1536, n=5120, layout=NN, accumulate=False, out_dtype=bf16": 0}},
                     "sdp_bwd": {"tflops": 312, "accurate_efficient_factor": {
                       "batch=1, seq_len=4096, head_num=32, kv_head_num=8, qk_head_dim=128, v_head_dim=128, qkv_contiguous=True": 1.0,
                       "batch=1, seq_len=4096, head_num=32, kv_head_num=8, qk_head_dim=192, v_head_dim=128, qkv_contiguous=True": 1.0}},
                     "group_matmul": {"tflops": 312, "accurate_efficient_factor": {
                       "ng=40, M=616, N=3072, K=5120, stage=bwd_grad_act": 0.5,
                       "ng=40, M=616, N=3072, K=5120, stage=bwd_grad_w": 0.5}}}}})"),
                                 "a100-pcie-80");
  INFO(result.error);
  INFO(result.report.text());
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 4);
  // nlohmann's objects are in the order of their keys.
  const Measurement &weights = result.measurements[0], &forward = result.measurements[1];
  CHECK(forward.record.get(Key::kM) == 1536);
  CHECK(forward.record.get(Key::kN) == 4096);
  CHECK(forward.record.get(Key::kTransA) == 1);
  CHECK(forward.record.get(Key::kTransB) == 0);
  CHECK(forward.time_ns == Approx(412977.6));
  CHECK(weights.record.get(Key::kM) == 5120);
  CHECK(weights.record.get(Key::kN) == 1536);
  CHECK(weights.record.get(Key::kTransA) == 0);
  CHECK(weights.record.get(Key::kTransB) == 1);
  CHECK(weights.record.get(Key::kTypeC) == static_cast<int64_t>(DataType::kFloat32));
  CHECK(weights.record.get(Key::kBeta) == 1);
  const Measurement& grouped = result.measurements[2];
  CHECK(grouped.record.get(Key::kGroups) == 40);
  CHECK(grouped.record.get(Key::kRows) == 40 * 616);
  CHECK(grouped.record.get(Key::kM) == 5120);
  CHECK(grouped.record.get(Key::kK) == 3072);
  // Backward: 5 * 32 * 4096^2 * 256 operations, counted without the mask, at 312 TFLOP/s.
  const Measurement& backward = result.measurements[3];
  CHECK(backward.record.get(Key::kDirection) == 1);
  CHECK(backward.record.get(Key::kCausal) == 1);
  CHECK(backward.time_ns == Approx(5.0 * 32 * 4096 * 4096 * 256 / 312e12 * 1e9));
  CHECK(result.report.rows_refused() == 2);
}

TEST_CASE("SimuMax: files that are something else are errors") {
  const ScratchFolder folder;
  CHECK(read(folder.write("configs/system/a100_pcie.json", "{"), "a100-pcie-80")
            .error.ends_with("is not a SimuMax system: expected JSON with accelerator.op"));
  CHECK(read(folder.write("configs/system/b200.json", "{\"accelerator\": 3}"), "b200-sxm")
            .error.ends_with("is not a SimuMax system: expected JSON with accelerator.op"));
}

constexpr char kChartHeader[] = "gpu,mode,causal,head_dim,heads,batch,seqlen,impl,tflops,time_us,source\n";

TEST_CASE("FlashAttention: backward is what is left of forward and backward") {
  const ScratchFolder folder;
  const std::string content = std::string(kChartHeader) +
                              "H100 80GB SXM5,fwd,1,128,16,4,4096,FA2,319,800,png\n"
                              "H100 80GB SXM5,fwd+bwd,1,128,16,4,4096,FA2,294,3200,png\n"
                              "H100 80GB SXM5,fwd,1,128,16,4,4096,FA3,550,500,png\n"
                              "H100 80GB SXM5,fwd,1,128,16,4,4096,Triton,300,900,png\n"
                              "A100 80GB SXM4,fwd+bwd,1,128,16,4,4096,FA2,173,5600,png\n"
                              "A100 80GB SXM4,fwd+bwd,1,64,16,4,4096,FA2,173,5600,png\n";
  const std::string path = folder.write("fa_tflops.csv", content);
  const ReadResult h100 = read(path, "h100-sxm");
  REQUIRE(h100.ok);
  REQUIRE(h100.measurements.size() == 3);
  CHECK(h100.measurements[0].record.get(Key::kDirection) == 0);
  CHECK(h100.measurements[0].record.get(Key::kImplementation) ==
        static_cast<int64_t>(Implementation::kFlashAttention2));
  CHECK(h100.measurements[1].record.get(Key::kDirection) == 1);
  CHECK(h100.measurements[1].time_ns == Approx(2400000));
  CHECK(h100.measurements[2].record.get(Key::kImplementation) == 0);
  CHECK(h100.measurements[2].time_ns == Approx(500000));
  // Forward is a quarter of both on the H100, so on the A100 too; the other head size has no forward time to go by.
  const ReadResult a100 = read(path, "a100-sxm-80");
  REQUIRE(a100.ok);
  REQUIRE(a100.measurements.size() == 1);
  CHECK(a100.measurements[0].time_ns == Approx(4200000));
  CHECK(a100.measurements[0].record.get(Key::kImplementation) == 0);
}

constexpr char kLigerHeader[] =
    "kernel_name,kernel_provider,kernel_operation_mode,metric_name,metric_unit,x_name,x_label,x_value,y_value_50,"
    "y_value_20,y_value_80,extra_benchmark_config_str,gpu_name,timestamp,liger_version\n";

TEST_CASE("Liger: benchmarks of one kernel, with the shape from the settings") {
  const ScratchFolder folder;
  const std::string gpu = ",NVIDIA H100 80GB HBM3,2025,0.6\n";
  const ReadResult result = read(
      folder.write(
          "all_benchmark_data.csv",
          std::string(kLigerHeader) +
              R"(layer_norm,huggingface,forward,speed,ms,N,hidden,8192,0.15,0.15,0.18,"{""M"": 4096, ""dtype"": ""torch.float32""}")" +
              gpu +
              R"(layer_norm,huggingface,full,speed,ms,N,hidden,8192,0.5,0.5,0.5,"{""M"": 4096, ""dtype"": ""torch.float32""}")" +
              gpu +
              R"(layer_norm,liger,forward,memory,MB,N,hidden,8192,100,100,100,"{""M"": 4096, ""dtype"": ""torch.float32""}")" +
              gpu +
              R"(rms_norm,huggingface,forward,speed,ms,H,hidden,8192,0.5,0.5,0.5,"{""M"": 2048, ""dtype"": ""torch.bfloat16""}")" +
              gpu +
              R"(rope,liger,forward,speed,ms,T,seq,4096,0.1,0.1,0.1,"{""dtype"": ""torch.bfloat16"", ""hidden_size"": 8192, ""num_q_heads"": 32, ""num_kv_heads"": 8}")" +
              gpu +
              R"(relu_squared,liger,forward,speed,ms,N,cols,128,0.007,0.007,0.007,"{""M"": 4096, ""dtype"": ""torch.bfloat16""}")" +
              gpu + R"(layer_norm,liger,forward,speed,ms,N,hidden,8192,0.1,0.1,0.1,not json)" + gpu),
      "h100-sxm");
  INFO(result.error);
  INFO(result.report.text());
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 2);
  const Measurement &norm = result.measurements[0], &rotary = result.measurements[1];
  CHECK(norm.source == "liger-torch");
  CHECK(norm.record.get(Key::kRows) == 4096);
  CHECK(norm.record.get(Key::kColumns) == 8192);
  CHECK(norm.record.get(Key::kOperator) == static_cast<int64_t>(Operator::kLayerNorm));
  CHECK(norm.time_ns == Approx(150000));
  CHECK(norm.spread == Approx(1.2));
  CHECK(rotary.source == "liger");
  CHECK(rotary.record.get(Key::kRows) == 4096);
  CHECK(rotary.record.get(Key::kColumns) == 8192 + 2048);  // 8 key heads of 256 beside 32 query heads
  CHECK(result.report.rows_refused() == 1);
  CHECK(result.report.text().find("left out 1 row: times below 20 us") != std::string::npos);
  CHECK(result.report.text().find("left out 2 rows: benchmarks of more than one kernel") != std::string::npos);
}

TEST_CASE("vidur: a layer's operations for one of its workers") {
  const ScratchFolder folder;
  std::string header, row;
  // Medians in milliseconds.
  const std::pair<const char*, const char*> times[] = {
      {"emb", "0.1"},         {"input_layernorm", "0.06"}, {"attn_pre_proj", "0.5"}, {"attn_post_proj", "0.2"},
      {"mlp_up_proj", "0.9"}, {"mlp_down_proj", "0.4"},    {"mlp_act", "0.1"},       {"add", "0.002"}};
  for (const auto& [name, time] : times) {
    header += std::string("time_stats.") + name + ".median,";
    row += std::string(time) + ",";
  }
  header += "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n";
  row += "32,8,4096,14336,128256,True,1024,2\n";
  const std::string path = folder.write("compute/a100/some/model/mlp.csv.gz", header + row);
  const ReadResult result = read(path, "a100-sxm-80");
  INFO(result.error);
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 6);  // not the addition, which is too short, nor the embedding of two workers
  CHECK(result.measurements[0].record.get(Key::kOperator) == static_cast<int64_t>(Operator::kRmsNorm));
  const OperationRecord& queries = result.measurements[1].record;
  CHECK(queries.get(Key::kM) == (16 + 2 * 4) * 128);
  CHECK(queries.get(Key::kN) == 1024);
  CHECK(queries.get(Key::kK) == 4096);
  CHECK(queries.get(Key::kTypeA) == static_cast<int64_t>(DataType::kFloat16));
  CHECK(result.measurements[2].record.get(Key::kK) == 2048);
  CHECK(result.measurements[3].record.get(Key::kM) == 14336);  // gate and up, half of each
  CHECK(result.measurements[4].record.get(Key::kK) == 7168);
  CHECK(result.measurements[5].record.get(Key::kColumns) == 7168);
  CHECK(result.measurements[5].record.get(Key::kOperator) == static_cast<int64_t>(Operator::kGatedActivation));
  CHECK(result.measurements[1].time_ns == Approx(500000));
  CHECK(read(path, "h100-sxm").measurements.empty());
}

TEST_CASE("vidur: an addition is one kernel in gated layers only") {
  const ScratchFolder folder;
  const std::string header =
      "time_stats.emb.median,time_stats.mlp_up_proj.median,time_stats.mlp_act.median,time_stats.add.median,n_head,"
      "n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n";
  const auto additions = [&](const std::string& name, const std::string& row) {
    size_t count = 0;
    for (const Measurement& measurement :
         read(folder.write("compute/h100/" + name + "/mlp.csv.gz", header + row), "h100-sxm").measurements)
      count += measurement.record.get(Key::kOperator) == static_cast<int64_t>(Operator::kAdd) ? 1 : 0;
    return count;
  };
  CHECK(additions("llama", "0.1,0.9,0.1,0.029,32,32,4096,11008,True,4096,1\n") == 1);
  // phi-2: attention + MLP + residual.
  CHECK(additions("phi", "0.1,0.9,0.1,0.038,32,32,2560,10240,False,4096,1\n") == 0);
}

}  // namespace
}  // namespace maya::training
