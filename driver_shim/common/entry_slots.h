// Entry points that can be replaced at run time (make_entry_tables.cc): where libcupti finds those that it wraps.
// Includes no CUDA header: generated code declares the functions without their parameters.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya {

using AnyFunction = void (*)();

// An exported function that can be replaced at run time: programs reach it through a jump to *slot.
struct EntrySlot {
  const char* name;
  AnyFunction body;                // our own function
  std::atomic<AnyFunction>* slot;  // `body` at first
};
struct EntrySlots {
  const char* library;     // soname
  const EntrySlot* slots;  // in order of name
  uint32_t count;
  EntrySlots* next;  // set by the driver
};

namespace shim {
extern EntrySlots entry_slots;  // of this library, where it is a replaceable one (make_entry_tables.cc)
}

// The exported function NAME: one indirect jump. Everything that the caller passed stays where it is.
#if defined(__x86_64__)
#define MAYA_JUMP(name)                                                                                             \
  ".pushsection .text\n.p2align 4\n.globl maya_jump_" name "\n.type maya_jump_" name ", @function\nmaya_jump_" name \
  ":\n\tendbr64\n\tjmp *maya_slot_" name                                                                            \
  "(%rip)\n.size "                                                                                                  \
  "maya_jump_" name ", .-maya_jump_" name "\n.popsection"
#elif defined(__aarch64__)
#define MAYA_JUMP(name)                                                                                             \
  ".pushsection .text\n.p2align 4\n.globl maya_jump_" name "\n.type maya_jump_" name ", @function\nmaya_jump_" name \
  ":\n\tbti c\n\tadrp x16, maya_slot_" name                                                                         \
  "\n\tldr x16, [x16, "                                                                                             \
  ":lo12:maya_slot_" name "]\n\tbr x16\n.size maya_jump_" name ", .-maya_jump_" name "\n.popsection"
#endif

}  // namespace maya
