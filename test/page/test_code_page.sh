#!/bin/bash
# The pages of coded runs in headless Chromium: exact and approximate codes, negative coefficients, a matrix too large to draw cell by cell, a run without a code.
. "$(dirname "$0")/needs_browser.sh"
slow='{workers: [{count: 6, straggle: {name: iid, p: 0.8, factor: 5}}, {count: 6, straggle: {name: iid, p: 0.01, factor: 5}}]}'
# page NAME FLAG...
page() {
    "$motley" sim --out "$folder/$1" --quiet --model softmax --stop-updates 40 "${@:2}"
    "$motley" report "$folder/$1" --out "$folder/pages/$1.html" --quiet
}
page frc --cluster "$slow" --method coded --code frc --code-stragglers 2 --method-deadline fixed --method-after 200ms
page crc --cluster "$slow" --method coded --code crc --code-stragglers 3
page large --cluster '{workers: [{count: 30, straggle: {name: iid, p: 0.7, factor: 8}}, {count: 120}]}' --method coded --code expander --code-load 9
page plain --workers 2
/usr/bin/python3 "$here/code_checks.py" "$folder/pages"
