#!/usr/bin/env bash
# Installs what building and testing need from Debian 12's packages; does nothing when all is there.
set -euo pipefail
packages="g++ cmake ninja-build ccache protobuf-compiler libprotobuf-dev libabsl-dev libcli11-dev catch2 libzstd-dev liblz4-dev zlib1g-dev nlohmann-json3-dev libxgboost-dev python3 python3-venv python3-pip gcc libc6-dev"
missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
$sudo apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
