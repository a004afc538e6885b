#!/bin/bash
# A build says nothing of the folder it was made in; two clones in different folders give the same bytes.
# The second takes two builds: only with MOTLEY_LONG=1.
set -euo pipefail
source=${MOTLEY_SOURCE:?names the tree} build=${MOTLEY_BUILD:?names the build}
for file in "$build/motley" "$build"/libmotley.so.*.*.*; do
    [ -e "$file" ] || continue
    if grep -qF "$source" "$file"; then
        echo "FAIL: $file holds the path of the tree it was built in:"
        strings -a "$file" | grep -F "$source" | head -n 3
        exit 1
    fi
done
echo "ok: no path of the tree in what was built"
[ -n "${MOTLEY_LONG:-}" ] || exit 0

box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
for clone in one somewhere/else/two; do
    git clone -q "$source" "$box/$clone"
    "${CMAKE:-cmake}" -S "$box/$clone" -B "$box/$clone/build" >/dev/null
    "${CMAKE:-cmake}" --build "$box/$clone/build" -j "$(nproc)" --target motley motley_shared >/dev/null
done
for file in motley libmotley.so; do
    cmp "$box/one/build/$file" "$box/somewhere/else/two/build/$file" || { echo "FAIL: $file differs"; exit 1; }
done
echo "ok: two clones give the same bytes"
