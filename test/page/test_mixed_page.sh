#!/bin/bash
# The pages of decentralised runs in headless Chromium: how far the models are apart, and who sends to whom, of few nodes and of many.
. "$(dirname "$0")/needs_browser.sh"
# page NAME FLAG...
page() {
    "$motley" sim --out "$folder/$1" --quiet --model softmax --evaluate-every '5 updates' "${@:2}"
    report "$1"
}
report() { "$motley" report "$folder/$1" --out "$folder/pages/$1.html" --quiet; }
page ring --workers 8 --method dpsgd --topology ring --stop-updates 40
page push --workers 6 --method sgp --stop-updates 40
page many --workers 200 --method async --stop-updates 400
page alone --workers 1 --method allreduce --stop-updates 20
# A run whose mixing moved the mean, as a method with a deadline may leave it.
cp -r "$folder/ring" "$folder/drifting"
sed -i 's/}$/,"drift":0.0125,"mass":0.75}/' "$folder/drifting/metrics.jsonl"
sed -i 's/^  "consensus": .*/&\n  "drift": 0.0125,\n  "mass": 0.75,/; s/^  "notes": {},/  "notes": {"rounds_behind": {"count": 8, "sum": 12, "mean": 1.5, "max": 4}, "dropped_segments": {"count": 3, "sum": 3, "mean": 1, "max": 1}},/' "$folder/drifting/summary.json"
report drifting
# A summary that somebody damaged: what cannot be is left out, and the page is drawn.
cp -r "$folder/ring" "$folder/damaged"
sed -i 's/^    "sent": .*/    "sent": [[0, 1, 100, 1], [0, 99, 5, 1], [-1, 2, 5, 1], "x", [2, 3]]/' "$folder/damaged/summary.json"
report damaged
/usr/bin/python3 "$here/mixed_checks.py" "$folder/pages"
