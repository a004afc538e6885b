#!/bin/bash
# A run's folder belongs to one run at a time, and holds nothing of a run that is gone.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
flags=(--data digits --model softmax --workers 2 --quiet)
await() { # FILE: until the run that was started last has written it
    for _ in $(seq 1 3000); do
        [ ! -s "$1" ] || return 0
        kill -0 $pid 2>/dev/null || fail "the run ended before it wrote $1"
        sleep 0.01
    done
    fail "no $1"
}

"$motley" train "${flags[@]}" --stop-time 600s --out "$folder/one" 2>"$folder/err" &
pid=$!
await "$folder/one/metrics.jsonl"
for command in train sim; do
    for more in "" --replace --resume; do
        code=0
        message=$("$motley" $command "${flags[@]}" --stop-updates 3 --out "$folder/one" $more 2>&1) || code=$?
        [ $code -eq 2 ] && [[ $message == *one:\ another\ run\ is\ writing\ to\ this\ folder* ]] || fail "$command $more into a run's folder gives $code: $message"
    done
done
kill -9 $pid
wait $pid 2>/dev/null || true
pid=
[ ! -e "$folder/one/checkpoint.bin" ] || fail "there is a checkpoint already"
cp -r "$folder/one" "$folder/two"
echo "ok   two runs into one folder: the second fails at once"

"$motley" train "${flags[@]}" --stop-updates 3 --out "$folder/one"
"$motley" train "${flags[@]}" --stop-updates 3 --out "$folder/two" --resume
for run in one two; do grep -q '"updates": 3,' "$folder/$run/summary.json" || fail "$run did not start again"; done
echo "ok   killed before its first checkpoint, a run is started again, and its lock is gone"

