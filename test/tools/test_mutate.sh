#!/bin/bash
# tools/mutate draws the same mutants from the same seed, in every room, each one line of code.
set -uo pipefail
command -v python3 >/dev/null || { echo "skip: there is no python3"; exit 77; }
cd "$MOTLEY_SOURCE" || exit 1
failures=0
holds() { # CLAIM COMMAND...
    local claim=$1
    shift
    if "$@"; then echo "ok   $claim"; else echo "FAIL $claim"; failures=$((failures + 1)); fi
}
export PYTHONDONTWRITEBYTECODE=1
first=$(tools/mutate --list --seed 3 --mutants 40) || { echo "FAIL mutants are listed"; exit 1; }
again=$(tools/mutate --list --seed 3 --mutants 40)
other=$(tools/mutate --list --seed 4 --mutants 40)
one=$(tools/mutate --list --seed 3 --only live.7)

holds "the same seed gives the same mutants" [ "$first" = "$again" ]
holds "another seed gives others" [ "$first" != "$other" ]
holds "one of them can be repeated by itself" [ "$(grep -A2 '^live\.7 ' <<<"$first")" = "$one" ]
rooms=$(ls -d src/*/ | xargs -n1 basename | sort | tr '\n' ' ')
holds "every room has its share" [ "$(sed -n 's/^\([a-z]*\)\.39 .*/\1/p' <<<"$first" | sort | tr '\n' ' ')" = "$rooms" ]
holds "every mutant differs from what it replaces" awk '/^- / { old = substr($0, 3) } /^[+] / { if (substr($0, 3) == old) exit 1 }' <<<"$first"
kinds=$(sed -n 's/^[a-z]*\.[0-9]* [^ ]* //p' <<<"$first" | sort -u | tr '\n' ' ')
holds "all kinds are drawn: $kinds" [ "$kinds" = "arguments call comparison condition constant logic return sign " ]
# What a listed line replaces is code: nothing that a comment or an assertion says.
holds "comments and assertions are left alone" awk '/^- / && (/^- (\/\*|#)/ || /MOT_ASSERT/) { exit 1 }' <<<"$first"
exit $((failures > 0))
