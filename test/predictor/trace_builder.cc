#include "test/predictor/trace_builder.h"

#include <stdexcept>

#include "trace_proto/maya_trace_fields.h"

namespace maya::test {
namespace {

constexpr uint64_t kBlock_bytes = 2ull << 20;  // device memory is charged in these

void append(proto::Trace* trace, const proto::Packet& packet) { *trace->add_packet() = packet; }

proto::Packet chunk(uint32_t thread, uint32_t sequence, uint64_t time_ns) {
  proto::Packet packet;
  packet.mutable_chunk()->set_magic(trace::fields::kChunkMagic);
  packet.mutable_chunk()->set_thread(thread);
  packet.mutable_chunk()->set_sequence(sequence);
  packet.mutable_chunk()->set_time_ns(time_ns);
  return packet;
}

}  // namespace

TraceBuilder::TraceBuilder(const std::string& device) {
  header_.set_format(trace::fields::kFormatVersion);
  header_.set_program("test");
  header_.set_run_id("run-1");
  header_.set_rank(-1);
  header_.set_world_size(-1);
  header_.set_device_name(device);
}

uint32_t TraceBuilder::string_id(const std::string& text) {
  const auto [found, is_new] = strings_.try_emplace(text, static_cast<uint32_t>(strings_.size() + 1));
  if (is_new) {
    proto::Packet& packet = definitions_.emplace_back();
    packet.mutable_string()->set_id(found->second);
    packet.mutable_string()->set_text(text);
  }
  return found->second;
}

void TraceBuilder::packet(proto::Packet packet) {
  if (own_ns != 0) packet.set_own_ns(own_ns);
  threads_[thread].push_back({now_ns, std::move(packet)});
}

void TraceBuilder::launch(const std::string& mangled, uint32_t blocks, uint32_t threads) {
  const auto [kernel, new_kernel] = kernels_.try_emplace(mangled, static_cast<uint32_t>(kernels_.size() + 1));
  if (new_kernel) {
    const uint32_t name = string_id(mangled);
    proto::Packet& definition = definitions_.emplace_back();
    definition.mutable_kernel()->set_id(kernel->second);
    definition.mutable_kernel()->set_name(name);
  }
  const std::string key = mangled + " " + std::to_string(blocks) + " " + std::to_string(threads);
  const auto [configuration, is_new] =
      configurations_.try_emplace(key, static_cast<uint32_t>(configurations_.size() + 1));
  if (is_new) {
    proto::LaunchConfiguration* definition = definitions_.emplace_back().mutable_configuration();
    definition->set_id(configuration->second);
    definition->set_kernel(kernel->second);
    definition->set_grid_x(blocks);
    definition->set_grid_y(1);
    definition->set_grid_z(1);
    definition->set_block_x(threads);
    definition->set_block_y(1);
    definition->set_block_z(1);
  }
  proto::Packet call;
  call.set_launch(configuration->second);
  call.set_stream(stream);
  packet(call);
}

void TraceBuilder::operation(const OperationRecord& record) {
  proto::OperationDescriptor descriptor;
  descriptor.set_family(static_cast<uint32_t>(record.family));
  descriptor.set_api(string_id(record.api));
  for (int i = 0; i < record.count; ++i) {
    descriptor.add_keys(static_cast<uint32_t>(record.fields[i].key));
    descriptor.add_values(record.fields[i].value);
  }
  const auto [found, is_new] =
      operations_.try_emplace(descriptor.SerializeAsString(), static_cast<uint32_t>(operations_.size() + 1));
  if (is_new) {
    descriptor.set_id(found->second);
    *definitions_.emplace_back().mutable_operation_descriptor() = descriptor;
  }
  proto::Packet call;
  call.set_operation(found->second);
  call.set_stream(stream);
  if (group != 0) call.set_group(group);
  packet(call);
}

void TraceBuilder::gemm(int64_t m, int64_t n, int64_t k) {
  const auto bf16 = static_cast<int64_t>(DataType::kBfloat16);
  OperationRecord record(Family::kGemm, "cublasGemmEx");
  record.set(Key::kM, m).set(Key::kN, n).set(Key::kK, k).set(Key::kBatch, 1);
  record.set(Key::kTypeA, bf16).set(Key::kTypeB, bf16).set(Key::kTypeC, bf16).set(Key::kTypeD, bf16);
  record.set(Key::kComputeType, static_cast<int64_t>(DataType::kFloat32));
  operation(record);
}

void TraceBuilder::copy(proto::Copy::Kind kind, uint64_t bytes, bool asynchronous, bool pageable) {
  proto::Packet call;
  call.set_stream(stream);
  call.mutable_copy()->set_kind(kind);
  call.mutable_copy()->set_bytes(bytes);
  call.mutable_copy()->set_asynchronous(asynchronous);
  call.mutable_copy()->set_pageable(pageable);
  packet(call);
}

void TraceBuilder::fill(uint64_t bytes) {
  proto::Packet call;
  call.set_stream(stream);
  call.mutable_fill()->set_bytes(bytes);
  call.mutable_fill()->set_width(1);
  call.mutable_fill()->set_asynchronous(true);
  packet(call);
}

void TraceBuilder::allocate(uint64_t address, uint64_t bytes, proto::Layer layer, proto::Allocation::Kind kind) {
  proto::Packet call;
  proto::Allocation* allocation = call.mutable_allocation();
  allocation->set_kind(kind);
  allocation->set_address(address);
  allocation->set_bytes(bytes);
  const bool charged = kind != proto::Allocation::HOST;
  if (charged) allocation->set_charged_bytes((bytes + kBlock_bytes - 1) / kBlock_bytes * kBlock_bytes);
  allocation->set_layer(layer);
  live_[address] = *allocation;
  packet(call);
}

void TraceBuilder::free(uint64_t address) {
  const proto::Allocation& allocation = live_.at(address);
  proto::Packet call;
  call.mutable_free()->set_kind(allocation.kind());
  call.mutable_free()->set_address(address);
  call.mutable_free()->set_bytes(allocation.bytes());
  call.mutable_free()->set_charged_bytes(allocation.charged_bytes());
  call.mutable_free()->set_layer(allocation.layer());
  live_.erase(address);
  packet(call);
}

void TraceBuilder::fail_allocation(uint64_t requested_bytes, uint64_t free_bytes) {
  proto::Packet call;
  proto::AllocationFailure* failure = call.mutable_allocation_failure();
  failure->set_call("cuMemAlloc_v2");
  failure->set_requested_bytes(requested_bytes);
  failure->set_free_bytes(free_bytes);
  failure->set_capacity_bytes(free_bytes * 2);
  for (uint64_t i = 0; i < 6; ++i) failure->add_layer_bytes(i * 100);
  for (const uint64_t bytes : {7'000, 5'000, 3'000}) failure->add_largest_holder_bytes(bytes);
  packet(call);
}

void TraceBuilder::event(proto::EventCall::Call call_kind, uint32_t event) {
  proto::Packet call;
  call.set_stream(stream);
  call.mutable_event()->set_call(call_kind);
  call.mutable_event()->set_event(event);
  packet(call);
}

void TraceBuilder::synchronize(proto::Synchronization::Scope scope) {
  proto::Packet call;
  call.set_stream(stream);
  call.mutable_synchronization()->set_scope(scope);
  packet(call);
}

void TraceBuilder::describe_stream(uint32_t id, uint32_t flags) {
  proto::Packet call;
  call.mutable_stream_descriptor()->set_id(id);
  call.mutable_stream_descriptor()->set_flags(flags);
  packet(call);
}

void TraceBuilder::range(proto::RangeMark::Call call_kind, const std::string& text) {
  proto::Packet call;
  call.mutable_range()->set_call(call_kind);
  call.mutable_range()->set_text(string_id(text));
  packet(call);
}

std::string TraceBuilder::bytes() const {
  constexpr size_t kPacketsPerChunk = 4'000;  // well below a chunk's limit of 1 MiB
  proto::Trace trace;
  uint32_t sequence = 0;
  append(&trace, chunk(0, sequence++, 1));
  *trace.add_packet()->mutable_process() = header_;
  size_t in_chunk = 0;
  for (const proto::Packet& definition : definitions_) {
    if (++in_chunk % 500 == 0) append(&trace, chunk(0, sequence++, 1));
    append(&trace, definition);
  }
  for (const auto& [thread_id, packets] : threads_) {
    uint64_t last_ns = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      if (i % kPacketsPerChunk == 0) {
        append(&trace, chunk(thread_id, sequence++, packets[i].time_ns));
        last_ns = packets[i].time_ns;
      }
      proto::Packet timed = packets[i].packet;
      timed.set_delta_ns(static_cast<uint32_t>(packets[i].time_ns - last_ns));
      last_ns = packets[i].time_ns;
      append(&trace, timed);
    }
  }
  if (finished) {
    append(&trace, chunk(0, sequence++, now_ns));
    trace.add_packet()->mutable_end()->set_reason("exit");
  }
  return trace.SerializeAsString();
}

trace::LoadedTrace TraceBuilder::load() const {
  const std::string data = bytes();
  trace::LoadResult loaded = trace::load_trace(data.data(), data.size());
  if (loaded.status != trace::ReadStatus::kOk || loaded.traces.size() != 1)
    throw std::runtime_error("built trace does not load: " + loaded.error);
  return std::move(loaded.traces.front());
}

void add_training(TraceBuilder* b, int steps, int layers, uint64_t gap_ns) {
  const auto call = [&](auto&& make) {
    b->after(gap_ns);
    make();
  };
  uint64_t address = 1ull << 40;
  for (int i = 0; i < 3 * layers; ++i) {  // the model comes to the device
    call([&] { b->allocate(address++, 8 << 20); });
    call([&] { b->copy(proto::Copy::HOST_TO_DEVICE, (1 << 20) + i % 3, false, true); });
  }
  for (int step = 0; step < steps; ++step) {
    call([&] { b->copy(proto::Copy::HOST_TO_DEVICE, 4096, true, false); });
    call([&] { b->launch("embedding", 64); });
    for (int layer = 0; layer < layers; ++layer) {
      call([&] { b->launch("norm", 1024); });
      call([&] { b->gemm(3072, 8192, 1024); });
      call([&] { b->launch("activation", 4096); });
      call([&] { b->gemm(1024, 8192, 1024); });
    }
    call([&] { b->launch("loss", 256); });
    b->thread = 1;
    call([&] { b->launch("loss_backward", 256); });
    for (int layer = 0; layer < layers; ++layer) {
      for (int i = 0; i < 2; ++i) {
        call([&] { b->gemm(1024, 8192, 1024 + i); });
        call([&] { b->gemm(1024, 1024 + i, 8192); });
        call([&] { b->launch("activation_backward", 4096); });
      }
    }
    b->thread = 0;
    if (step == 0)
      for (int i = 0; i < 4 * layers; ++i) {
        call([&] { b->allocate(address++, 8 << 20); });
        call([&] { b->fill((1 << 20) + 4 * static_cast<uint64_t>(i)); });
      }
    for (int i = 0; i < 2; ++i) call([&] { b->launch("optimizer_part_" + std::to_string(i), 2048); });
    call([&] { b->copy(proto::Copy::DEVICE_TO_HOST, 4, true, true); });
    call([&] { b->synchronize(proto::Synchronization::STREAM); });
  }
  call([&] { b->synchronize(proto::Synchronization::DEVICE); });
}

}  // namespace maya::test
