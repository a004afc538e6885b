#!/bin/bash
# A live run that was predicted says how right that was, in words and in its summary.
. "$(dirname "$0")/../says.sh"
cd "$box" || exit 1
# Jobs of 40 ms and links that take no time: emulated, a run takes what the simulator says, and what a busy machine adds.
cat >cluster.yaml <<'YAML'
network: none
workers: [{count: 2, speed: 800 samples/s}]
YAML
run=(--data digits --model softmax --batch 32 --cluster cluster.yaml --stop-updates 25)
"$MOTLEY" sim "${run[@]}" --out foreseen --quiet >/dev/null
says "a run says how right its prediction was" 0 "Predicted: 40.0 ms an update; it took" \
    "$MOTLEY" train "${run[@]}" --emulate --predicted foreseen --out real
grep -q '"predicted": {"update_s": 0.04' real/summary.json && echo "ok   so does its summary" ||
    { echo "FAIL: the summary has no prediction"; failures=$((failures + 1)); }
# How far it was off follows from the two figures.
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' && echo "ok   off is what predicted and taken time give" || failures=$((failures + 1))
import json
of = json.load(open("real/summary.json"))["predicted"]
assert abs(of["off"] - (of["update_s"] / of["took_s"] - 1)) < 1e-9, of
assert of["off"] < 0.05, of  # a job is held for as long as the cluster says; a busy machine adds to that
PYTHON
fi
echo '{"update_s": 4}' >plan.json
says "far off, it says by which factor" 0 "times as fast as predicted." \
    "$MOTLEY" train "${run[@]}" --emulate --predicted plan.json
echo '{"update_s": 0.0001}' >plan.json
says "in both directions" 0 "times as long as predicted." "$MOTLEY" train "${run[@]}" --emulate --predicted plan.json
"$MOTLEY" train "${run[@]}" --emulate --predicted plan.json >far.txt
grep -Eq 'ms: [0-9]+ times as long as predicted' far.txt && echo "ok   a large factor is a whole number" ||
    { echo "FAIL: the factor: $(grep Predicted far.txt)"; failures=$((failures + 1)); }
says "no prediction is refused" 2 "expected the folder of a simulated run, or a plan.json" \
    "$MOTLEY" train "${run[@]}" --predicted nothing
echo "$failures failed"
[ $failures -eq 0 ]
