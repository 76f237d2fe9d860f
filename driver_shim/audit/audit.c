/* Redirects the dynamic loader's searches for NVIDIA's libraries to ours (rtld-audit(7)).
 *
 * Why not LD_LIBRARY_PATH or LD_PRELOAD: the wheels carry DT_RPATH, which beats LD_LIBRARY_PATH, and Python code opens
 * libraries by absolute path, which LD_PRELOAD does not catch. Every search passes through la_objsearch, so it catches
 * all of them.
 *
 * A search for base name B is answered with <our folder>/B when we have such a file. Forms of B that are understood:
 *   libcudart.so.13                    the soname
 *   libcudart.so.13.2.86               full version: cut back to what we have
 *   libcudart.3eda8113.so.13           a copy vendored into a wheel (auditwheel, "[.-]<hash>")
 *   libcudart-c64a25f3.so.12.3.101     the same, older form with a full version
 * A name that is not the one of our file is answered in the search of folders, not before it: the loader then knows our
 * library under that name as well, which it must to find the versions that another library needs of it (else it ends
 * the process: dl-version.c, needed != NULL). Files in <our folder>/fallback (libnvrtc, libnvJitLink) are used only
 * when the loader has found no copy anywhere else.
 *
 * We have two major versions of some libraries, where a machine has those that a program was installed with: a program
 * that tries one after the other by name, to find which one that is, would find both (cuDNN's front end refuses to go
 * on then). So while one is in the process, another one is found only by a library that needs it, or by its path.
 *
 * A search for a library of NVIDIA's that we should have, but under a version that we have not (a wheel of a newer CUDA
 * release) or not at all (a file of ours is gone), is explained in one line, once a name: what the loader or the
 * program says later seldom names the cause.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxFiles = 256, kMaxName = 96 };

static char own_folder[PATH_MAX];

struct FileList {
  char names[kMaxFiles][kMaxName];
  char paths[kMaxFiles][PATH_MAX];
  int opened[kMaxFiles]; /* how many of it are in the process */
  int count;
};
static struct FileList replacements;
static struct FileList fallbacks;

static void list_folder(const char* folder, struct FileList* list) {
  DIR* directory = opendir(folder);
  if (directory == NULL) return;
  struct dirent* entry;
  while ((entry = readdir(directory)) != NULL && list->count < kMaxFiles) {
    if (strncmp(entry->d_name, "lib", 3) != 0 || strstr(entry->d_name, ".so") == NULL) continue;
    if (strlen(entry->d_name) >= kMaxName || strncmp(entry->d_name, "libmaya_", 8) == 0) continue;
    strcpy(list->names[list->count], entry->d_name);
    if (snprintf(list->paths[list->count], PATH_MAX, "%s/%s", folder, entry->d_name) < PATH_MAX) ++list->count;
  }
  closedir(directory);
}

static char* find_exact(struct FileList* list, const char* name) {
  for (int i = 0; i < list->count; ++i)
    if (strcmp(list->names[i], name) == 0) return list->paths[i];
  return NULL;
}

/* True for a run of 8 or more hexadecimal digits of `length` characters. */
static int is_hash(const char* text, size_t length) {
  return length >= 8 && strspn(text, "0123456789abcdef") >= length;
}

/* Looks up `base`, then `base` without a vendoring hash, each cut back version part by version part. */
static char* find_file(struct FileList* list, const char* base) {
  char name[kMaxName];
  if (strncmp(base, "lib", 3) != 0 || strlen(base) >= sizeof name) return NULL;
  strcpy(name, base);
  char* so = strstr(name, ".so");
  if (so == NULL) return NULL;
  char* separator = so;
  while (separator > name && *--separator != '.' && *separator != '-') {
  }
  if (separator > name && is_hash(separator + 1, (size_t)(so - separator - 1))) memmove(separator, so, strlen(so) + 1);
  so = strstr(name, ".so");
  for (;;) {
    char* found = find_exact(list, name);
    if (found != NULL) return found;
    char* dot = strrchr(name, '.');
    if (dot == NULL || dot <= so) return NULL;
    if (strspn(dot + 1, "0123456789") != strlen(dot + 1) || strchr(so + 3, '.') == dot)
      return NULL; /* keep the major version */
    *dot = '\0';
  }
}

/* Libraries that come with every build of ours, by the part of their names before ".so". */
static const char* const kStems[] = {
    "libcuda",   "libcudart",   "libcublas",     "libcublasLt",  "libcudnn",        "libcufft",     "libcufftw",
    "libcurand", "libcusolver", "libcusolverMg", "libcusparse",  "libcusparseLt",   "libnccl",      "libcupti",
    "libcufile", "libnvrtc",    "libnvJitLink",  "libnvidia-ml", "libnvshmem_host", "libnvToolsExt"};

