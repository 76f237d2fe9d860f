#include "cli/trace/packet_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cinttypes>
#include <cstdio>

#include "predictor/core/operation.h"
#include "predictor/json_writer.h"

namespace maya::cli::trace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using maya::predictor::JsonWriter;

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// Fields in the order of their numbers. An enumeration is shown also at its default: its zero says something.
template <class Visit>
void for_each_field(const Message& message, Visit visit) {
  const Reflection& reflection = *message.GetReflection();
  const auto& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor* field = descriptor.field(i);
    if (field->is_repeated()
            ? reflection.FieldSize(message, field) > 0
            : reflection.HasField(message, field) || field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM)
      visit(field);
  }
}

void write_json(const Message& message, JsonWriter* json);

// index < 0: the field is not repeated.
void write_json_value(const Message& message, const FieldDescriptor* field, int index, JsonWriter* json) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      json->signed_integer(repeated ? reflection.GetRepeatedInt32(message, field, index)
                                    : reflection.GetInt32(message, field));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      json->signed_integer(repeated ? reflection.GetRepeatedInt64(message, field, index)
                                    : reflection.GetInt64(message, field));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      json->integer(repeated ? reflection.GetRepeatedUInt32(message, field, index)
                             : reflection.GetUInt32(message, field));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      json->integer(repeated ? reflection.GetRepeatedUInt64(message, field, index)
                             : reflection.GetUInt64(message, field));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      json->number(
          repeated ? reflection.GetRepeatedDouble(message, field, index) : reflection.GetDouble(message, field), 3);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      json->boolean(repeated ? reflection.GetRepeatedBool(message, field, index) : reflection.GetBool(message, field));
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int value =
          repeated ? reflection.GetRepeatedEnumValue(message, field, index) : reflection.GetEnumValue(message, field);
      const auto* name = field->enum_type()->FindValueByNumber(value);
      name != nullptr ? json->text(name->name()) : json->signed_integer(value);
      break;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      json->text(repeated ? reflection.GetRepeatedStringReference(message, field, index, &scratch)
                          : reflection.GetStringReference(message, field, &scratch));
      break;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      write_json(
          repeated ? reflection.GetRepeatedMessage(message, field, index) : reflection.GetMessage(message, field),
          json);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      json->null();
      break;  // the format has none
  }
}

void write_json(const Message& message, JsonWriter* json) {
  json->begin_object();
  for_each_field(message, [&](const FieldDescriptor* field) {
    json->key(field->name());
    if (!field->is_repeated()) return write_json_value(message, field, -1, json);
    json->begin_array();
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
      write_json_value(message, field, i, json);
    json->end_array();
  });
  json->end_object();
}

// "name=value" for every field; the value as in JSON.
std::string fields_text(const Message& message) {
  std::string text;
  for_each_field(message, [&](const FieldDescriptor* field) {
    JsonWriter json(0);
    if (field->is_repeated()) {
      json.begin_array();
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
        write_json_value(message, field, i, &json);
      json.end_array();
    } else {
      write_json_value(message, field, -1, &json);
    }
    text += " " + field->name() + "=" + json.str();
  });
  return text;
}

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
}

std::string configuration_text(const proto::LaunchConfiguration& configuration) {
  std::string text = " grid=" + triple(configuration.grid_x(), configuration.grid_y(), configuration.grid_z()) +
                     " block=" + triple(configuration.block_x(), configuration.block_y(), configuration.block_z());
  if (configuration.dynamic_shared_bytes() != 0)
    text += " shared=" + std::to_string(configuration.dynamic_shared_bytes());
  if (configuration.cluster_x() != 0)
    text += " cluster=" + triple(configuration.cluster_x(), configuration.cluster_y(), configuration.cluster_z());
  if (configuration.cooperative()) text += " cooperative";
  return text;
}

std::string operation_text(const proto::OperationDescriptor& operation) {
  std::string text;
  if (operation.family() <= 0xff)
    text += " family=" + std::string(family_name(static_cast<Family>(operation.family())));
  for (int i = 0; i < std::min(operation.keys_size(), operation.values_size()); ++i)
    text += " " + key_name(operation.keys(i)) + "=" + std::to_string(operation.values(i));
  return text;
}

