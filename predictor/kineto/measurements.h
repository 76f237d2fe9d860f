// Measured durations of operations, as maya-train learns them, from a profiler's trace or from one of ours that carries
// measured durations.
//
// Kernels of libraries become the shaped operation that their operator tells (library_operation.h): the time is then
// the sum over the operator's library kernels. Other kernels are told apart by name, grid, block, registers and shared
// memory. Copies and fills are told apart by kind and bytes. Collectives are left out: they wait for their peers.
// Medians over the repeats, spread as p90 / p10; in order of first occurrence.
#pragma once

#include <string>
#include <vector>

#include "predictor/failure.h"
#include "predictor/kineto/kineto_trace.h"
#include "predictor/training/measurement.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor::kineto {

// `device` and `source` become those of the measurements.
std::vector<training::Measurement> measurements_of(const KinetoTrace& trace, const std::string& device,
                                                   const std::string& source);
std::vector<training::Measurement> measurements_of(const trace::LoadedTrace& trace, const std::string& device,
                                                   const std::string& source);

// Appends the measurements of a file: a profiler's trace where the name ends in .json or .json.gz, else one of ours.
// The source is the file's name. `device` is a profile's name; empty: the one that the file names. Fails where a file
// has no measured durations.
Failure read_measurements(const std::string& path, const std::string& device,
                          std::vector<training::Measurement>* measurements);

}  // namespace maya::predictor::kineto
