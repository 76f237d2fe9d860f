// maya-trace: looks into trace files, checks them and packs them.
#include "cli/common.h"
#include "cli/trace/commands.h"

int main(int argc, char** argv) {
  using namespace maya::cli;
  CLI::App app(
      "Looks into trace files, checks them, packs them, and makes them of a profiler's traces.\n\n"
      "  maya-trace stats maya-trace/gpt-4711.pb\n"
      "  maya-trace dump --kind launch --limit 20 maya-trace/gpt-4711.pb\n"
      "  maya-trace check maya-trace/*.pb\n"
      "  maya-trace pack maya-trace/*.pb\n"
      "  maya-trace import profile.json.gz --out profile.pb",
      trace::kTool);
  app.require_subcommand(1);
  add_version(app);
  std::function<int()> run;
  trace::add_dump(app, &run);
  trace::add_stats(app, &run);
  trace::add_check(app, &run);
  trace::add_pack(app, &run);
  trace::add_import(app, &run);
  if (const int status = parse(app, trace::kTool, argc, argv); status != kParsed) return status;
  return finish_output(trace::kTool, run());
}
