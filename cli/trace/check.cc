#include <algorithm>
#include <cstdio>

#include "cli/common.h"
#include "cli/trace/commands.h"
#include "cli/trace/definitions.h"
#include "predictor/json_writer.h"

namespace maya::cli::trace {
namespace {

using maya::trace::PacketView;
using maya::trace::Reader;
using maya::trace::ReadStatus;

struct Options {
  std::vector<std::string> paths;
  bool json = false;
};

// Ids that launches and operations use.
struct Uses {
  std::unordered_set<uint32_t> configurations;
  std::unordered_set<uint32_t> operations;
};

// The first id that is used and nowhere defined, in words; empty when there is none.
std::string undefined_id(const Uses& uses, const ProcessDefinitions& process) {
  const auto smallest_missing = [](const auto& used, const auto& defined) {
    uint32_t smallest = 0;
    for (const uint32_t id : used) {
      if (defined.count(id) == 0 && (smallest == 0 || id < smallest)) smallest = id;
    }
    return smallest;
  };
  if (const uint32_t id = smallest_missing(uses.configurations, process.configurations))
    return "launch configuration " + std::to_string(id) + " is used and not defined";
  if (const uint32_t id = smallest_missing(uses.operations, process.operations))
    return "operation " + std::to_string(id) + " is used and not defined";
  for (const auto& [id, configuration] : process.configurations) {
    if (process.kernels.count(configuration.kernel()) == 0)
      return "kernel " + std::to_string(configuration.kernel()) + " is used and not defined";
  }
  return "";
}

int check_one(const std::string& path, predictor::JsonWriter* json) {
  const auto reader = Reader::open(path);
  Definitions definitions;
  std::vector<Uses> uses;
  PacketView packet;
  while (reader->next(&packet)) {
    definitions.add(packet);
    uses.resize(std::max<size_t>(uses.size(), packet.process + 1));
    if (packet.launch != 0) uses[packet.process].configurations.insert(packet.launch);
    if (packet.operation != 0) uses[packet.process].operations.insert(packet.operation);
  }
  if (reader->status() != ReadStatus::kOk) return complain_unusable(path, reader->status(), reader->error());
  // A killed process may have used an id whose definition was in flight.
  std::string undefined;
  for (size_t i = 0; reader->complete() && undefined.empty() && i < uses.size(); ++i)
    undefined = undefined_id(uses[i], definitions.processes()[i]);
  const bool damaged = reader->damage_count() != 0 || !undefined.empty();
  const char* verdict = damaged ? "damaged" : reader->complete() ? "complete" : "incomplete";
  if (json != nullptr) {
    json->begin_object();
    json->key("path").text(path);
    json->key("verdict").text(verdict);
    json->key("packets").integer(reader->packets());
    json->key("chunks").integer(reader->chunks());
    json->key("processes").integer(definitions.processes().size());
    json->key("damage").begin_array();
    for (const auto& damage : reader->damage()) {
      json->begin_object();
      json->key("offset").integer(damage.offset);
      json->key("reason").text(damage.reason);
      json->end_object();
    }
    if (!undefined.empty()) json->begin_object().key("reason").text(undefined).end_object();
    json->end_array();
    json->key("damage_count").integer(reader->damage_count() + (undefined.empty() ? 0 : 1));
    json->end_object();
    return damaged ? kNegative : kDone;
  }
  std::string line = path + ": " + emphasised(verdict);
  if (reader->damage_count() != 0)
    line += " at offset " + std::to_string(reader->damage()[0].offset) + ": " + reader->damage()[0].reason;
  if (reader->damage_count() > 1) line += " (and " + std::to_string(reader->damage_count() - 1) + " more)";
  if (!undefined.empty()) line += ": " + undefined;
  if (!damaged && !reader->complete()) line += ": the process did not end in order; everything up to then is there";
  line += "; " + std::to_string(reader->packets()) + " packets in " + std::to_string(reader->chunks()) + " chunks\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  return damaged ? kNegative : kDone;
}

int check(const Options& options) {
  int status = kDone;
  predictor::JsonWriter json(2);
  json.begin_object().key("format").integer(1).key("files").begin_array();
  for (const std::string& path : options.paths)
    status = std::max(status, check_one(path, options.json ? &json : nullptr));
  json.end_array().end_object();
  if (options.json) std::puts(json.str().c_str());
  return status;
}

}  // namespace

void add_check(CLI::App& app, std::function<int()>* run) {
  auto* command = app.add_subcommand(
      "check",
      "Reads traces from end to end: complete, incomplete (killed) or damaged. Exit status 1 when one is damaged");
  const auto options = std::make_shared<Options>();
  command->add_option("TRACE", options->paths, "Trace files")->required();
  command->add_flag("--json", options->json, "Report as JSON");
  command->callback([options, run] { *run = [options] { return check(*options); }; });
}

}  // namespace maya::cli::trace
