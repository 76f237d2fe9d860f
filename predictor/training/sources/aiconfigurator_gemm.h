// aiconfigurator's 8-bit products hold more than the product; this is how much.
#pragma once

#include <cstdint>
#include <string_view>

namespace maya::training {

// Nanoseconds that the published fp8 time of x[rows, depth] spends on converting x from bfloat16 to 8 bits, in kernels
// of its own before the product; 0 for devices without fp8 tables. read_measurements() leaves it in.
//
// Found from products of 32 to 128 features, which memory bounds: their fp8 time less half the bfloat16 time of the
// same shape is 3 to 4 us for small x and grows to 2.0 (H100), 1.3 (H200), 1.1 (B200) and 7 (L40S) ps an element for
// more than 2^28 elements, which is about two reads and one write. Between 2^20 and 2^26 elements the difference is up
// to twice that, as the product itself is slower than half.
double fp8_conversion_ns(std::string_view device, int64_t rows, int64_t depth);

}  // namespace maya::training
