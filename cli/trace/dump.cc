#include <cstdio>

#include "cli/common.h"
#include "cli/trace/commands.h"
#include "cli/trace/definitions.h"
#include "cli/trace/packet_text.h"

namespace maya::cli::trace {
namespace {

using maya::trace::PacketView;
using maya::trace::Reader;
using maya::trace::ReadStatus;

struct Options {
  std::string path;
  bool json = false;
  std::string kind;
  uint64_t limit = 0;
};

int dump(const Options& options) {
  Definitions definitions;
  PacketView packet;
  if (!options.json) {
    const auto first_pass = Reader::open(options.path);
    while (first_pass->next(&packet)) definitions.add(packet);
  }
  const auto reader = Reader::open(options.path);
  uint64_t shown = 0;
  while ((options.limit == 0 || shown < options.limit) && reader->next(&packet)) {
    if (!options.kind.empty() && options.kind != kind_name(packet)) continue;
    // Between the passes the file may have grown: its traced process may still run.
    static const ProcessDefinitions kNone;
    const auto& processes = definitions.processes();
    const std::string line =
        options.json ? packet_json(packet)
                     : packet_line(packet, packet.process < processes.size() ? processes[packet.process] : kNone);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::putchar('\n');
    ++shown;
    if (std::ferror(stdout) != 0) break;
  }
  if (reader->status() != ReadStatus::kOk) return complain_unusable(options.path, reader->status(), reader->error());
  for (const auto& damage : reader->damage()) {
    complain(kTool, "damaged at offset " + std::to_string(damage.offset) + " (" + damage.reason + "): " + options.path +
                        "; what follows up to the next chunk is not shown");
  }
  return kDone;
}

}  // namespace

void add_dump(CLI::App& app, std::function<int()>* run) {
  auto* command = app.add_subcommand("dump", "Prints every packet, one a line, in file order");
  const auto options = std::make_shared<Options>();
  command->add_option("TRACE", options->path, "Trace file")->required();
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_option("--kind", options->kind, "Only packets of this kind: launch, operation, copy, allocation...");
  command->add_option("--limit", options->limit, "At most so many packets");
  command->callback([options, run] { *run = [options] { return dump(*options); }; });
}

}  // namespace maya::cli::trace
