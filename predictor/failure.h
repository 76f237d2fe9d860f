// Why a prediction could not be made: the kind decides the exit status of the command (interface.md), the text is one
// line for people.
#pragma once

#include <string>

namespace maya::predictor {

enum class FailureKind {
  kNone,
  kUsage,   // an option or its value: status 2
  kInput,   // a trace that cannot be used: status 3
  kOutput,  // a file that cannot be written: status 4
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  std::string text;  // "what is wrong: the thing; what to do"
  explicit operator bool() const { return kind != FailureKind::kNone; }
};

}  // namespace maya::predictor
