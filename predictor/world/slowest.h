// Devices of one model are not alike: how much longer the slowest of many takes than the one that was measured.
#pragma once

#include <cstdint>
#include <string_view>

#include "predictor/core/collective_table.h"
#include "predictor/cost_stage.h"
#include "predictor/world/world.h"

namespace maya::predictor {

// Standard deviation of kernel times between devices of one model, over their mean; its source is in
// predictor/tables/parameters.txt.
inline constexpr std::string_view kDeviceSpread = "devices.spread";
inline constexpr double kMostDeviceSpread = 0.2;

// Expected value of the largest of `count` independent standard normal variables, from its integral: 0 for 1, 0.564 for
// 2, 1.424 for 8, 3.04 for 512. 0 counts as 1.
double expected_largest(uint64_t count);

// Factors of kernel times, at least 1.
struct SlowestDevice {
  uint64_t devices = 1;  // that wait for each other
  double spread = 0;
  double median = 1, low = 1, high = 1;  // low, high: the 80 % interval by the error of the spread
};

// `error`: standard error of `spread`. Both from 0; no more than kMostDeviceSpread counts.
SlowestDevice slowest_device(uint64_t devices, double spread, double error);

// How many devices wait for each other: the whole world where any of its ranks communicates, else 1.
uint64_t devices_that_wait(const World& world);

// Kernels take longer by the factors; copies, fills and communication do not.
void slow_down(const SlowestDevice& slowest, CostTable* table);

}  // namespace maya::predictor
