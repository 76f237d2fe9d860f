#include "cli/common.h"
#include "cli/trace/commands.h"

namespace maya::cli::trace {

int complain_unusable(const std::string& path, maya::trace::ReadStatus status, const std::string& error) {
  using maya::trace::ReadStatus;
  const char* remedy = "give the path of a trace (.pb) that maya-run wrote";
  if (status == ReadStatus::kNewerFormat) remedy = "read it with the Maya that wrote it, or a newer one";
  if (status == ReadStatus::kEmpty || status == ReadStatus::kDamaged)
    remedy = "nothing in it can be recovered; record it again";
  complain(kTool, error + ": " + path + "; " + remedy);
  return kInput;
}

}  // namespace maya::cli::trace
