#include "cli/common.h"

#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace maya::cli {

void complain(std::string_view tool, std::string_view message) {
  std::fflush(stdout);
  std::string line;
  line.append(tool).append(": ").append(message).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void fail(std::string_view tool, ExitStatus status, std::string_view message) {
  complain(tool, message);
  std::exit(status);
}

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return "";
  const std::string whole(path, static_cast<size_t>(length));
  return whole.substr(0, whole.rfind('/'));
}

std::string folder_with(std::string_view library) {
  const std::string root = own_folder() + "/..";
  for (const std::string& folder : {root + "/lib/maya", root + "/lib"}) {
    char resolved[PATH_MAX];
    if (access((folder + "/").append(library).c_str(), R_OK) == 0 && realpath(folder.c_str(), resolved) != nullptr)
      return resolved;
  }
  return "";
}

void add_version(CLI::App& app) {
  app.set_version_flag("--version", app.get_name() + " " + MAYA_VERSION, "Print the version and end");
}

int parse(CLI::App& app, std::string_view tool, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return kParsed;
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success);
    return finish_output(tool, kDone);
  } catch (const CLI::ParseError& error) {
    complain(tool, std::string(error.what()) + "; see " + std::string(tool) + " --help");
    return kUsage;
  }
}

bool colour_wanted() {
  const char* terminal = std::getenv("TERM");
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::strcmp(terminal, "dumb") != 0;
}

std::string emphasised(std::string_view text) {
  return colour_wanted() ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

int finish_output(std::string_view tool, int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  complain(tool, std::string("cannot write: standard output: ") + std::strerror(errno) +
                     "; free some space or write elsewhere");
  return kOutput;
}

}  // namespace maya::cli