/* Appends the names in `list` that begin with `stem` and ".so." to `text`. */
static void add_versions(const struct FileList* list, const char* stem, char* text, size_t size) {
  const size_t length = strlen(stem);
  for (int i = 0; i < list->count; ++i) {
    if (strncmp(list->names[i], stem, length) != 0 || strncmp(list->names[i] + length, ".so.", 4) != 0) continue;
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used == 0 ? "" : ", ", list->names[i]);
  }
}

static void explain_missing(const char* base) {
  static char said[32][kMaxName];
  static int count = 0;
  const char* so = strstr(base, ".so.");
  if (so == NULL || strlen(base) >= kMaxName) return;
  const char* stem = NULL;
  for (size_t i = 0; i < sizeof kStems / sizeof kStems[0]; ++i)
    if (strlen(kStems[i]) == (size_t)(so - base) && strncmp(kStems[i], base, (size_t)(so - base)) == 0)
      stem = kStems[i];
  if (stem == NULL || count == 32) return;
  for (int i = 0; i < count; ++i)
    if (strcmp(said[i], base) == 0) return;
  strcpy(said[count++], base);
  char versions[512] = "";
  add_versions(&replacements, stem, versions, sizeof versions);
  add_versions(&fallbacks, stem, versions, sizeof versions);
  if (versions[0] != '\0')
    dprintf(STDERR_FILENO,
            "maya: %s belongs to a release that Maya has no library for; there is %s: use a build of the program for "
            "these\n",
            base, versions);
  else
    dprintf(STDERR_FILENO, "maya: %s is missing from %s: build or install Maya's libraries again\n", base, own_folder);
}

__attribute__((visibility("default"))) unsigned int la_version(unsigned int version) {
  Dl_info self;
  if (dladdr((void*)&la_version, &self) == 0 || realpath(self.dli_fname, own_folder) == NULL) return 0;
  char* slash = strrchr(own_folder, '/');
  if (slash == NULL) return 0;
  *slash = '\0';
  list_folder(own_folder, &replacements);
  char folder[PATH_MAX];
  if (snprintf(folder, sizeof folder, "%s/fallback", own_folder) < (int)sizeof folder) list_folder(folder, &fallbacks);
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* True where the library `by` names `name` among those it needs. */
static int needs(const struct link_map* by, const char* name) {
  const char* strings = NULL;
  if (by == NULL || by->l_ld == NULL) return 0;
  for (const ElfW(Dyn)* entry = by->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = (const char*)entry->d_un.d_ptr;
  for (const ElfW(Dyn)* entry = by->l_ld; strings != NULL && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED && strcmp(strings + entry->d_un.d_val, name) == 0) return 1;
  return 0;
}

/* True where another version of the library in `path` is in the process, and that one is not. */
static int other_version_is_open(const char* path) {
  const char* base = strrchr(path, '/') + 1;
  const size_t stem = (size_t)(strstr(base, ".so.") - base) + 4;
  int other = 0;
  for (int i = 0; i < replacements.count; ++i) {
    if (replacements.opened[i] == 0 || strncmp(replacements.names[i], base, stem) != 0) continue;
    if (strcmp(replacements.names[i], base) == 0) return 0;
    other = 1;
  }
  return other;
}

/* A library that was found in a folder bears that folder's name, though it is ours. */
static void count_opened(const struct link_map* map, int by) {
  const char* slash = strrchr(map->l_name, '/');
  const char* path = find_file(&replacements, slash == NULL ? map->l_name : slash + 1);
  for (int i = 0; i < replacements.count; ++i)
    if (replacements.paths[i] == path) replacements.opened[i] += by;
}

__attribute__((visibility("default"))) unsigned int la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  (void)space;
  *cookie = (uintptr_t)map;
  count_opened(map, 1);
  return 0; /* no calls are audited */
}

__attribute__((visibility("default"))) unsigned int la_objclose(uintptr_t* cookie) {
  count_opened((const struct link_map*)*cookie, -1);
  return 0;
}

__attribute__((visibility("default"))) char* la_objsearch(const char* name, uintptr_t* cookie, unsigned int flag) {
  const char* slash = strrchr(name, '/');
  const char* base = slash == NULL ? name : slash + 1;
  char* ours = find_file(&replacements, base);
  if (ours != NULL) {
    if (other_version_is_open(ours) && !needs((const struct link_map*)*cookie, base)) {
      if (flag == LA_SER_ORIG) return slash == NULL ? (char*)name : ours;
      return strcmp(name, ours) != 0 && access(name, F_OK) == 0 ? ours : NULL;
    }
    int renamed = strcmp(strrchr(ours, '/') + 1, base) != 0;
    return renamed && slash == NULL && flag == LA_SER_ORIG ? (char*)name : ours;
  }
  if (flag == LA_SER_ORIG && find_file(&fallbacks, base) == NULL) explain_missing(base);
  if (flag == LA_SER_DEFAULT && access(name, F_OK) != 0) {
    char* fallback = find_file(&fallbacks, base);
    if (fallback != NULL) return fallback;
  }
  return (char*)name;
}
