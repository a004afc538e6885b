#!/bin/bash
# Pulls the cable: Ctrl-C and kill -9 in the middle of a run, then --resume. The end must be the end of
# a run that nobody disturbed: the same model_hash, and byte for byte the same metrics.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
hash_of() { sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }

# Long enough to be caught in the middle, short enough to wait for: as many updates as take about two
# seconds here, which is fewer under a sanitizer.
flags=(--data digits --model mlp --method async --workers 6 --optimizer-lr 0.01 --evaluate-every "200 updates"
    --checkpoint-every "300 updates" --quiet)
began=$(date +%s%N)
"$motley" sim "${flags[@]}" --stop-updates 600 --out "$folder/probe"
updates=$((600 * 2000000000 / ($(date +%s%N) - began)))
[ $updates -ge 1500 ] || updates=1500
[ $updates -le 30000 ] || updates=30000
flags+=(--stop-updates $updates)

"$motley" sim "${flags[@]}" --out "$folder/whole"
want=$(hash_of "$folder/whole")
[ -n "$want" ] || fail "no model_hash in the summary"

# begin NAME: starts a run and returns when it has written some metrics and a checkpoint.
# Stops a run after its first checkpoint, and tries again if it was done by then: a busy machine may give this
# script no core for as long as the run takes.
stop() { # NAME SIGNAL; the run's exit code is in $code
    for _ in $(seq 1 9); do
        rm -rf "$folder/$1"
        "$motley" sim "${flags[@]}" --out "$folder/$1" 2>"$folder/$1.err" &
        pid=$!
        until [ -s "$folder/$1/checkpoint.bin" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.005; done
        kill -"$2" $pid 2>/dev/null || :
        code=0
        wait $pid 2>/dev/null || code=$?
        [ $code = 0 ] || return 0
    done
    fail "$1: nine runs ended before they could be stopped"
}
go_on() {
    "$motley" sim "${flags[@]}" --out "$folder/$1" --resume
    [ "$(hash_of "$folder/$1")" = "$want" ] || fail "$1 ends in another model"
    cmp "$folder/whole/metrics.jsonl" "$folder/$1/metrics.jsonl" || fail "$1 has other metrics"
    [ -z "$(find "$folder/$1" -name '*.tmp*')" ] || fail "$1 left a temporary file"
}

stop killed KILL
[ $code -eq 137 ] || fail "a killed run says $code: $(cat "$folder/killed.err")"
[ ! -e "$folder/killed/summary.json" ] || fail "a killed run has a summary"
go_on killed
echo "ok   kill -9, then --resume: the same model and metrics"

stop interrupted INT
[ $code -eq 130 ] || fail "Ctrl-C gives exit code $code, expected 130"
grep -q -- --resume "$folder/interrupted.err" || fail "Ctrl-C does not say how to go on"
grep -q '"status": "interrupted"' "$folder/interrupted/summary.json" || fail "the summary does not say interrupted"
[ "$(hash_of "$folder/interrupted")" != "$want" ] || fail "the run was not interrupted in the middle"
go_on interrupted
echo "ok   Ctrl-C, then --resume: the same model and metrics"

# Without the flags, the experiment in the folder is meant; and a run that is over stays as it is.
"$motley" sim --resume --out "$folder/killed" --quiet
[ "$(hash_of "$folder/killed")" = "$want" ] || fail "resuming a run that is over changes it"
echo "ok   --resume --out alone knows the experiment"

# A resume that is refused leaves the folder as it was.
cp -r "$folder/killed" "$folder/before"
code=0; message=$("$motley" sim --resume --out "$folder/killed" --seed 3 --trace true --quiet 2>&1) || code=$?
[ $code -eq 2 ] || fail "resuming another experiment gives exit code $code, expected 2"
diff -r "$folder/before" "$folder/killed" >/dev/null || fail "a refused --resume changed the folder: $message"
code=0; message=$("$motley" sim --resume --replace --out "$folder/killed" --quiet 2>&1) || code=$?
[ $code -eq 2 ] && [[ $message == *--resume*--replace*only\ one* ]] || fail "--resume --replace gives $code: $message"
diff -r "$folder/before" "$folder/killed" >/dev/null || fail "--resume --replace changed the folder"
echo "ok   a resume that is refused changes nothing"

# What replaces a run leaves nothing of it behind.
"$motley" sim --model phantom --stop-updates 3 --out "$folder/before" --replace --quiet
[ ! -e "$folder/before/model.safetensors" ] || fail "--replace leaves the old run's model"
echo "ok   --replace leaves nothing of the old run"

# One bit in the checkpoint: exit code 3, and the message names the file.
printf '\x55' | dd of="$folder/killed/checkpoint.bin" bs=1 seek=5000 conv=notrunc 2>/dev/null
code=0; message=$("$motley" sim --resume --out "$folder/killed" --quiet 2>&1) || code=$?
[ $code -eq 3 ] || fail "a damaged checkpoint gives exit code $code, expected 3"
[[ $message == *checkpoint.bin*damaged* ]] || fail "the message is: $message"
echo "ok   a damaged checkpoint is refused"

# A run goes on under the command that began it; the other one says which.
"$motley" train --data digits --model softmax --workers 2 --stop-updates 5 --out "$folder/live" --quiet >/dev/null
code=0; message=$("$motley" sim --data digits --model softmax --workers 2 --stop-updates 9 --resume --out "$folder/live" --quiet 2>&1) || code=$?
[ $code -eq 3 ] && [[ $message == *"motley train resumes"* ]] || fail "sim --resume of a live run gives $code: $message"
echo "ok   sim names the command that resumes a live run"
