#!/bin/bash
# Every command that README and docs show can be run as it stands there: see documented.py.
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
exec python3 "$(dirname "$0")/documented.py" "$(dirname "$0")/../.." "${MOTLEY:?names the program}" "${MOTLEY_BUILD:-$(dirname "$MOTLEY")}"
