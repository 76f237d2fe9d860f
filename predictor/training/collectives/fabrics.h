// Which links a row of a public table of collectives ran over.
#pragma once

#include <string>
#include <string_view>

#include "predictor/core/cluster.h"

namespace maya::training {

// `gpu`, `fabric`: cells of the table; `fabric` may be empty: the usual links inside a node of the device. False when
// the row cannot be learned from; `reason` says why.
bool fabric_of(std::string_view gpu, std::string_view fabric, bool several_nodes, Cluster* cluster,
               std::string* reason);

// The links inside a node of a cluster: its description without the network. The name is the device's and the link's.
Cluster inside_of(const Cluster& cluster);

}  // namespace maya::training
