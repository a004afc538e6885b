#!/bin/bash
# The Containerfile builds on a base made of Debian's packages alone, and what it builds runs. Takes many minutes and a
# network: only with MOTLEY_LONG=1, and where podman and mmdebstrap are installed and may make containers.
set -euo pipefail
source=${MOTLEY_SOURCE:?names the tree}
skip() { echo "skipped: $*"; exit 77; }
[ -n "${MOTLEY_LONG:-}" ] || skip "it takes long: MOTLEY_LONG=1 runs it"
for tool in podman mmdebstrap; do command -v $tool >/dev/null || skip "no $tool"; done
box=$(mktemp -d)
base=motley-base-$$ image=motley-test-$$
away() {
    podman rmi -f "$image" "$base" >/dev/null 2>&1 || true
    rm -rf "$box"
}
trap away EXIT
# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --quiet --variant=apt "$release" "$box/base.tar" 2>"$box/log" || skip "mmdebstrap cannot reach Debian: $(tail -n 1 "$box/log")"
podman import -q "$box/base.tar" "$base" >/dev/null 2>"$box/log" || skip "podman cannot import: $(tail -n 1 "$box/log")"
# Where containers may not be started (limits that root may not raise), chroot stands in: for building, and to look.
starts=yes isolation=()
if ! podman run --rm "$base" true 2>"$box/log"; then
    [ "$(id -u)" -eq 0 ] || skip "podman cannot run containers here: $(tail -n 1 "$box/log")"
    echo "note: no container can be started here ($(tail -n 1 "$box/log")): chroot stands in for it"
    starts=no isolation=(--isolation chroot)
fi
echo "ok   a base of Debian $release"
podman build -q --layers=false "${isolation[@]}" --network host --build-arg BASE="localhost/$base" -t "$image" -f "$source/Containerfile" \
    "$source" >"$box/log" 2>&1 || { tail -n 30 "$box/log"; echo "FAIL: podman build"; exit 1; }
echo "ok   the image is built"

run=(sim --data digits --model softmax --stop-updates 20 --quiet)
if [ $starts = no ]; then
    chroot "$(podman image mount "$image")" motley "${run[@]}" >"$box/said"
    podman image unmount "$image" >/dev/null
else
    podman run --rm "$image" "${run[@]}" >"$box/said"
fi
grep -q 'done after 20 updates' "$box/said" || { echo "FAIL: it said $(cat "$box/said")"; exit 1; }
echo "ok   what it holds runs"
[ $starts = yes ] || exit 0
podman run --rm "$image" train --workers 2 --ranks 2 --data digits --model softmax --stop-updates 20 --quiet >"$box/said"
grep -q 'done after 20 updates' "$box/said" || { echo "FAIL: over MPI it said $(cat "$box/said")"; exit 1; }
echo "ok   over MPI, too"
