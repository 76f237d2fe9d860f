// Processes that end by _exit() run no exit handlers: Python's multiprocessing ends those that it has forked so, vLLM's
// engine for example. Their traces would have no end and look as if they had been killed. Here the driver hears of it
// first. It is in LD_PRELOAD as device_files.c is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void (*End)(void);
static _Atomic(End) process_end;

// Called by the driver when its trace begins.
EXPORT void maya_call_at_end(End end) { atomic_store(&process_end, end); }

static _Noreturn void leave(int status) {
  // It stays: a child of vfork() that comes here shares it with its parent.
  const End end = atomic_load(&process_end);
  if (end != NULL) end();
  for (;;) syscall(SYS_exit_group, status);
}

EXPORT _Noreturn void _exit(int status) { leave(status); }
EXPORT _Noreturn void _Exit(int status) { leave(status); }
