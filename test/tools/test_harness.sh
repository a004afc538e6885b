#!/bin/bash
# A program of tests ends with 0 if some passed and none failed, with 77 if all were skipped, with 1 if one failed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ends() { # CODE TESTS
    local code=0
    printf '#include "test.h"\n%s\nTEST_MAIN()\n' "$2" >"$folder/program.c"
    "${MOTLEY_CC:-cc}" -I"${MOTLEY_SOURCE:?}/test" -o "$folder/program" "$folder/program.c" -lm
    "$folder/program" >"$folder/said" || code=$?
    [ $code = "$1" ] || { echo "FAIL: ended with $code, not $1:"; cat "$folder/said"; exit 1; }
}
passes='TEST(passes) { CHECK(1); }' skips='TEST(skips) { SKIP("no reason"); }' fails='TEST(fails) { CHECK(0); }'
ends 0 "$passes"
ends 0 "$passes $skips"
ends 77 "$skips"
ends 77 "$skips TEST(skips_too) { SKIP(\"no reason\"); }"
ends 1 "$fails $skips"
ends 1 ""
echo "0 for passed, 77 for skipped, 1 for failed"
