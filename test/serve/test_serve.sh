#!/bin/bash
# --serve over real HTTP: what is served, what is refused, and that a run is the same with and without it.
set -euo pipefail
motley=${MOTLEY:?names the program}
here=$(dirname "$0")
[ -x /usr/bin/python3 ] || { echo "skipped: python3 is not installed: tools/setup test"; exit 77; }
said=$("$motley" sim --serve 127.0.0.1:0 --stop-updates 1 --quiet 2>&1) || case $said in
*'built without libmicrohttpd'*) echo "skipped: this motley was built without libmicrohttpd"; exit 77 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
MOTLEY_STORE=$folder/store /usr/bin/python3 "$(cd "$OLDPWD" && cd "$here" && pwd)/serve_checks.py" "$motley"
