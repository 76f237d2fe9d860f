// Build tool: turns a library's entries.txt into a linker version script, the bodies of entry points that have no code
// of their own, and a table of all entry points.
//
//   make_entry_tables entries.txt out_dir
//
// entries.txt: comment lines start with #. Header lines `library = libcudart.so.13`, `node = libcudart.so.13` (empty:
// unversioned), `unsupported = 801 cudaErrorNotSupported` (value and name returned by unsupported entries). Then one
// line an exported name:
//
//   NAME SINCE STATUS [returns=EXPR] [data=BYTES]
//
// SINCE is the CUDA (or library) version of its first appearance, 0 when unknown. STATUS is
//   emulated     - hand-written body that does what the documentation says
//   inert        - accepted, no effect that a program can see: body generated, returns 0
//   inert*       - the same with a hand-written body
//   unsupported  - body generated: prints one line once, is counted, returns the library's error (or EXPR)
// data=BYTES exports a zeroed object, aligned to 16 bytes, instead of a function.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct EntryLine {
  std::string name, since, status, returns, data;
};

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "make_entry_tables: " << message << "\n";
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: make_entry_tables entries.txt out_dir");
  std::ifstream in(argv[1]);
  if (!in) fail(std::string("cannot read ") + argv[1]);
  std::string library, node, error_value = "1", error_name = "NOT_SUPPORTED";
  std::vector<EntryLine> entries;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string first, second;
    if (!(words >> first) || first[0] == '#') continue;
    words >> second;
    if (second == "=") {
      if (first == "library")
        words >> library;
      else if (first == "node")
        words >> node;
      else if (first == "unsupported")
        words >> error_value >> error_name;
      else
        fail(std::string(argv[1]) + ":" + std::to_string(number) + ": unknown header " + first);
      continue;
    }
    EntryLine entry{first, second, "", "", ""};
    words >> entry.status;
    if (entry.status != "emulated" && entry.status != "inert" && entry.status != "inert*" &&
        entry.status != "unsupported")
      fail(std::string(argv[1]) + ":" + std::to_string(number) + ": " + first + " has no status word");
    std::string option;
    while (words >> option) {
      if (option.rfind("returns=", 0) == 0)
        entry.returns = option.substr(8);
      else if (option.rfind("data=", 0) == 0)
        entry.data = option.substr(5);
      else
        fail(std::string(argv[1]) + ":" + std::to_string(number) + ": unknown option " + option);
    }
    entries.push_back(entry);
  }
  const std::string directory = std::string(argv[2]) + "/";

  std::ofstream map(directory + "exports.map");
  map << (node.empty() ? "" : node + " ") << "{\n  global:\n";
  for (const EntryLine& entry : entries) map << "    " << entry.name << ";\n";
  map << "  local: *;\n};\n";

  std::ofstream code(directory + "generated_entries.cc");
  code << "// Generated from entries.txt by make_entry_tables.\n"
          "#include <cstddef>\n#include <cstdint>\n\n#include \"driver_shim/common/entry_table.h\"\n\n"
          "namespace { constexpr const char* kLibrary = \""
       << library
       << "\"; }\n\n"
          "#define MAYA_EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n\n";
  for (const EntryLine& entry : entries) {
    if (!entry.data.empty()) {
      code << "MAYA_EXPORT unsigned char " << entry.name << "[" << entry.data << "];\n"
           << "alignas(16) unsigned char " << entry.name << "[" << entry.data << "] = {};\n";
    } else if (entry.status == "inert") {
      code << "MAYA_EXPORT std::intptr_t " << entry.name << "() { return "
           << (entry.returns.empty() ? "0" : "(std::intptr_t)" + entry.returns) << "; }\n";
    } else if (entry.status == "unsupported") {
      code << "MAYA_EXPORT std::intptr_t " << entry.name << "() { maya::shim::report_unsupported(kLibrary, \""
           << entry.name << "\", \"" << error_name << "\"); return "
           << (entry.returns.empty() ? error_value : "(std::intptr_t)" + entry.returns) << "; }\n";
    }
  }
  for (const EntryLine& entry : entries)
    if (entry.data.empty() && (entry.status == "emulated" || entry.status == "inert*"))
      code << "extern \"C\" void " << entry.name << "();\n";
  code << "\nnamespace maya::shim {\n\nconst char* const kLibraryName = kLibrary;\nconst EntryPoint kEntryPoints[] = "
          "{\n";
  size_t count = 0;
  for (const EntryLine& entry : entries) {
    if (!entry.data.empty()) continue;
    const char* status = entry.status == "emulated"      ? "kEmulated"
                         : entry.status == "unsupported" ? "kUnsupported"
                                                         : "kInert";
    code << "    {\"" << entry.name << "\", " << entry.since << ", EntryStatus::" << status
         << ", reinterpret_cast<void*>(&" << entry.name << ")},\n";
    ++count;
  }
  if (count == 0) code << "    {\"\", 0, EntryStatus::kInert, nullptr},\n";
  code << "};\nconst std::size_t kEntryPointCount = " << count << ";\n\n}  // namespace maya::shim\n";
  if (!map || !code) fail("cannot write to " + directory);
  return 0;
}
