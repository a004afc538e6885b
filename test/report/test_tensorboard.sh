#!/bin/bash
# Files of events are read back by an independent reader: protoc decodes the messages, crcmod the checksums.
set -euo pipefail
motley=${MOTLEY:?names the program}
here=$(dirname "$0")
python=/usr/bin/python3
[ -x $python ] && $python -c 'import crcmod' 2>/dev/null || { echo "skipped: python3-crcmod is not installed: tools/setup test"; exit 77; }
command -v protoc >/dev/null || { echo "skipped: protobuf-compiler is not installed: tools/setup test"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
name=events.out.tfevents.0.motley
read_back() { $python "$here/events.py" "$1/$name" "$(realpath "$here")/event.proto" "$1/metrics.jsonl"; }

flags=(--data digits --model softmax --method async --workers 4 --optimizer-lr 0.05 --evaluate-every "10 updates" --quiet)
"$motley" sim "${flags[@]}" --stop-updates 120 --out "$folder/one" --tensorboard
read_back "$folder/one"
echo "ok   an independent reader finds every evaluation"

"$motley" sim "${flags[@]}" --stop-updates 120 --sim-threads 1 --out "$folder/two" --tensorboard
cmp "$folder/one/$name" "$folder/two/$name" || fail "two runs of one seed give different bytes"
echo "ok   two simulated runs of one seed give the same bytes"

# Stopped in the middle and resumed: without the flag too, since the file is there.
"$motley" sim "${flags[@]}" --stop-updates 65 --out "$folder/half" --tensorboard
"$motley" sim "${flags[@]}" --stop-updates 120 --out "$folder/half" --resume
read_back "$folder/half"
cmp "$folder/one/$name" "$folder/half/$name" || fail "a resumed run has other events than one that nobody stopped"
# A run that was not asked for events at first has them from its beginning when resumed with the flag.
"$motley" sim "${flags[@]}" --stop-updates 65 --out "$folder/late"
"$motley" sim "${flags[@]}" --stop-updates 120 --out "$folder/late" --resume --tensorboard
cmp "$folder/half/$name" "$folder/late/$name" || fail "a flag given late gives other events"
"$motley" sim "${flags[@]}" --stop-updates 20 --out "$folder/half" --replace
[ ! -e "$folder/half/$name" ] || fail "--replace leaves the events of the run before"
echo "ok   a resumed run's events are those of its metrics"

"$motley" train --data digits --model softmax --method server --workers 2 --stop-updates 30 --evaluate-every "10 updates" --quiet --out "$folder/live" --tensorboard
read_back "$folder/live"
code=0; "$motley" sim "${flags[@]}" --stop-updates 5 --tensorboard 2>"$folder/err" || code=$?
[ $code -eq 2 ] && grep -q -- --out "$folder/err" || fail "--tensorboard without --out is not refused ($code)"
echo "ok   a live run has them too; without --out they are refused"

"$motley" report "$folder/one" "$folder/two" --out "$folder/r.html" 2>"$folder/err" && fail "one run twice is taken for two"
grep -q 'the same seed' "$folder/err" || fail "$(cat "$folder/err")"
"$motley" sim "${flags[@]}" --stop-updates 120 --seed 2 --out "$folder/other"
"$motley" report "$folder/one" "$folder/other" --out "$folder/r.html" --tensorboard --quiet
cmp "$folder/one/$name" "$folder/r-tensorboard/async-seed-1/$name" || fail "motley report gives other events than the run"
[ -s "$folder/r-tensorboard/async-seed-2/$name" ] || fail "no events for the second run"
echo "ok   motley report writes the same, a folder a run"
