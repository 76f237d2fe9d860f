// Finds a unit that repeats at the end of a sequence, however little of the whole it explains: a program that tunes
// kernels first (torch.compile) launches thousands of them before a few regular steps.
#pragma once

#include "predictor/repetition.h"

namespace maya::predictor {

// The shortest unit of at least eight tokens that fills the end of the sequence at least twice, but for a few tokens
// behind it, and holds optimizer work where the sequence has any. Units are ascending; the first of them is everything
// before the regular ones (warm-up), when there is any. Period 0: none.
Repetition closing_repetition(std::span<const Token> tokens);

}  // namespace maya::predictor
