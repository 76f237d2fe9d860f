#include "predictor/training/sources/neusight.h"

#include <catch2/catch.hpp>

#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

constexpr char kProductHeader[] = "OPName,Latency,Device,Kernel Name,Grid x,Kernels,B,M,N,K\n";
constexpr char kRowHeader[] = "OPName,Latency,Device,Kernel Name,Grid x,B,H,large\n";

TEST_CASE("A linear layer's inner size is N and its features are K; host time is taken off") {
  const Measurement measurement =
      only("linear.csv", std::string(kProductHeader) + "linear,1.041,NVIDIA A100-PCIE-40GB,k,1,;k,2,1024,2560,512\n",
           "a100-pcie-40");
  CHECK(measurement.record.get(Key::kM) == 512);
  CHECK(measurement.record.get(Key::kN) == 2048);
  CHECK(measurement.record.get(Key::kK) == 2560);
  CHECK(measurement.record.get(Key::kTransA) == 1);
  CHECK(measurement.record.get(Key::kBatch) == 1);
  CHECK(measurement.record.get(Key::kTypeA) == static_cast<int64_t>(DataType::kFloat32));
  CHECK(measurement.record.get(Key::kComputeType) == static_cast<int64_t>(DataType::kFloat32));
  CHECK(measurement.time_ns == Approx(1041000 - 41000));
  CHECK(measurement.kernel.empty());
}

TEST_CASE("A batched product is not transposed") {
  const Measurement measurement = only(
      "bmm.csv", std::string(kProductHeader) + "bmm,0.514,NVIDIA H100 80GB HBM3,k,1,;k,192,96,196,64\n", "h100-sxm");
  CHECK(measurement.record.get(Key::kBatch) == 192);
  CHECK(measurement.record.get(Key::kM) == 64);
  CHECK(measurement.record.get(Key::kN) == 96);
  CHECK(measurement.record.get(Key::kK) == 196);
  CHECK(measurement.record.get(Key::kTransA) == 0);
  CHECK(measurement.time_ns == Approx(514000 - neusight_offset_ns("h100-sxm", "bmm")));
}

TEST_CASE("Rows of elementwise operations, norms and softmax") {
  const ScratchFolder folder;
  const ReadResult result =
      read(folder.write("elem.csv", std::string(kRowHeader) + "add,1,NVIDIA A100 80GB PCIe,k,1,4096,1024,True\n"
                                                              "addu,1,NVIDIA A100 80GB PCIe,k,1,4096,1024,True\n"
                                                              "powu,1,NVIDIA A100 80GB PCIe,k,1,4096,1024,True\n"
                                                              "ln,1,NVIDIA A100 80GB PCIe,k,1,4096,1024,True\n"
                                                              "softmax,1,NVIDIA A100 80GB PCIe,k,1,4096,1024,True\n"
                                                              "add,1,Tesla T4,k,1,4096,1024,True\n"),
           "a100-pcie-80");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 5);
  const auto op = [&](size_t i) { return static_cast<Operator>(result.measurements[i].record.get(Key::kOperator)); };
  CHECK(op(0) == Operator::kAdd);
  CHECK(op(1) == Operator::kScalar);
  CHECK(op(2) == Operator::kPow);
  CHECK(op(3) == Operator::kLayerNorm);
  CHECK(op(4) == Operator::kSoftmax);
  // Two tensors of 4096 x 1024 float32 are read, one is written; with a number as the other operand one is read.
  CHECK(maya::training::work_of(result.measurements[0]).read_bytes == 2.0 * 4096 * 1024 * 4);
  CHECK(maya::training::work_of(result.measurements[1]).read_bytes == 1.0 * 4096 * 1024 * 4);
  CHECK(maya::training::work_of(result.measurements[2]).read_bytes == 1.0 * 4096 * 1024 * 4);
  CHECK(result.measurements[3].record.family == Family::kNormalization);
  CHECK(result.measurements[4].record.family == Family::kSoftmax);
}

TEST_CASE("Convolutions") {
  const Measurement measurement =
      only("A100.csv",
           "OPName,Latency,Device,Kernel Name,Grid x,Kernels,B,Input_Channel,Output_Channel,"
           "Kernel_Szie,Input_Size,Stride,Padding\n"
           "conv,0.966,NVIDIA A100 80GB PCIe,k,30,;k,38,893,326,3,5,1,1\n",
           "a100-pcie-80");
  CHECK(measurement.record.family == Family::kConvolution);
  CHECK(measurement.record.get(Key::kBatch) == 38);
  CHECK(measurement.record.get(Key::kChannels) == 893);
  CHECK(measurement.record.get(Key::kFilters) == 326);
  CHECK(measurement.record.get(Key::kFilterHeight) == 3);
  CHECK(measurement.record.get(Key::kHeight) == 5);
  CHECK(measurement.record.get(Key::kPad) == 1);
}

TEST_CASE("Latencies that are all host time are left out; bad ones are refused") {
  const ScratchFolder folder;
  const ReadResult result =
      read(folder.write("elem.csv", std::string(kRowHeader) + "add,0.0268,NVIDIA A100-PCIE-40GB,k,1,127,168,True\n"
                                                              "add,-1,NVIDIA A100-PCIE-40GB,k,1,127,168,True\n"
                                                              "add,nan,NVIDIA A100-PCIE-40GB,k,1,127,168,True\n"
                                                              "add,1,NVIDIA A100-PCIE-40GB,k,1,many,168,True\n"),
           "a100-pcie-40");
  REQUIRE(result.ok);
  CHECK(result.measurements.empty());
  CHECK(result.report.text().find("neusight: left out 1 row: latencies that are all host time") != std::string::npos);
  CHECK(result.report.rows_refused() == 3);
}

TEST_CASE("Host time is known for what NeuSight measured, and nothing else") {
  CHECK(neusight_offset_ns("a100-pcie-40", "add") == Approx(13400));
  CHECK(neusight_offset_ns("a100-pcie-80", "add") == Approx(13400));
  CHECK(neusight_offset_ns("h100-sxm", "linear") == Approx(31000));
  CHECK(neusight_offset_ns("h100-sxm", "add") == 0);
  CHECK(neusight_offset_ns("a100-pcie-40", "fft") == 0);
}

}  // namespace
}  // namespace maya::training
