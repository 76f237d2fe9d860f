// Exit statuses of all commands: the table of the command-line contract.
#pragma once

namespace maya::cli {

enum ExitStatus : int {
  kDone = 0,
  kNegative = 1,     // the answer is negative where a script asks for it: --fail-on, check on a damaged file
  kUsage = 2,        // option, value, unknown device
  kInput = 3,        // input cannot be used: missing, not a trace, damaged before the first whole packet, newer format
  kOutput = 4,       // output cannot be written
  kRunFailed = 125,  // maya-run itself failed
  kNotExecutable = 126,  // the program cannot be executed
  kNotFound = 127,       // the program was not found
};

}  // namespace maya::cli
