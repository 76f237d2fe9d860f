#include "test/trace/sample_trace.h"

#include "predictor/core/operation.h"
#include "test/trace/trace_files.h"

namespace maya::test {
namespace {

proto::Packet at(uint32_t delta_ns, uint32_t stream = 0) {
  proto::Packet packet;
  packet.set_delta_ns(delta_ns);
  packet.set_stream(stream);
  return packet;
}

proto::Packet string(uint32_t id, const std::string& text) {
  proto::Packet packet;
  packet.mutable_string()->set_id(id);
  packet.mutable_string()->set_text(text);
  return packet;
}

std::string definitions() {
  std::string bytes;
  bytes += encoded(string(1, "_Z9transformILi4EEvPfi"));  // void transform<4>(float*, int)
  bytes += encoded(string(2, "cublasGemmEx"));
  bytes += encoded(string(3, "forward \"pass\""));
  proto::Packet kernel;
  kernel.mutable_kernel()->set_id(1);
  kernel.mutable_kernel()->set_name(1);
  kernel.mutable_kernel()->set_registers(32);
  kernel.mutable_kernel()->set_architecture(90);
  kernel.mutable_kernel()->add_parameter_offsets(0);
  kernel.mutable_kernel()->add_parameter_offsets(8);
  kernel.mutable_kernel()->add_parameter_sizes(8);
  kernel.mutable_kernel()->add_parameter_sizes(4);
  bytes += encoded(kernel);
  proto::Packet configuration;
  proto::LaunchConfiguration* launch_configuration = configuration.mutable_configuration();
  launch_configuration->set_id(1);
  launch_configuration->set_kernel(1);
  launch_configuration->set_grid_x(128);
  launch_configuration->set_grid_y(1);
  launch_configuration->set_grid_z(1);
  launch_configuration->set_block_x(256);
  launch_configuration->set_block_y(1);
  launch_configuration->set_block_z(1);
  launch_configuration->set_dynamic_shared_bytes(1024);
  launch_configuration->add_scalar_slots(8 << 8 | 4);
  launch_configuration->add_scalar_values(4096);
  launch_configuration->set_estimate_ns(2500.5);
  bytes += encoded(configuration);
  proto::Packet operation;
  proto::OperationDescriptor* descriptor = operation.mutable_operation_descriptor();
  descriptor->set_id(1);
  descriptor->set_family(static_cast<uint32_t>(Family::kGemm));
  descriptor->set_api(2);
  for (const auto& [key, value] : {std::pair{Key::kM, 768}, std::pair{Key::kN, 1024}, std::pair{Key::kK, 3072}}) {
    descriptor->add_keys(static_cast<uint32_t>(key));
    descriptor->add_values(value);
  }
  bytes += encoded(operation);
  return bytes;
}

std::string calls() {
  std::string bytes;
  proto::Packet packet = at(100);
  packet.mutable_device()->set_name("h100-sxm");
  packet.mutable_device()->set_capacity_bytes(85'899'345'920);
  bytes += encoded(packet);
  packet = at(10, 1);
  packet.mutable_stream_descriptor()->set_id(1);
  packet.mutable_stream_descriptor()->set_priority(-1);
  bytes += encoded(packet);
  packet = at(1000);
  packet.mutable_allocation()->set_address(0x700000000000);
  packet.mutable_allocation()->set_bytes(1'000'000);
  packet.mutable_allocation()->set_charged_bytes(2'097'152);
  bytes += encoded(packet);
  packet = at(500, 1);
  packet.set_own_ns(300);
  packet.mutable_copy()->set_kind(proto::Copy::HOST_TO_DEVICE);
  packet.mutable_copy()->set_bytes(4096);
  packet.mutable_copy()->set_asynchronous(true);
  bytes += encoded(packet);
  packet = at(200, 1);
  packet.mutable_fill()->set_bytes(64);
  packet.mutable_fill()->set_width(4);
  bytes += encoded(packet);
  packet = at(50);
  packet.mutable_range()->set_text(3);
  bytes += encoded(packet);
  for (int i = 0; i < 3; ++i) bytes += encoded(launch(1, 1, 2000));
  packet = at(2000, 1);
  packet.set_operation(1);
  bytes += encoded(packet);
  packet = at(700, 1);
  packet.mutable_event()->set_call(proto::EventCall::RECORD);
  packet.mutable_event()->set_event(4);
  bytes += encoded(packet);
  packet = at(0xffffffff);  // a pause
  bytes += encoded(packet);
  packet = at(900, 1);
  packet.set_wait_ns(12345);
  packet.mutable_synchronization()->set_scope(proto::Synchronization::STREAM);
  bytes += encoded(packet);
  packet = at(900);
  packet.mutable_allocation_failure()->set_call("cuMemAlloc_v2");
  packet.mutable_allocation_failure()->set_requested_bytes(1ull << 40);
  packet.mutable_allocation_failure()->add_layer_bytes(2'097'152);
  packet.mutable_allocation_failure()->add_layer_bytes(471'859'200);
  bytes += encoded(packet);
  packet = at(900);
  packet.mutable_free()->set_address(0x700000000000);
  packet.mutable_free()->set_charged_bytes(2'097'152);
  bytes += encoded(packet);
  packet = at(10);
  packet.mutable_notice()->set_severity(proto::Notice::WARNING);
  packet.mutable_notice()->set_text("text with\na line break");
  bytes += encoded(packet);
  return bytes;
}

}  // namespace

std::string golden_trace() {
  proto::Packet header = process_header();
  header.mutable_process()->set_program("gpt.py");
  header.mutable_process()->set_pid(4711);
  header.mutable_process()->set_maya_version("0.1.0");
  header.mutable_process()->set_rank(0);
  header.mutable_process()->set_world_size(8);
  header.mutable_process()->set_device_name("h100-sxm");
  proto::Packet end = process_end();
  end.set_delta_ns(1000);
  return encoded(chunk_header(0, 0, 5'000'000'000)) + encoded(header) + definitions() + calls() +
         encoded(chunk_header(1, 1, 5'000'050'000)) + encoded(launch(1, 0, 10)) +
         encoded(chunk_header(0, 2, 9'300'000'000)) + encoded(end);
}

}  // namespace maya::test
