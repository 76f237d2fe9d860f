// The device that a prediction is for.
#pragma once

#include <memory>
#include <string>

#include "predictor/core/cluster.h"
#include "predictor/failure.h"
#include "predictor/table_file.h"
#include "trace_proto/loaded_trace.h"
#include "virtual_device/profile.h"

namespace maya::predictor {

struct Target {
  device::DeviceProfile profile;
  bool is_traced_device = true;      // the program ran on the same device
  std::shared_ptr<TableFile> table;  // learned table of the device; null: there is none

  const Table* learned() const { return table == nullptr ? nullptr : &table->table(); }
};

// A built-in profile by name, or a profile file by path. Usage failure: unknown, unreadable or wrong.
Failure named_profile(const std::string& device, device::DeviceProfile* profile);

// A built-in cluster by name, or a description by path. Usage failure: unknown, unreadable or wrong.
Failure named_cluster(const std::string& name, Cluster* cluster);

// The text of a profile file. Usage failure: unreadable.
Failure profile_text(const std::string& path, std::string* text);

// `device`: name of a built-in profile or path of a profile file; empty: the traced device, whose profile travels with
// the trace. `table`: path of a table file; empty: the one that came with Maya, if there is one for the device.
Failure resolve_target(const std::string& device, const trace::LoadedTrace& trace, const std::string& table,
                       Target* target);

}  // namespace maya::predictor
