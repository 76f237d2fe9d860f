// What every streaming operation has to move, by operator: the one table that launches and operations described by
// columns share, so that both give the same bytes. Internal to the estimate core.
#pragma once

#include "predictor/core/operation.h"

namespace maya::model {

struct Traffic {
  double read_bytes = 0;
  double written_bytes = 0;
};

// Compulsory traffic of an operation over rows x columns elements of `type`: each tensor once, however many passes an
// implementation makes. Sizes:
//   elementwise, copies, index: the elements of the result;
//   embedding: `rows` of `columns`, and a 64-bit index each;
//   normalization, softmax: rows of `columns` that are treated one by one; layer and RMS norm also move their weights
//     (`columns` of them) and 32-bit statistics (two or one a row);
//   reduction: `rows` results of `columns` elements each;
//   nll_loss: `rows` losses, each of which costs a 32-byte sector and a 64-bit target;
//   optimizer: all parameters together.
// Operator::kNone gives the family's plain pass.
Traffic traffic_of(Family family, Operator op, DataType type, double rows, double columns, bool backward);

}  // namespace maya::model
