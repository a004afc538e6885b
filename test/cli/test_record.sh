#!/bin/bash
# Recording, replaying and profiling as a user sees them: files, exit codes, words.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
. "$(dirname "$0")/../catches.sh"
fail() { echo "FAIL: $*"; exit 1; }
hash_of() { sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p'; }
code() { local got=0; "$@" >"$folder/out" 2>"$folder/err" || got=$?; echo $got; }
flags=(--data digits --model mlp --workers 3 --optimizer-lr 0.03 --stop-updates 120 --quiet)

# The first k of n and async: what a simulation alone could not know.
for method in "async" "server --method-k 2"; do
    # shellcheck disable=SC2086
    "$motley" train "${flags[@]}" --method $method --record --out "$folder/run" --replace
    want=$(hash_of <"$folder/run/summary.json")
    got=$("$motley" sim --arrivals "$folder/run" --quiet --json | hash_of)
    [ -n "$want" ] && [ "$got" = "$want" ] || fail "$method: recorded $want, replayed $got"
done

"$motley" sim --arrivals "$folder/run" --out "$folder/again" --quiet
grep -q '"driver": "replay"' "$folder/again/summary.json" || fail "the summary does not say that it is a replay"
[ "$(code "$motley" sim --arrivals "$folder/run" --out "$folder/run" --replace)" = 2 ] || fail "a replay over its own record"
[ -s "$folder/run/record.bin" ] || fail "the record is gone"

"$motley" replay "$folder/run" --node 3 --from 2 --to 4 >"$folder/events"
[ "$(wc -l <"$folder/events")" = 3 ] || fail "three events were asked for: $(cat "$folder/events")"
grep -q 'MESSAGE from [0-2] kind 1' "$folder/events" || fail "no gradient came: $(cat "$folder/events")"
"$motley" replay "$folder/run" --node 0 | grep "$want" >/dev/null || fail "the end of a replay does not name the model"
[ "$(code "$motley" replay "$folder/run" --node 4)" = 2 ] || fail "a node that is not there"

[ "$(code "$motley" sim --arrivals "$folder/run" --seed 9)" = 7 ] || fail "another experiment: $(cat "$folder/err")"
[ "$(code "$motley" sim --arrivals "$folder/nothing")" = 2 ] || fail "no such run: $(cat "$folder/err")"
printf 'x' | dd of="$folder/run/record.bin" bs=1 seek=200 conv=notrunc 2>/dev/null
[ "$(code "$motley" sim --arrivals "$folder/run")" = 3 ] || fail "a damaged record: $(cat "$folder/err")"
[ "$(code "$motley" train "${flags[@]}" --record)" = 2 ] || fail "--record without --out"

"$motley" profile --data digits --model softmax --workers 2 --seconds 0.1 --out "$folder/here.yaml" >"$folder/table"
grep -q 'samples/s' "$folder/table" || fail "no table"
"$motley" sim "${flags[@]}" --workers 2 --cluster "$folder/here.yaml" --method async || fail "the measured cluster cannot be simulated"
"$motley" profile --data digits --model softmax --workers 2 --seconds 60 --out "$folder/none.yaml" --quiet 2>"$folder/err" & pid=$!
await_catching $pid INT
kill -INT $pid
got=0
wait $pid || got=$?
[ $got = 130 ] || fail "Ctrl-C gave exit code $got: $(cat "$folder/err")"
[ ! -e "$folder/none.yaml" ] || fail "an interrupted profile wrote a file"
echo ok
