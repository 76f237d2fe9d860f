// maya-trace import and maya-predict --durations as commands.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "test/kineto/kineto_file.h"
#include "trace_proto/maya_trace.pb.h"
#include "trace_proto/maya_trace_fields.h"

using namespace maya::test;

namespace {

struct Result {
  int status;
  std::string out, err;
};

Result run(const Folder& folder, const std::string& command) {
  const char* bin = std::getenv("MAYA_BIN_PATH");
  REQUIRE(bin != nullptr);
  const std::string line = "cd '" + folder.path("") + "' && '" + bin + "'/" + command + " >out 2>err";
  const int raw = std::system(line.c_str());
  REQUIRE(WIFEXITED(raw));
  return {WEXITSTATUS(raw), read_whole(folder.path("out")), read_whole(folder.path("err"))};
}

const std::string kProfile = file_of(call("cudaLaunchKernel", 1, 10, 5, 1) + "," + kernel("a", 7, 17, 100, 1) + "," +
                                     call("cudaLaunchKernel", 1, 18, 5, 2) + "," + kernel("b", 7, 118.5, 50, 2));

// A process without measured durations.
std::string plain_trace() {
  maya::proto::Trace trace;
  auto* chunk = trace.add_packet()->mutable_chunk();
  chunk->set_magic(maya::trace::fields::kChunkMagic);
  chunk->set_time_ns(1);
  auto* process = trace.add_packet()->mutable_process();
  process->set_format(maya::trace::fields::kFormatVersion);
  process->set_device_name("h100-sxm");
  trace.add_packet()->mutable_fill()->set_bytes(4096);
  trace.add_packet()->mutable_end()->set_reason("exit");
  return trace.SerializeAsString();
}

}  // namespace

TEST_CASE("import, check, replay") {
  const Folder folder;
  folder.write_compressed("profile.json.gz", kProfile);
  const Result imported = run(folder, "maya-trace import profile.json.gz --out profile.pb");
  CHECK(imported.status == 0);
  CHECK(imported.err.empty());
  CHECK(imported.out ==
        "profile.pb: 2 kernels, copies and fills on a100-sxm-40, 0 of them enqueued before the profile began; waits "
        "between streams: 0 recorded, 0 inferred\n");
  CHECK(run(folder, "maya-trace check profile.pb").status == 0);
  CHECK(run(folder, "maya-trace dump profile.pb").out.find("measured_ns=100000 start_ns=7000 call_ns=5000") !=
        std::string::npos);
  CHECK(run(folder, "maya-trace pack profile.pb -o packed.pb").status == 0);
  const Result replay = run(folder, "maya-predict packed.pb --durations measured --json");
  CHECK(replay.status == 0);
  CHECK(replay.out.find("\"measured\": 1") != std::string::npos);
  CHECK(run(folder, "maya-predict profile.pb --json").out.find("\"measured\": 0") != std::string::npos);
}

TEST_CASE("errors: usage, input, output") {
  const Folder folder;
  folder.write("profile.json", kProfile);
  folder.write("cut.json", kProfile.substr(0, 100));
  folder.write("plain.pb", plain_trace());
  CHECK(run(folder, "maya-trace import profile.json").status == 2);
  CHECK(run(folder, "maya-trace import profile.json --out x.pb --device z1").status == 2);
  CHECK(run(folder, "maya-trace import missing.json --out x.pb").status == 3);
  const Result cut = run(folder, "maya-trace import cut.json --out x.pb");
  CHECK(cut.status == 3);
  CHECK(cut.err.find("maya-trace: not whole JSON: cut.json: damaged or cut at byte 101") == 0);
  CHECK(run(folder, "maya-trace import profile.json --out no/such/folder/x.pb").status == 4);
  const Result plain = run(folder, "maya-predict plain.pb --durations measured");
  CHECK(plain.status == 3);
  CHECK(plain.err ==
        "maya-predict: no measured durations: plain.pb; maya-trace import makes traces that have them, leave out "
        "--durations\n");
  CHECK(run(folder, "maya-predict plain.pb --durations sideways").status == 2);
}
