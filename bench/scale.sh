#!/bin/bash
# How the trunk scales over the GPUs of this machine: parity of every port on the meshes of 1, 2, 4 or 8 GPUs, strong
# scaling, and the largest N that fits; results and a table come to a folder. bench/README.md says more.
#
#   bench/scale.sh build-gpu docs/evidence/scale                        on as many GPUs as there are
#   bench/scale.sh build /tmp/scale --backend threads --quick           a dry run on the CPU, ranks as threads
#
# Exit codes: 0 everything measured and green, 1 something red or failed, 2 bad usage or something is not built, 3 no
# GPUs or too few. --help lists the options.
set -e
command -v python3 > /dev/null || { echo "scale.sh: needs python3" >&2; exit 2; }
exec python3 "$(dirname "$0")/scaling/scale.py" "$@"
