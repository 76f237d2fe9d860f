#include "predictor/table_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace maya::predictor {

TableFile::~TableFile() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

Failure TableFile::open(const std::string& path) {
  path_ = path;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const bool readable = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  if (readable) {
    size_ = static_cast<size_t>(status.st_size);
    void* bytes = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) bytes_ = bytes;
  }
  if (file >= 0) ::close(file);
  if (bytes_ == nullptr)
    return {FailureKind::kInput, "table file cannot be read: " + path + "; check its name and permissions"};
  std::string error;
  if (!open_table(bytes_, size_, &table_, &error)) return {FailureKind::kInput, path + ": " + error};
  return {};
}

std::string tables_folder() {
  if (const char* folder = std::getenv("MAYA_TABLES"); folder != nullptr && *folder != 0) return folder;
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path root = program.parent_path().parent_path();
  for (const char* folder : {"lib/tables", "lib/maya/tables"})
    if (std::filesystem::is_directory(root / folder, ignored)) return root / folder;
  return {};
}

Failure shipped_table(const std::string& device, std::unique_ptr<TableFile>* file) {
  file->reset();
  const std::string folder = tables_folder();
  if (folder.empty() || folder == "none") return {};
  const std::string path = folder + "/" + device + ".table";
  std::error_code ignored;
  if (device.find('/') != std::string::npos || !std::filesystem::exists(path, ignored)) return {};
  auto opened = std::make_unique<TableFile>();
  if (Failure failure = opened->open(path)) return failure;
  *file = std::move(opened);
  return {};
}

}  // namespace maya::predictor
