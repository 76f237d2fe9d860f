// Build tool: turns a library's entries.txt into a linker version script, the bodies of entry points that have no code
// of their own, a table of all entry points, and (replaceable libraries) the jumps through which they are reached.
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
//
// A library of another CUDA release is described by what differs: `base = entries.txt` (a file of the same folder, read
// first), `without = NAME...` (names of the base that it lacks), its own header lines, and lines of names that only it
// has. A name of both is an error.
//
// `replaceable = yes`: the exported form of every hand-written function is a jump through a pointer, which a profiler
// can turn to a function of its own while the program runs (entry_slots.h). Our functions are then
// called maya_body_NAME; `renames` is the list for objcopy, which maya_add_shim applies to the objects.
#include <algorithm>
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

struct Entries {
  std::string library, node, error_value = "1", error_name = "NOT_SUPPORTED";
  bool replaceable = false;
  std::vector<EntryLine> lines;
};

bool has(const Entries& entries, const std::string& name) {
  for (const EntryLine& line : entries.lines)
    if (line.name == name) return true;
  return false;
}

void remove(Entries* entries, const std::string& name, const std::string& place) {
  if (!has(*entries, name)) fail(place + "the base has no " + name);
  std::erase_if(entries->lines, [&](const EntryLine& line) { return line.name == name; });
}

Entries read_entries(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail("cannot read " + path);
  Entries entries;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string place = path + ":" + std::to_string(number) + ": ";
    std::istringstream words(line);
    std::string first, second;
    if (!(words >> first) || first[0] == '#') continue;
    words >> second;
    if (second == "=") {
      if (first == "library") {
        words >> entries.library;
      } else if (first == "node") {
        entries.node.clear();
        words >> entries.node;
      } else if (first == "unsupported") {
        words >> entries.error_value >> entries.error_name;
      } else if (first == "replaceable") {
        words >> second;
        entries.replaceable = second == "yes";
      } else if (first == "base") {
        words >> second;
        entries = read_entries(path.substr(0, path.rfind('/') + 1) + second);
      } else if (first == "without") {
        while (words >> second) remove(&entries, second, place);
      } else {
        fail(place + "unknown header " + first);
      }
      continue;
    }
    EntryLine entry{first, second, "", "", ""};
    words >> entry.status;
    if (entry.status != "emulated" && entry.status != "inert" && entry.status != "inert*" &&
        entry.status != "unsupported")
      fail(place + first + " has no status word");
    if (has(entries, first)) fail(place + first + " is there twice");
    std::string option;
    while (words >> option) {
      if (option.rfind("returns=", 0) == 0)
        entry.returns = option.substr(8);
      else if (option.rfind("data=", 0) == 0)
        entry.data = option.substr(5);
      else
        fail(place + "unknown option " + option);
    }
    entries.lines.push_back(entry);
  }
  return entries;
}

bool is_hand_written(const EntryLine& entry) {
  return entry.data.empty() && (entry.status == "emulated" || entry.status == "inert*");
}

// The exported jumps. In objects, NAME is our function until objcopy has renamed it, and maya_jump_NAME the exported
// one: see write_renames().
void write_jumps(const Entries& entries, std::ostream& code) {
  code << "#include \"driver_shim/common/entry_slots.h\"\n\n";
  std::vector<std::string> names;
  for (const EntryLine& entry : entries.lines)
    if (is_hand_written(entry)) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    code << "extern \"C\" void maya_jump_" << name << "();\n"
         << "extern \"C\" __attribute__((visibility(\"hidden\"))) std::atomic<maya::AnyFunction> maya_slot_" << name
         << ";\nconstinit std::atomic<maya::AnyFunction> maya_slot_" << name << "{&" << name << "};\n"
         << "asm(MAYA_JUMP(\"" << name << "\"));\n";
  code << "\nnamespace {\nconst maya::EntrySlot kSlots[] = {\n";
  for (const std::string& name : names)
    code << "    {\"" << name << "\", &" << name << ", &maya_slot_" << name << "},\n";
  code << "};\n}  // namespace\n\nnamespace maya::shim {\nEntrySlots entry_slots = {kLibrary, kSlots, " << names.size()
       << ", nullptr};\n}  // namespace maya::shim\n";
}

// All objects depend on it.
void write_if_changed(const std::string& path, const std::string& text) {
  std::ifstream old(path);
  std::ostringstream known;
  known << old.rdbuf();
  if (old && known.str() == text) return;
  std::ofstream out(path);
  if (!(out << text)) fail("cannot write " + path);
}

void write_renames(const Entries& entries, std::ostream& renames) {
  for (const EntryLine& entry : entries.lines)
    if (is_hand_written(entry))
      renames << entry.name << " maya_body_" << entry.name << "\nmaya_jump_" << entry.name << " " << entry.name << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: make_entry_tables entries.txt out_dir");
  const Entries read = read_entries(argv[1]);
  const auto& [library, node, error_value, error_name, replaceable, entries] = read;
  const std::string directory = std::string(argv[2]) + "/";

  std::ofstream map(directory + "exports.map");
  map << (node.empty() ? "" : node + " ") << "{\n  global:\n";
  for (const EntryLine& entry : entries) map << "    " << entry.name << ";\n";
  map << "  local: *;\n};\n";

  std::ofstream code(directory + "generated_entries.cc");
  code << "// Generated by make_entry_tables.\n"
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
    if (is_hand_written(entry)) code << "extern \"C\" void " << entry.name << "();\n";
  std::ostringstream renames;
  if (replaceable) {
    write_jumps(read, code);
    write_renames(read, renames);
  }
  write_if_changed(directory + "renames", renames.str());
  code << "\nnamespace maya::shim {\n\nconst char* const kLibraryName = kLibrary;\nconst EntryPoint kEntryPoints[] = "
          "{\n";
  size_t count = 0;
  for (const EntryLine& entry : entries) {
    if (!entry.data.empty()) continue;
    const char* status = entry.status == "emulated"      ? "kEmulated"
                         : entry.status == "unsupported" ? "kUnsupported"
                                                         : "kInert";
    code << "    {\"" << entry.name << "\", " << entry.since << ", EntryStatus::" << status
         << ", reinterpret_cast<void*>(&" << (replaceable && is_hand_written(entry) ? "maya_jump_" : "") << entry.name
         << ")},\n";
    ++count;
  }
  if (count == 0) code << "    {\"\", 0, EntryStatus::kInert, nullptr},\n";
  code << "};\nconst std::size_t kEntryPointCount = " << count << ";\n\n}  // namespace maya::shim\n";
  if (!map || !code) fail("cannot write to " + directory);
  return 0;
}