std::string body_text(const maya::trace::PacketView& packet, const ProcessDefinitions& process) {
  if (packet.launch != 0) {
    const auto found = process.configurations.find(packet.launch);
    return " " + abbreviated(process.kernel_of(packet.launch)) +
           (found != process.configurations.end() ? configuration_text(found->second) : "");
  }
  if (packet.operation != 0) {
    const auto found = process.operations.find(packet.operation);
    return " " + process.api_of(packet.operation) +
           (found != process.operations.end() ? operation_text(found->second) : "");
  }
  if (packet.message == nullptr) return "";
  const proto::Packet& message = *packet.message;
  switch (message.kind_case()) {
    case proto::Packet::kKernel:
      return " " + abbreviated(demangled(process.string(message.kernel().name()))) + fields_text(message.kernel());
    case proto::Packet::kConfiguration:
      return " " + abbreviated(process.kernel_of(message.configuration().id())) +
             " id=" + std::to_string(message.configuration().id()) + configuration_text(message.configuration()) +
             (message.configuration().estimate_ns() > 0
                  ? " estimate_ns=" + number_text(message.configuration().estimate_ns())
                  : "") +
             (message.configuration().has_work() ? " counted:" + fields_text(message.configuration().work()) : "");
    case proto::Packet::kOperationDescriptor:
      return " " + process.string(message.operation_descriptor().api()) +
             " id=" + std::to_string(message.operation_descriptor().id()) +
             operation_text(message.operation_descriptor()) +
             (message.operation_descriptor().estimate_ns() > 0
                  ? " estimate_ns=" + number_text(message.operation_descriptor().estimate_ns())
                  : "");
    case proto::Packet::kRange:
      return (message.range().text() != 0 ? " " + predictor::json_string(process.string(message.range().text())) : "") +
             fields_text(message.range());
    case proto::Packet::KIND_NOT_SET:
      return "";
    default:
      break;
  }
  const FieldDescriptor* kind = message.GetDescriptor()->FindFieldByNumber(message.kind_case());
  return fields_text(message.GetReflection()->GetMessage(message, kind));
}

}  // namespace

std::string_view kind_name(const maya::trace::PacketView& packet) {
  if (packet.launch != 0) return "launch";
  if (packet.operation != 0) return "operation";
  if (packet.message == nullptr || packet.message->kind_case() == proto::Packet::KIND_NOT_SET) return "pause";
  return proto::Packet::descriptor()->FindFieldByNumber(packet.message->kind_case())->name();
}

std::string packet_line(const maya::trace::PacketView& packet, const ProcessDefinitions& process) {
  char head[64];
  const uint64_t since_ns = packet.time_ns - process.first_time_ns;
  std::snprintf(head, sizeof head, "%" PRIu64 ".%09" PRIu64 " t%" PRIu32 " ", since_ns / 1'000'000'000,
                since_ns % 1'000'000'000, packet.thread);
  std::string line = head;
  line += kind_name(packet);
  line += body_text(packet, process);
  if (packet.stream != 0) line += " stream=" + std::to_string(packet.stream);
  if (packet.own_ns != 0) line += " own_ns=" + std::to_string(packet.own_ns);
  if (packet.wait_ns != 0) line += " wait_ns=" + std::to_string(packet.wait_ns);
  if (packet.measured_ns != 0) line += " measured_ns=" + std::to_string(packet.measured_ns);
  if (packet.start_ns != 0) line += " start_ns=" + std::to_string(packet.start_ns);
  if (packet.delay_ns != 0) line += " delay_ns=" + std::to_string(packet.delay_ns);
  if (packet.call_ns != 0) line += " call_ns=" + std::to_string(packet.call_ns);
  return line;
}

std::string packet_json(const maya::trace::PacketView& packet) {
  JsonWriter json(0);
  json.begin_object();
  json.key("offset").integer(packet.offset);
  json.key("time_ns").integer(packet.time_ns);
  json.key("process_index").integer(packet.process);
  json.key("thread").integer(packet.thread);
  json.key("kind").text(kind_name(packet));
  json.key("packet");
  proto::Packet plain;
  if (packet.message == nullptr) plain.ParseFromArray(packet.bytes, static_cast<int>(packet.size));
  write_json(packet.message != nullptr ? *packet.message : plain, &json);
  json.end_object();
  return json.str();
}

}  // namespace maya::cli::trace
