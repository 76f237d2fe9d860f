#include "driver_shim/cuda/program_name.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace maya::cuda {
namespace {

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// What Python runs: the value of -m, "python" for -c and standard input, or the script.
std::string_view python_program(const std::vector<std::string>& arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.empty() || argument[0] != '-') {
      const std::string_view script = base_name(argument);
      return script.size() > 3 && script.substr(script.size() - 3) == ".py" ? script.substr(0, script.size() - 3)
                                                                            : script;
    }
    if (argument == "-m" && i + 1 < arguments.size()) return arguments[i + 1];
    if (argument.substr(0, 2) == "-m" && argument.size() > 2) return argument.substr(2);
    if (argument == "-c" || argument == "-") break;
    if (argument == "-W" || argument == "-X") ++i;
  }
  return base_name(arguments[0]);
}

}  // namespace

std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return arguments;
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(file);
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\0', at);
    if (end == std::string::npos) end = text.size();
    arguments.emplace_back(text, at, end - at);
    at = end + 1;
  }
  return arguments;
}

std::string program_name(const std::vector<std::string>& arguments) {
  constexpr size_t kMost_bytes = 64;
  if (arguments.empty()) return "program";
  std::string_view name = base_name(arguments[0]);
  if (name.substr(0, 6) == "python") name = python_program(arguments);
  std::string clean(name.substr(0, kMost_bytes));
  for (char& c : clean)
    if (c == '/' || static_cast<unsigned char>(c) < 0x21 || c == 0x7f) c = '_';
  if (clean.empty() || clean[0] == '.') clean.insert(0, "program");
  return clean;
}

}  // namespace maya::cuda
