#include <catch2/catch.hpp>

#include "predictor/core/operation_columns.h"
#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

constexpr char kKernelHeader[] =
    "gpu,trace,kernel,gx,gy,gz,bx,by,bz,regs,smem,op,input_dims,input_types,n,min_us,median_us,mean_us\n";

TEST_CASE("Kernels of traces are launches; NCCL's and other devices' are left out") {
  const Measurement measurement =
      only("kernels_from_traces.csv",
           std::string(kKernelHeader) +
               "NVIDIA H100 80GB HBM3,t,\"void f<int, 4>(int)\",64,2,1,128,1,1,32,512,,,,9,2.8,3.5,3.6\n"
               "NVIDIA H100 80GB HBM3,t,ncclDevKernel_AllReduce(),24,1,1,512,1,1,96,0,,,,9,90,100,110\n"
               "Tesla V100-SXM2-16GB,t,g(),24,1,1,512,1,1,96,0,,,,9,90,100,110\n",
           "h100-sxm");
  CHECK(measurement.kernel == "void f<int, 4>(int)");
  CHECK(measurement.grid[0] == 64);
  CHECK(measurement.grid[1] == 2);
  CHECK(measurement.block[0] == 128);
  CHECK(measurement.registers == 32);
  CHECK(measurement.shared_bytes == 512);
  CHECK(measurement.repeats == 9);
  CHECK(measurement.time_ns == 3500);
}

TEST_CASE("Rows that are no launch are refused") {
  const ScratchFolder folder;
  const ReadResult result =
      read(folder.write("kernels.csv", std::string(kKernelHeader) + "h100-sxm,t,f,x,2,1,128,1,1,32,0,,,,9,2,3,3\n"
                                                                    "h100-sxm,t,,1,2,1,128,1,1,32,0,,,,9,2,3,3\n"
                                                                    "h100-sxm,t,f,1,2,1,128,1,1,32,0,,,,9,2,0,3\n"),
           "h100-sxm");
  REQUIRE(result.ok);
  CHECK(result.measurements.empty());
  CHECK(result.report.rows_refused() == 3);
}

TEST_CASE("Copies of one kind and size are one median") {
  const ScratchFolder folder;
  const ReadResult result = read(folder.write("memcpy_from_traces.csv",
                                              "trace,gpu,kind,bytes,us\n"
                                              "t,NVIDIA A100-PG509-200,Memcpy HtoD (Pageable -> Device),1048576,200\n"
                                              "t,NVIDIA A100-PG509-200,Memcpy DtoD (Device -> Device),1024,2\n"
                                              "t,NVIDIA A100-PG509-200,Memcpy HtoD (Pageable -> Device),1048576,220\n"
                                              "t,NVIDIA A100-PG509-200,Memcpy PtoP (Device -> Device),1048576,220\n"
                                              "t,NVIDIA A100-PG509-200,Memcpy DtoD (Device -> Device),many,2\n"),
                                 "a100-sxm-40");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 2);
  CHECK(result.measurements[0].record.get(Key::kDirection) == static_cast<int64_t>(CopyKind::kHostToDevicePageable));
  CHECK(result.measurements[0].record.get(Key::kBytes) == 1048576);
  CHECK(result.measurements[0].time_ns == 210000);
  CHECK(result.measurements[1].record.get(Key::kDirection) == static_cast<int64_t>(CopyKind::kDeviceToDevice));
  CHECK(result.report.rows_refused() == 1);
}

}  // namespace
}  // namespace maya::training
