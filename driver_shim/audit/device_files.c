// Programs that look for NVIDIA's device files before they look for a driver (JAX does) find them: questions whether
// /dev/nvidia0, /dev/nvidia1... (as many as there are devices), /dev/nvidiactl and /dev/nvidia-uvm exist are answered
// as a machine with a driver answers them, with character devices of major number 195 (NVIDIA's, as the kernel's list
// of device numbers has it). Everything else goes to the C library. The files cannot be opened: nothing of CUDA's is
// reached through them. maya-run puts this library into LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { kMajor = 195, kControlMinor = 255, kMostDevices = 64 };

static int devices(void) {
  const char* text = secure_getenv("MAYA_DEVICES");
  if (text == NULL || *text == '\0') return 1;
  const long count = strtol(text, NULL, 10);
  return count < 0 || count > kMostDevices ? 0 : (int)count;
}

// The minor number of a device file that is there; -1: not such a path.
static int minor_of(const char* path) {
  static const char kFolder[] = "/dev/nvidia";
  if (path == NULL || strncmp(path, kFolder, sizeof kFolder - 1) != 0) return -1;
  const char* rest = path + sizeof kFolder - 1;
  if (strcmp(rest, "ctl") == 0) return devices() > 0 ? kControlMinor : -1;
  if (strcmp(rest, "-uvm") == 0) return devices() > 0 ? 0 : -1;
  if (*rest < '0' || *rest > '9' || (rest[0] == '0' && rest[1] != '\0')) return -1;
  char* end = NULL;
  const long number = strtol(rest, &end, 10);
  return *end == '\0' && number < devices() ? (int)number : -1;
}

// struct stat64 has the layout of struct stat on 64-bit Linux.
static int answer(int minor, void* where) {
  struct stat* out = where;
  memset(out, 0, sizeof *out);
  out->st_mode = S_IFCHR | 0666;
  out->st_rdev = makedev(kMajor, (unsigned)minor);
  out->st_nlink = 1;
  out->st_blksize = 4096;
  return 0;
}

#define EXPORT __attribute__((visibility("default")))
// The C library's own function of the name; resolved once, a race resolves it twice alike.
#define NEXT(name, type)                                 \
  static __typeof__((type)0) next;                       \
  if (next == NULL) next = (type)dlsym(RTLD_NEXT, name); \
  if (next == NULL) {                                    \
    errno = ENOSYS;                                      \
    return -1;                                           \
  }

typedef int (*Access)(const char*, int);
typedef int (*AccessAt)(int, const char*, int, int);

#define DEFINE_STAT(name, Type)                  \
  EXPORT int name(const char* path, Type* out) { \
    const int minor = minor_of(path);            \
    if (minor >= 0) return answer(minor, out);   \
    NEXT(#name, int (*)(const char*, Type*))     \
    return next(path, out);                      \
  }
#define DEFINE_STAT_AT(name, Type)                                      \
  EXPORT int name(int folder, const char* path, Type* out, int flags) { \
    const int minor = minor_of(path);                                   \
    if (minor >= 0) return answer(minor, out);                          \
    NEXT(#name, int (*)(int, const char*, Type*, int))                  \
    return next(folder, path, out, flags);                              \
  }
// Programs built for glibc before 2.33 call these.
#define DEFINE_VERSIONED_STAT(name, Type)                     \
  EXPORT int name(int version, const char* path, Type* out) { \
    const int minor = minor_of(path);                         \
    if (minor >= 0) return answer(minor, out);                \
    NEXT(#name, int (*)(int, const char*, Type*))             \
    return next(version, path, out);                          \
  }
#define DEFINE_VERSIONED_STAT_AT(name, Type)                                         \
  EXPORT int name(int version, int folder, const char* path, Type* out, int flags) { \
    const int minor = minor_of(path);                                                \
    if (minor >= 0) return answer(minor, out);                                       \
    NEXT(#name, int (*)(int, int, const char*, Type*, int))                          \
    return next(version, folder, path, out, flags);                                  \
  }

DEFINE_STAT(stat, struct stat)
DEFINE_STAT(stat64, struct stat64)
DEFINE_STAT(lstat, struct stat)
DEFINE_STAT(lstat64, struct stat64)
DEFINE_STAT_AT(fstatat, struct stat)
DEFINE_STAT_AT(fstatat64, struct stat64)
DEFINE_VERSIONED_STAT(__xstat, struct stat)
DEFINE_VERSIONED_STAT(__xstat64, struct stat64)
DEFINE_VERSIONED_STAT(__lxstat, struct stat)
DEFINE_VERSIONED_STAT(__lxstat64, struct stat64)
DEFINE_VERSIONED_STAT_AT(__fxstatat, struct stat)
DEFINE_VERSIONED_STAT_AT(__fxstatat64, struct stat64)

static int answer_access(int mode) {
  if ((mode & X_OK) == 0) return 0;
  errno = EACCES;
  return -1;
}
EXPORT int access(const char* path, int mode) {
  if (minor_of(path) >= 0) return answer_access(mode);
  NEXT("access", Access)
  return next(path, mode);
}
EXPORT int faccessat(int folder, const char* path, int mode, int flags) {
  if (minor_of(path) >= 0) return answer_access(mode);
  NEXT("faccessat", AccessAt)
  return next(folder, path, mode, flags);
}
EXPORT int statx(int folder, const char* restrict path, int flags, unsigned mask, struct statx* restrict out) {
  const int minor = minor_of(path);
  if (minor >= 0) {
    memset(out, 0, sizeof *out);
    out->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
    out->stx_mode = S_IFCHR | 0666;
    out->stx_nlink = 1;
    out->stx_rdev_major = kMajor;
    out->stx_rdev_minor = (unsigned)minor;
    return 0;
  }
  typedef int (*StatX)(int, const char*, int, unsigned, struct statx*);
  NEXT("statx", StatX)
  return next(folder, path, flags, mask, out);
}
