#!/bin/bash
# Exit codes that were wrong once: what is wrong with a file of motley's own is a mistake of its user, not bad data.
. "$(dirname "$0")/../says.sh"
cd "$box" || exit 1
{ echo 'seed: 1'; head -c 5000000 /dev/zero | tr '\0' '#'; } >long.yaml
says "an experiment that is too long" 2 "long.yaml: found 5000008 bytes, expected at most 4194304" "$MOTLEY" sim long.yaml
says "a cluster that is too long" 2 "long.yaml: found 5000008 bytes" "$MOTLEY" sim --cluster long.yaml
says "a study that is too long" 2 "long.yaml: found 5000008 bytes" "$MOTLEY" compare long.yaml
printf '\xef\xbb\xbfseed: 1\nworkers: 2\nstop: {updates: 3}\n' >mark.yaml
says "a byte-order mark before an experiment is no mistake" 0 "" "$MOTLEY" sim mark.yaml --quiet
exit $((failures > 0))
