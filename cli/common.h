// What all commands share: error lines, option parsing with the agreed exit statuses, checked output.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/exit_status.h"

namespace maya::cli {

// Prints "tool: message" on standard error; the message reads "what is wrong: the thing; what to do".
void complain(std::string_view tool, std::string_view message);
// Complains and ends the process.
[[noreturn]] void fail(std::string_view tool, ExitStatus status, std::string_view message);

// Adds --version, which prints the tool's name and Maya's version.
void add_version(CLI::App& app);

constexpr int kParsed = -1;
// Parses the command line. kParsed, or the exit status with which the command must end: kDone after --help and
// --version, kUsage after a usage error, which has been printed.
int parse(CLI::App& app, std::string_view tool, int argc, char** argv);

// Folder of the running command's executable; empty when the system does not say.
std::string own_folder();
// Folder of Maya's libraries, beside the command in a build tree (bin, lib) or in lib/maya after installation: the
// first that holds `library`; empty when none does.
std::string folder_with(std::string_view library);

// True when standard output is a terminal that takes colour and NO_COLOR is not set (https://no-color.org).
bool colour_wanted();
// `text` in the terminal's bold face where colour is wanted.
std::string emphasised(std::string_view text);

// Flushes standard output; kOutput after a complaint when something could not be written (full disk), else `status`.
int finish_output(std::string_view tool, int status);

}  // namespace maya::cli
