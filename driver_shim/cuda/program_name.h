// How a process is named in its trace.
#pragma once

#include <string>
#include <vector>

namespace maya::cuda {

// The arguments of this process, from /proc/self/cmdline. Empty when that cannot be read.
std::vector<std::string> command_line();

// The program's name: of a Python program its script ("train" for `python -u dir/train.py`) or module
// ("torch.distributed.run" for `python -m ...`), otherwise the executable's. Never empty, without slashes and control
// characters, at most 64 bytes: it becomes part of a file name.
std::string program_name(const std::vector<std::string>& arguments);

}  // namespace maya::cuda