# experiment.yaml can be run as it is: it repeats the run and leaves its folder alone.
cp -r "$folder/one" "$folder/kept"
again=$("$motley" train "$folder/one/experiment.yaml" --json --quiet) || fail "experiment.yaml cannot be run again"
hash=$(sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p' "$folder/one/summary.json")
[[ $again == *"$hash"* ]] || fail "experiment.yaml does not repeat the run"
diff -r "$folder/one" "$folder/kept" >/dev/null || fail "running experiment.yaml changes the folder that it lies in"
echo "ok   experiment.yaml, run again, repeats the run"

line=$("$motley" train "$folder/one/experiment.yaml" --quiet 2>"$folder/err")
[[ $line == "allreduce: done after 3 updates, test accuracy "*" %, model $hash" ]] || fail "--quiet says: $line"
[ ! -s "$folder/err" ] || fail "--quiet remarks: $(cat "$folder/err")"
echo "ok   --quiet leaves the result, in one line"
"$motley" partition digits --workers 2 --by equal --quality none --quiet 2>&1 | grep '^ *worker' >/dev/null || fail "--quiet: a partition that is not written is not shown"
"$motley" profile --workers 2 --data digits --model softmax --seconds 0.1 --quiet 2>&1 | grep 'samples/s' >/dev/null || fail "--quiet: a profile that is not written is not shown"
[ -z "$("$motley" partition digits --workers 2 --by equal --quality none --quiet --out "$folder/parts")" ] || fail "--quiet: a partition that is written is shown"
"$motley" train "$folder/one/experiment.yaml" --out "$folder/over" --quiet >/dev/null
"$motley" train "$folder/one/experiment.yaml" --out "$folder/over" --resume --quiet | grep "already finished" >/dev/null || fail "--quiet: a finished run is not said to be"
echo "ok   --quiet shows a table that is the whole result, and none that is written to a file"

"$motley" sim "${flags[@]}" --stop-updates 9 --out "$folder/past" >/dev/null
"$motley" sim "${flags[@]}" --stop-updates 6 --out "$folder/past" --resume | grep 'stop.updates is reached, after 9 updates;' >/dev/null || fail "a run past its end is not said to be"
"$motley" sim "${flags[@]}" --stop-updates 1 --out "$folder/first" >/dev/null
"$motley" sim "${flags[@]}" --stop-updates 1 --out "$folder/first" --resume | grep 'stop.updates is reached, after 1 update;' >/dev/null || fail "one update is said to be several"
code=0
"$motley" sim "${flags[@]}" --method allreduce --cluster '{workers: 2, faults: [{kind: crash, at: 1s, for: 5s, workers: [0, 1]}]}' >"$folder/lost" 2>/dev/null || code=$?
[ $code -eq 4 ] && grep -q ', model lost$' "$folder/lost" || fail "a lost model has a hash: $(cat "$folder/lost")"
echo "ok   the line of --quiet says what became of the model"

# What is left of others: half-written files and another run's records go, what is not a run's stays.
gone=(checkpoint.bin.77-0.tmp metrics.jsonl.1-23.tmp record.1.bin record.12.bin record.2.bin.9-1.tmp best.safetensors)
stays=(notes.txt record.x.bin record..bin mine.77-0.tmp checkpoint.bin.77.tmp checkpoint.bin.a-0.tmp report.html)
for name in "${gone[@]}" "${stays[@]}"; do echo "$name" >"$folder/one/$name"; done
"$motley" train "${flags[@]}" --stop-updates 4 --out "$folder/one" --replace
for name in "${gone[@]}"; do [ ! -e "$folder/one/$name" ] || fail "--replace leaves $name"; done
for name in "${stays[@]}"; do [ -e "$folder/one/$name" ] || fail "--replace removes $name"; done
echo half >"$folder/one/summary.json.4-4.tmp"
"$motley" train "${flags[@]}" --stop-updates 5 --out "$folder/one" --resume
[ ! -e "$folder/one/summary.json.4-4.tmp" ] || fail "--resume leaves what another left half written"
[ -e "$folder/one/record.x.bin" ] || fail "--resume removes what is no run's"
echo "ok   --replace removes what was a run's, and nothing else"

# The trace of a run that goes on is that of all of it.
updates() { grep -c '"name":"update ' "$folder/$1/trace.json"; }
for command in sim train; do
    "$motley" $command "${flags[@]}" --trace true --stop-updates 40 --out "$folder/$command-whole"
    "$motley" $command "${flags[@]}" --trace true --stop-updates 15 --out "$folder/$command"
    "$motley" $command "${flags[@]}" --trace true --stop-updates 30 --out "$folder/$command" --resume
    "$motley" $command "${flags[@]}" --trace true --stop-updates 40 --out "$folder/$command" --resume
    [ "$(updates $command)" = "$(updates $command-whole)" ] || fail "$command: $(updates $command) updates in the trace, not $(updates $command-whole)"
    if command -v python3 >/dev/null; then python3 -m json.tool "$folder/$command/trace.json" >/dev/null || fail "$command: the trace is no JSON"; fi
done
echo "ok   --resume goes on with the trace"

# What is trained is kept, whatever else cannot be written: here a folder comes to lie where the trace is to go.
"$motley" train "${flags[@]}" --stop-time 2s --checkpoint-every '50 updates' --trace true --out "$folder/blocked" 2>"$folder/err" &
pid=$!
await "$folder/blocked/checkpoint.bin"
mkdir "$folder/blocked/trace.json"
code=0
wait $pid || code=$?
pid=
[ $code -eq 1 ] && grep -q 'trace.json' "$folder/err" || fail "a trace that cannot be written gives $code: $(cat "$folder/err")"
"$motley" eval "$folder/blocked/model.safetensors" digits >/dev/null || fail "the model went with the trace"
[ ! -e "$folder/blocked/summary.json" ] || fail "a run without its trace passes for whole"
echo "ok   a model is kept though a trace cannot be written"

loses_folder() { # FLAGS... : a run whose folder goes when it has its first checkpoint
    "$motley" train "${flags[@]}" --stop-time 4s --checkpoint-every '50 updates' --out "$folder/gone" "$@" 2>"$folder/err" &
    pid=$!
    await "$folder/gone/checkpoint.bin"
    mv "$folder/gone" "$folder/elsewhere"
    local code=0
    wait $pid || code=$?
    pid=
    rm -r "$folder/elsewhere"
    [ $code -eq 1 ] || fail "a run whose folder is gone gives $code, not 1: $(cat "$folder/err")"
    [ "$(grep -c 'checkpoint.bin.*the run goes on' "$folder/err")" -eq 1 ] || fail "a failed checkpoint is not reported once, when it fails: $(cat "$folder/err")"
}
loses_folder
loses_folder --record
echo "ok   a folder that is removed in mid-run is reported once, and gives exit code 1"
