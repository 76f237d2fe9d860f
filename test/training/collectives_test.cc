#include <catch2/catch.hpp>

#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

TEST_CASE("Collectives of all sources, with nodes and fabric") {
  const ScratchFolder folder;
  const ReadResult result =
      read(folder.write("collectives.csv",
                        "source,gpu,fabric,nodes,gpus,op,dtype,bytes,time_us,nccl,notes,busbw_GBps\n"
                        "a,H100 SXM 80GB,NVSwitch + IB,2,16,all_gather,half,1600,20,,,\n"
                        "a,H100 SXM 80GB,NVSwitch,1,8,all_reduce,int8,1600,20,,,\n"
                        "a,H100 80GB,NVLink pair/PCIe,1,4,all_reduce,half,1600,20,,,\n"
                        "ai-dynamo/aiconfigurator x,H100 SXM 80GB,NVSwitch,1,8,all_reduce,half,1600,20,,,\n"
                        "a,A40 48GB,NVSwitch,1,8,all_reduce,half,1600,20,,,\n"
                        "a,H100 80GB,NVSwitch,1,2,send_recv,half,1600,20,,,\n"
                        "a,H100 80GB,NVSwitch,1,8,dance,half,1600,20,,,\n"),
           "h100-sxm");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 2);
  const Measurement &gather = result.measurements[0], &send = result.measurements[1];
  CHECK(gather.record.family == Family::kCollective);
  CHECK(gather.record.get(Key::kCollective) == static_cast<int64_t>(CollectiveKind::kAllGather));
  CHECK(gather.record.get(Key::kBytes) == 100);  // what one of 16 ranks sends
  CHECK(gather.record.get(Key::kNodes) == 2);
  CHECK(gather.record.get(Key::kRanks) == 16);
  CHECK(gather.source == "collectives: NVSwitch + IB");
  CHECK(gather.time_ns == 20000);
  CHECK(send.record.family == Family::kPointToPoint);
  CHECK(result.report.rows_refused() == 1);
}

TEST_CASE("nccl-tests of one node") {
  const Measurement measurement = only("nccl_intranode.csv",
                                       "system,nccl_version,op_name,nccl_dtype,num_gpus,bytes,time_us\n"
                                       "h200_sxm,2.27,reduce_scatter,half,8,800,12\n"
                                       "h200_sxm,2.27,reduce_scatter,int8,8,800,12\n"
                                       "b200_sxm,2.27,reduce_scatter,half,8,800,12\n",
                                       "h200-sxm");
  CHECK(measurement.record.get(Key::kCollective) == static_cast<int64_t>(CollectiveKind::kReduceScatter));
  CHECK(measurement.record.get(Key::kBytes) == 100);
  CHECK(measurement.record.get(Key::kNodes) == 1);
  CHECK(measurement.record.get(Key::kDataType) == static_cast<int64_t>(DataType::kFloat16));
  CHECK(measurement.source == "aiconfigurator");
}

}  // namespace
}  // namespace maya::training
