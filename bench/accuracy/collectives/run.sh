#!/usr/bin/env bash
# Accuracy of the model of collectives on what was kept back: sizes at random, whole rank counts, whole collectives of
# a fabric, whole fabrics; median and 95th percentile error and share inside the 80 % interval, beside a straight line
# (start-up time plus bytes over a bandwidth) fitted to the other sizes of the same collective, ranks and nodes.
# usage: bench/accuracy/collectives/run.sh DATA     DATA: folder of measurements
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
data="${1:?usage: run.sh DATA}"
binaries="${MAYA_BINARIES:-$here/../../../build/release/bin}"
"$binaries/maya-train" --collectives --data "$data" --parameters "$here/../../../predictor/tables/parameters.txt" --sources
