// How one kind of file becomes measurements. One .cc a kind; the registry holds them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predictor/training/csv.h"
#include "predictor/training/measurement.h"
#include "predictor/training/report.h"

namespace maya::training {

// A file that is offered to the sources.
struct InputFile {
  std::string path;
  std::string name;          // without folders
  CsvReader* csv = nullptr;  // header read, no row yet; nullptr unless the name ends in .csv or .csv.gz
};

// What a reader is given and what it fills.
struct Collector {
  std::string device;  // name of the profile whose measurements are wanted
  std::vector<Measurement>* measurements;
  Report* report;

  // Takes a measurement of `time_ns`, for a row at `where` of `file`; times that are not positive numbers are refused
  // and counted. True when taken.
  bool take(const InputFile& file, Measurement measurement, double time_ns);
};

struct Source {
  const char* name;  // of a measurement's `source`
  bool (*recognises)(const InputFile& file);
  // Appends the measurements of the wanted device. False with one line in `error` when the file cannot be used at all.
  bool (*read)(const InputFile& file, Collector* collector, std::string* error);
};

extern const Source kCanonicalTable;
extern const Source kAiconfiguratorGemm;
extern const Source kAiconfiguratorAttention;
extern const Source kAiconfiguratorExperts;
extern const Source kAiconfiguratorLatent;
extern const Source kNeusight;
extern const Source kTraceKernels;
extern const Source kTraceCopies;
extern const Source kVidur;
extern const Source kSimumax;
extern const Source kFlashAttention;
extern const Source kLigerBenchmarks;
extern const Source kCollectiveTable;
extern const Source kAiconfiguratorCollectives;
extern const Source kSetAside;

// A measurement of a library operation.
Measurement measurement_of(const std::string& device, const OperationRecord& record, const char* source);

inline constexpr double kNsPerUs = 1e3, kNsPerMs = 1e6;

}  // namespace maya::training
